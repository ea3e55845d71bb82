R"cuda(
// SPDX-License-Identifier: MIT
// Kernels that read their values once. A thread computes L channels of a pixel.

namespace dsl_kernels {

// ---- y = x, or x0 + x1 + ..., or either of them added to y; y may be one of the inputs ------------------------------
struct sum_shape {
  int pixels, channels, lanes, inputs, accumulate;
  slice y, x[8];
};
template <class T>
struct sum_inputs {
  T const* x[8];
};

template <int L, class T>
DEVICE void sum_lanes(sum_shape const& s, sum_inputs<T> const& in, T* y) {
  int const unit = global_thread();
  if (unit >= s.pixels * (s.channels / L)) return;
  place const p = place_of<L>(unit, s.channels);
  floats<L> all = load<L>(at(in.x[0], s.x[0], p.pixel, p.channel));
  UNROLL(8)
  for (int k = 1; k < 8; ++k) {
    if (k >= s.inputs) continue;
    floats<L> const x = load<L>(at(in.x[k], s.x[k], p.pixel, p.channel));
    for (int i = 0; i < L; ++i) all.v[i] += x.v[i];
  }
  put<L>(at(y, s.y, p.pixel, p.channel), all, s.accumulate);
}

template <class T, int L = 0>
KERNEL void sum(sum_shape s, sum_inputs<T> in, T* y) {
  if constexpr (L > 0)
    sum_lanes<L>(s, in, y);
  else if (s.lanes == 1)
    sum_lanes<1>(s, in, y);
  else
    sum_lanes<full_lanes<T>>(s, in, y);
}

// ---- flatten and its gradient: value i in (channel, row, column) order remains value i -----------------------------
struct reshape_shape {
  int batch, size;  // size: number of values in a sample
  int x_area, y_area;
  slice x, y;
  int accumulate;
};

template <class T>
KERNEL void reshape(reshape_shape s, T const* x, T* y) {
  int const unit = global_thread();
  if (unit >= s.batch * s.size) return;
  int const n = unit / s.size;
  int const channels = s.size / s.y_area;
  int const y_pixel = unit % s.size / channels;  // the values of y are processed in the order of memory
  int const y_channel = unit % channels;
  int const i = y_channel * s.y_area + y_pixel;
  floats<1> const v = load<1>(at(x, s.x, n * s.x_area + i % s.x_area, i / s.x_area));
  put<1>(at(y, s.y, n * s.y_area + y_pixel, y_channel), v, s.accumulate);
}

// ---- y = y + bias, then relu if requested --------------------------------------------------------------------------
struct add_bias_shape {
  int pixels, channels, lanes, relu;
  slice y;
};

template <int L, class T>
DEVICE void add_bias_lanes(add_bias_shape const& s, float const* bias, T* y) {
  int const unit = global_thread();
  if (unit >= s.pixels * (s.channels / L)) return;
  place const p = place_of<L>(unit, s.channels);
  floats<L> b{};
  if (bias) b = load<L>(bias + p.channel);
  floats<L> v = load<L>(at(y, s.y, p.pixel, p.channel));
  for (int i = 0; i < L; ++i) {
    v.v[i] += b.v[i];
    if (s.relu) v.v[i] = v.v[i] < 0 ? 0.0f : v.v[i];
  }
  store<L>(at(y, s.y, p.pixel, p.channel), v);
}

template <class T, int L = 0>
KERNEL void add_bias(add_bias_shape s, float const* bias, T* y) {
  if constexpr (L > 0)
    add_bias_lanes<L>(s, bias, y);
  else if (s.lanes == 1)
    add_bias_lanes<1>(s, bias, y);
  else
    add_bias_lanes<full_lanes<T>>(s, bias, y);
}

// ---- conversion of whole arenas between float and the storage type -------------------------------------------------
struct cast_shape {
  int count, lanes;
};

template <class T>
KERNEL void narrow(cast_shape s, float const* from, T* to) {
  int const unit = global_thread();
  if (unit >= s.count / s.lanes) return;
  if (s.lanes == 1)
    store<1>(to + unit, load<1>(from + unit));
  else
    store<4>(to + 4LL * unit, load<4>(from + 4LL * unit));
}

template <class T>
KERNEL void widen(cast_shape s, T const* from, float* to) {
  int const unit = global_thread();
  if (unit >= s.count / s.lanes) return;
  if (s.lanes == 1)
    store<1>(to + unit, load<1>(from + unit));
  else
    store<4>(to + 4LL * unit, load<4>(from + 4LL * unit));
}

}  // namespace dsl_kernels
)cuda"
