R"cuda(
// SPDX-License-Identifier: MIT
// Kernels that change parameters: the optimizer's step, and folding a batch_norm into a convolution for inference.

namespace dsl_kernels {

// ---- the sum of all squared gradients, for clipping, with the order and bits of executors/host/squares.hpp ---------
struct measure_shape {
  int count;
  int staged;  // as in update_shape
  float norm, norm_epsilon;
};

// A block of 256 threads adds up a chunk of 64 * 256 numbers. scale[0] is the factor by which gradients are multiplied.
template <class T>
KERNEL void measure(measure_shape s, float const* gradients, T const* stage, unsigned char const* stage_map,
                    float* scale, double* partial, unsigned* counters) {
  long long const first = block_x() * 16384LL;
  long long const left = s.count - first;
  int const size = left < 16384 ? static_cast<int>(left) : 16384;
  auto const add = [](double a, double b) { return a + b; };
  double all = 0;
  UNROLL(8)
  for (int i = thread(); i < size; i += 256) {
    long long const at = first + i;
    double const g =
        static_cast<double>(s.staged && stage_map[at / 16] ? widened(stage[at]) : gradients[at]);
    all += g * g;  // exact, since g is a float
  }
  all = join_block(all, 256, add);
  if (thread() == 0) partial[block_x()] = all;
  if (!is_last_block(counters, blocks_x())) return;
  all = 0;
  for (int k = thread(); k < blocks_x(); k += 256) all += fresh(partial + k);
  all = join_block(all, 256, add);
  if (thread() > 0) return;
  double const by = static_cast<double>(s.norm) / (MATH(sqrt)(all) + static_cast<double>(s.norm_epsilon));
  *scale = by > 1 ? 1.0f : static_cast<float>(by);
}

// ---- the optimizer, with the rules and bits of executors/host/update.hpp -------------------------------------------
struct update_shape {
  int count, lanes;
  int method;  // 0: sgd, 1: adam, 2: rmsprop
  int slots, nesterov, rate_in_velocity, in_root, centered, decoupled;
  float momentum, decay, keep_first, take_first, keep_second, take_second;
  float most;   // limit of each gradient; 0: none
  int scaled;   // gradients are multiplied by scale[0]
  int copies;   // the new weights are also written to `copy`, as T
  int staged;   // gradients for which stage_map is not 0 are read from `stage`, as T
  int advance;  // number of images of a step
};

DEVICE float mean_of(float keep, float mean, float take, float x) {
  return sum_of(product(keep, mean), product(take, x));
}

// The numbers of a rule that factors of parts of the network multiply.
struct part_rates {
  float learning_rate, shrink, decay;  // the first two as in step_state
};

DEVICE void update_one(update_shape const& s, part_rates const& now, float epsilon, float scale, float& p, float g,
                       float* slot) {
  float const rate = now.learning_rate;
  if (s.scaled) g = product(g, scale);
  if (s.most > 0) {
    g = g > s.most ? s.most : g;
    g = g < -s.most ? -s.most : g;
  }
  if (now.decay != 0) g = sum_of(g, product(now.decay, p));
  if (s.decoupled) p = sum_of(p, -product(now.shrink, p));
  if (s.method == 0) {
    if (s.momentum == 0) {
      p = sum_of(p, -product(rate, g));
    } else if (s.rate_in_velocity) {
      slot[0] = sum_of(product(s.momentum, slot[0]), -product(rate, g));
      p = sum_of(p, s.nesterov ? sum_of(product(s.momentum, slot[0]), -product(rate, g)) : slot[0]);
    } else {
      slot[0] = sum_of(product(s.momentum, slot[0]), g);
      p = sum_of(p, -product(rate, s.nesterov ? sum_of(g, product(s.momentum, slot[0])) : slot[0]));
    }
    return;
  }
  if (s.method == 1) {
    slot[0] = mean_of(s.keep_first, slot[0], s.take_first, g);
    slot[1] = mean_of(s.keep_second, slot[1], s.take_second, product(g, g));
    p = sum_of(p, -quotient(product(rate, slot[0]), sum_of(root_of(slot[1]), epsilon)));
    return;
  }
  slot[0] = mean_of(s.keep_second, slot[0], s.take_second, product(g, g));
  float root = slot[0];
  if (s.centered) {
    float& mean = slot[s.momentum == 0 ? 1 : 2];
    mean = mean_of(s.keep_second, mean, s.take_second, g);
    root = sum_of(root, -product(mean, mean));
    root = root < 0 ? 0.0f : root;  // only rounding makes it negative
  }
  root = s.in_root ? root_of(sum_of(root, epsilon)) : sum_of(root_of(root), epsilon);
  if (s.momentum == 0) {
    p = sum_of(p, -quotient(product(rate, g), root));
  } else if (s.rate_in_velocity) {
    slot[1] = sum_of(product(s.momentum, slot[1]), quotient(product(rate, g), root));
    p = sum_of(p, -slot[1]);
  } else {
    slot[1] = sum_of(product(s.momentum, slot[1]), quotient(g, root));
    p = sum_of(p, -product(rate, slot[1]));
  }
}

// rates_at(i) returns the part_rates of number i. They are the same for each 16 numbers.
template <int L, class T, class F>
DEVICE void update_lanes(update_shape const& s, float* parameters, float const* gradients, float* slots, T* copy,
                         T const* stage, unsigned char const* stage_map, float const* scale, step_state const* state,
                         F rates_at) {
  int const unit = global_thread();
  if (unit >= s.count / L) return;
  long long const first = static_cast<long long>(unit) * L;
  floats<L> p = load<L>(parameters + first);
  floats<L> g{}, slot[3]{};
  if (s.staged && stage_map[first / 16])
    g = load<L>(stage + first);
  else
    g = load<L>(gradients + first);
  UNROLL(3)
  for (int k = 0; k < 3; ++k)
    if (k < s.slots) slot[k] = load<L>(slots + k * static_cast<long long>(s.count) + first);
  float const by = s.scaled ? *scale : 1.0f;
  part_rates const now = rates_at(first);
  for (int i = 0; i < L; ++i) {
    float own[3] = {slot[0].v[i], slot[1].v[i], slot[2].v[i]};
    update_one(s, now, state->epsilon, by, p.v[i], g.v[i], own);
    for (int k = 0; k < 3; ++k) slot[k].v[i] = own[k];
  }
  store<L>(parameters + first, p);
  UNROLL(3)
  for (int k = 0; k < 3; ++k)
    if (k < s.slots) store<L>(slots + k * static_cast<long long>(s.count) + first, slot[k]);
  if (s.copies) store<L>(copy + first, p);
}

// The first thread advances step and position, which no other thread of this launch reads.
DEVICE void end_step(update_shape const& s, step_state* state) {
  if (global_thread() > 0) return;
  state->step += 1;
  state->position += static_cast<unsigned long long>(s.advance);
}

// Also ends the step.
template <class T, int L = 0>
KERNEL void update(update_shape s, float* parameters, float const* gradients, float* slots, T* copy, T const* stage,
                   unsigned char const* stage_map, float const* scale, step_state* state) {
  auto const rates_at = [&](long long) { return part_rates{state->learning_rate, state->shrink, s.decay}; };
  if constexpr (L > 0)
    update_lanes<L>(s, parameters, gradients, slots, copy, stage, stage_map, scale, state, rates_at);
  else if (s.lanes == 1)
    update_lanes<1>(s, parameters, gradients, slots, copy, stage, stage_map, scale, state, rates_at);
  else
    update_lanes<4>(s, parameters, gradients, slots, copy, stage, stage_map, scale, state, rates_at);
  end_step(s, state);
}

// Updates a network whose parts have factors, as update() does others: part_of[i / 16] is the part of number i.
template <class T, int L = 0>
KERNEL void update_by_parts(update_shape s, float* parameters, float const* gradients, float* slots, T* copy,
                            T const* stage, unsigned char const* stage_map, float const* scale, step_state* state,
                            int const* part_of, part_rates const* rates) {
  auto const rates_at = [&](long long i) { return rates[part_of[i / 16]]; };
  if constexpr (L > 0)
    update_lanes<L>(s, parameters, gradients, slots, copy, stage, stage_map, scale, state, rates_at);
  else if (s.lanes == 1)
    update_lanes<1>(s, parameters, gradients, slots, copy, stage, stage_map, scale, state, rates_at);
  else
    update_lanes<4>(s, parameters, gradients, slots, copy, stage, stage_map, scale, state, rates_at);
  end_step(s, state);
}

// ---- gamma (conv(x) + bias - mean) / sqrt(variance + epsilon) + beta, as a convolution with other weights -----------
struct fold_shape {
  int out_channels, inner;  // inner = height * width * in
  float epsilon;
};

// bias may be null.
template <class T>
KERNEL void fold_batch_norm(fold_shape s, float const* kernel, float const* bias, float const* gamma, float const* beta,
                            float const* mean, float const* variance, T* folded, float* folded_bias) {
  int const unit = global_thread();
  if (unit >= s.out_channels * s.inner) return;
  int const o = unit / s.inner;
  float const scale = gamma[o] / MATH(sqrtf)(variance[o] + s.epsilon);
  assign(folded[unit], kernel[unit] * scale);
  if (unit % s.inner == 0) folded_bias[o] = ((bias ? bias[o] : 0.0f) - mean[o]) * scale + beta[o];
}

}  // namespace dsl_kernels
)cuda"
