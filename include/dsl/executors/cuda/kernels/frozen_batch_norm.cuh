R"cuda(
// SPDX-License-Identifier: MIT
// The gradient of a batch_norm that normalises with its running moments also in training.

namespace dsl_kernels {

struct frozen_batch_norm_shape {
  int pixels, channels, lanes;
  float epsilon;
  slice y, x;  // the places of dy and dx
  int accumulate;
};

template <int L, class T>
DEVICE void frozen_batch_norm_lanes(frozen_batch_norm_shape const& s, T const* dy, float const* gamma,
                                    float const* variance, T* dx) {
  int const unit = global_thread();
  if (unit >= s.pixels * (s.channels / L)) return;
  place const p = place_of<L>(unit, s.channels);
  floats<L> d = load<L>(at(dy, s.y, p.pixel, p.channel));
  floats<L> const scale = load<L>(gamma + p.channel);
  floats<L> const running = load<L>(variance + p.channel);
  for (int i = 0; i < L; ++i) d.v[i] *= scale.v[i] / MATH(sqrtf)(running.v[i] + s.epsilon);
  put<L>(at(dx, s.x, p.pixel, p.channel), d, s.accumulate);
}

// dx = gamma dy / sqrt(variance + epsilon). dx may be dy.
template <class T, int L = 0>
KERNEL void frozen_batch_norm_backward(frozen_batch_norm_shape s, T const* dy, float const* gamma,
                                       float const* variance, T* dx) {
  if constexpr (L > 0)
    frozen_batch_norm_lanes<L>(s, dy, gamma, variance, dx);
  else if (s.lanes == 1)
    frozen_batch_norm_lanes<1>(s, dy, gamma, variance, dx);
  else
    frozen_batch_norm_lanes<full_lanes<T>>(s, dy, gamma, variance, dx);
}

}  // namespace dsl_kernels
)cuda"
