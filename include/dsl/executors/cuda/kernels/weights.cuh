R"cuda(
// SPDX-License-Identifier: MIT
// What happens to parameters: the optimizer's step, and batch_norm folded into a convolution for inference.

namespace dsl_kernels {

// ---- stochastic gradient descent: the rules, and the bits, of executors/host/update.hpp -----------------------------
struct update_shape {
  int count, lanes;
  int with_velocity, nesterov, rate_in_velocity;
  float momentum, decay;
  int copies;   // the new weights also go to `copy`, as T
  int staged;   // 16 gradients where stage_map says so are read from `stage`, as T
  int advance;  // pictures of a step
};

DEVICE void update_one(update_shape const& s, float rate, float& p, float g, float& v) {
  bool const usual = s.with_velocity && s.rate_in_velocity && !s.nesterov && s.decay == 0;
  if (!usual) g = sum_of(g, product(s.decay, p));
  if (!s.with_velocity) {
    p = sum_of(p, -product(rate, g));
  } else if (s.rate_in_velocity) {
    v = sum_of(product(s.momentum, v), -product(rate, g));
    p = sum_of(p, s.nesterov ? sum_of(product(s.momentum, v), -product(rate, g)) : v);
  } else {
    v = sum_of(product(s.momentum, v), g);
    p = sum_of(p, -product(rate, s.nesterov ? sum_of(g, product(s.momentum, v)) : v));
  }
}

template <int L, class T>
DEVICE void update_lanes(update_shape const& s, float* parameters, float const* gradients, float* velocities, T* copy,
                         T const* stage, unsigned char const* stage_map, step_state const* state) {
  int const unit = global_thread();
  if (unit >= s.count / L) return;
  long long const first = static_cast<long long>(unit) * L;
  floats<L> p = load<L>(parameters + first);
  floats<L> g{}, v{};
  if (s.staged && stage_map[first / 16])
    g = load<L>(stage + first);
  else
    g = load<L>(gradients + first);
  if (s.with_velocity) v = load<L>(velocities + first);
  for (int i = 0; i < L; ++i) update_one(s, state->learning_rate, p.v[i], g.v[i], v.v[i]);
  store<L>(parameters + first, p);
  if (s.with_velocity) store<L>(velocities + first, v);
  if (s.copies) store<L>(copy + first, p);
}

// Ends a step: no other thread of this launch reads what the first one counts up.
template <class T, int L = 0>
KERNEL void update(update_shape s, float* parameters, float const* gradients, float* velocities, T* copy,
                   T const* stage, unsigned char const* stage_map, step_state* state) {
  if constexpr (L > 0)
    update_lanes<L>(s, parameters, gradients, velocities, copy, stage, stage_map, state);
  else if (s.lanes == 1)
    update_lanes<1>(s, parameters, gradients, velocities, copy, stage, stage_map, state);
  else
    update_lanes<4>(s, parameters, gradients, velocities, copy, stage, stage_map, state);
  if (global_thread() > 0) return;
  state->step += 1;
  state->position += static_cast<unsigned long long>(s.advance);
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
