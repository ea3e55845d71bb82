R"cuda(
// SPDX-License-Identifier: MIT
// Kernels for training one network on several devices.

namespace dsl_kernels {

// ---- conversion of gradients from T to float, before they are summed -----------------------------------------------
struct widen_staged_shape {
  int count, lanes;
};

template <int L, class T>
DEVICE void widen_staged_lanes(widen_staged_shape const& s, T const* stage, unsigned char const* stage_map,
                               float* gradients) {
  int const unit = global_thread();
  if (unit >= s.count / L) return;
  int const first = unit * L;
  if (stage_map[first / 16]) store<L>(gradients + first, load<L>(stage + first));
}

// stage_map: a byte for every 16 numbers, which is not 0 if they are in `stage`.
template <class T, int L = 0>
KERNEL void widen_staged(widen_staged_shape s, T const* stage, unsigned char const* stage_map, float* gradients) {
  if constexpr (L > 0)
    widen_staged_lanes<L>(s, stage, stage_map, gradients);
  else if (s.lanes == 1)
    widen_staged_lanes<1>(s, stage, stage_map, gradients);
  else
    widen_staged_lanes<4>(s, stage, stage_map, gradients);
}

// ---- update of running moments with the moments of several batches -------------------------------------------------
struct move_moments_shape {
  int count, parts;
};

// parts: each has `count` moments, followed by the number of towers whose moments they sum; a part with 0 towers is
// skipped. The mean over the towers of each part updates the running moments, in the order of the parts. keep: for each
// running moment, the share that an update keeps.
template <class T>
KERNEL void move_moments(move_moments_shape s, float const* parts, float const* keep, float* running) {
  int const i = global_thread();
  if (i >= s.count) return;
  float value = running[i];
  for (int k = 0; k < s.parts; ++k) {
    float const* const part = parts + static_cast<long long>(k) * (s.count + 1);
    float const towers = part[s.count];
    if (towers > 0) value = moved(value, keep[i], part[i] / towers);
  }
  running[i] = value;
}

// ---- moments of a batch, computed from those of its parts ----------------------------------------------------------
struct joined_layer {
  int channels, first;  // first: the position of the means in a part; the sums of squares follow
  float epsilon, momentum;
};
struct join_moments_shape {
  int channels, parts, stride, layers;  // channels: of all layers. A part ends with its number of values
  int unbiased;                         // the running variance has the factor n / (n - 1)
  joined_layer layer[4];
};

// Does the same as batch_norm_statistics for values in several parts (Chan, Golub, LeVeque 1979). A thread computes one
// channel.
template <class T>
KERNEL void join_moments(join_moments_shape s, batch_norm_forwards<T> a, float const* parts) {
  int const unit = global_thread();
  if (unit >= s.channels) return;
  joined_layer layer = s.layer[0];
  batch_norm_forward<T> to = a.layer[0];
  int c = unit;
  UNROLL(3)
  for (int k = 1; k < 4; ++k) {
    if (k >= s.layers || unit < s.layer[k].first / 2) continue;
    layer = s.layer[k];
    to = a.layer[k];
    c = unit - s.layer[k].first / 2;
  }
  auto const number = [&](int part, int i) {
    return static_cast<double>(parts[static_cast<long long>(part) * s.stride + i]);
  };
  int const means = layer.first + c;
  int const squares = means + layer.channels;
  double count = 0, sum = 0, deviations = 0;
  for (int k = 0; k < s.parts; ++k) {
    count += number(k, s.stride - 1);
    sum += number(k, s.stride - 1) * number(k, means);
  }
  double const mean = sum / count;
  for (int k = 0; k < s.parts; ++k) {
    double const d = number(k, means) - mean;
    deviations += number(k, squares) + number(k, s.stride - 1) * d * d;
  }
  float const variance = static_cast<float>(deviations / count);
  to.statistics[c] = static_cast<float>(mean);
  to.statistics[layer.channels + c] = 1.0f / MATH(sqrtf)(variance + layer.epsilon);
  float const whole_variance =
      s.unbiased && count > 1 ? static_cast<float>(deviations / (count - 1)) : variance;
  float const whole_mean = static_cast<float>(mean) + (to.bias ? to.bias[c] : 0.0f);
  to.moving_mean[c] = moved(to.moving_mean[c], layer.momentum, whole_mean);
  to.moving_variance[c] = moved(to.moving_variance[c], layer.momentum, whole_variance);
}

}  // namespace dsl_kernels
)cuda"
