R"cuda(
// SPDX-License-Identifier: MIT
// Dense layers: y(sample, unit) = bias + sum of kernel(unit, feature) x(sample, feature). They are for small layers at
// the end of a classifier, for which a library's call costs more than the work, and for cases that the library refuses.

namespace dsl_kernels {

struct dense_shape {
  int batch, features, units, lanes;
  slice x, y;  // in the backward pass, dx and dy
  int accumulate;
};

// A block computes 16 units of one sample; 16 threads share the sum of a unit.
template <int L, class T>
DEVICE void dense_forward_lanes(dense_shape const& s, T const* x, T const* kernel, float const* bias, T* y) {
  SHARED float parts[16][17];
  int const part = thread() % 16;
  int const unit = block_y() * 16 + thread() / 16;
  float sum = 0;
  if (unit < s.units) {
    UNROLL(4)
    for (int c = part * L; c < s.features; c += 16 * L) {
      floats<L> const a = load<L>(at(x, s.x, block_x(), c));
      floats<L> const b = load<L>(kernel + static_cast<long long>(unit) * s.features + c);
      for (int i = 0; i < L; ++i) sum += a.v[i] * b.v[i];
    }
  }
  parts[thread() / 16][part] = sum;
  barrier();
  if (unit >= s.units || part > 0) return;
  float all = 0;
  for (int i = 0; i < 16; ++i) all += parts[thread() / 16][i];
  assign(*at(y, s.y, block_x(), unit), all + bias[unit]);
}

template <class T, int L = 0>
KERNEL void dense_forward(dense_shape s, T const* x, T const* kernel, float const* bias, T* y) {
  if constexpr (L > 0)
    dense_forward_lanes<L>(s, x, kernel, bias, y);
  else if (s.lanes == 1)
    dense_forward_lanes<1>(s, x, kernel, bias, y);
  else
    dense_forward_lanes<full_lanes<T>>(s, x, kernel, bias, y);
}

// A thread computes one number of dkernel. The bias is treated as a feature that is always 1.
template <class T>
KERNEL void dense_backward_weights(dense_shape s, T const* x, T const* dy, float* dkernel, float* dbias) {
  int const column = global_thread();
  if (column >= s.units * (s.features + 1)) return;
  int const unit = column / (s.features + 1);
  int const feature = column % (s.features + 1);
  bool const is_bias = feature == s.features;
  float sum = 0;
  UNROLL(8)
  for (int n = 0; n < s.batch; ++n) {
    float const v = is_bias ? 1.0f : widened(*at(x, s.x, n, feature));
    sum += widened(*at(dy, s.y, n, unit)) * v;
  }
  if (is_bias)
    dbias[unit] = sum;
  else
    dkernel[static_cast<long long>(unit) * s.features + feature] = sum;
}

template <int L, class T>
DEVICE void dense_backward_data_lanes(dense_shape const& s, T const* dy, T const* kernel, T* dx) {
  int const unit = global_thread();
  if (unit >= s.batch * (s.features / L)) return;
  place const p = place_of<L>(unit, s.features);
  floats<L> sum{};
  UNROLL(8)
  for (int u = 0; u < s.units; ++u) {
    float const d = widened(*at(dy, s.y, p.pixel, u));
    floats<L> const k = load<L>(kernel + static_cast<long long>(u) * s.features + p.channel);
    for (int i = 0; i < L; ++i) sum.v[i] += d * k.v[i];
  }
  put<L>(at(dx, s.x, p.pixel, p.channel), sum, s.accumulate);
}

template <class T, int L = 0>
KERNEL void dense_backward_data(dense_shape s, T const* dy, T const* kernel, T* dx) {
  if constexpr (L > 0)
    dense_backward_data_lanes<L>(s, dy, kernel, dx);
  else if (s.lanes == 1)
    dense_backward_data_lanes<1>(s, dy, kernel, dx);
  else
    dense_backward_data_lanes<full_lanes<T>>(s, dy, kernel, dx);
}

}  // namespace dsl_kernels
)cuda"
