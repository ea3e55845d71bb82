R"cuda(
// SPDX-License-Identifier: MIT
// Max and average pools. A thread computes the gradient of an input pixel from all windows that contain it, so no two
// threads add to the same number.

namespace dsl_kernels {

struct pool2d_shape {
  int batch, channels, lanes;
  int in_height, in_width, out_height, out_width;
  int window_height, window_width, row_stride, column_stride;
  int pad_top, pad_left;
  int padded;          // some windows begin or end beyond the image
  int counts_padding;  // the mean of a window is over all of it, also over what is beyond the image
  slice x, y;          // the places of the input and the output, or of their gradients
  int place_bytes;     // bytes of a position in argmax, which is packed like y: 1, 2, or 0 for none
  int accumulate;
};

// The rows and columns of a window that are on the image: [first_row, last_row) and [first_column, last_column).
struct window_part {
  int first_row, last_row, first_column, last_column;
};
DEVICE window_part part_on_image(pool2d_shape const& s, int row, int column) {
  if (!s.padded) return {0, s.window_height, 0, s.window_width};
  int const top = row * s.row_stride - s.pad_top, left = column * s.column_stride - s.pad_left;
  return {top < 0 ? -top : 0, s.in_height - top < s.window_height ? s.in_height - top : s.window_height,
          left < 0 ? -left : 0, s.in_width - left < s.window_width ? s.in_width - left : s.window_width};
}
// Returns the number by which the sum of a window is divided.
DEVICE float divisor_of(pool2d_shape const& s, window_part const& w) {
  if (s.counts_padding) return static_cast<float>(s.window_height * s.window_width);
  return static_cast<float>((w.last_row - w.first_row) * (w.last_column - w.first_column));
}

struct window_place {
  int sample, row, column, channel;
};
template <int L>
DEVICE window_place window_place_of(int unit, int channels, int height, int width) {
  place const p = place_of<L>(unit, channels);
  int const in_sample = p.pixel % (height * width);
  return {p.pixel / (height * width), in_sample / width, in_sample % width, p.channel};
}
// Returns the input pixel under a window's first row and column, which may be beyond the image.
DEVICE int corner_of(pool2d_shape const& s, window_place const& p) {
  return (p.sample * s.in_height + (p.row * s.row_stride - s.pad_top)) * s.in_width +
         (p.column * s.column_stride - s.pad_left);
}

// Stores the positions of L neighbouring maxima in their windows, as 4-byte words if L > 1.
template <int L, class I>
DEVICE void store_places(I* to, int const (&v)[L]) {
  if constexpr (L == 1) {
    to[0] = static_cast<I>(v[0]);
  } else {
    constexpr int in_word = static_cast<int>(4 / sizeof(I));
    for (int w = 0; w < L / in_word; ++w) {
      unsigned word = 0;
      for (int k = 0; k < in_word; ++k) word |= static_cast<unsigned>(v[w * in_word + k]) << (32 / in_word * k);
      raw_store(to + w * in_word, word);
    }
  }
}
template <int L, class I>
DEVICE void load_places(I const* from, int (&v)[L]) {
  if constexpr (L == 1) {
    v[0] = from[0];
  } else {
    constexpr int in_word = static_cast<int>(4 / sizeof(I));
    for (int w = 0; w < L / in_word; ++w) {
      unsigned const word = raw_load<unsigned>(from + w * in_word);
      for (int k = 0; k < in_word; ++k)
        v[w * in_word + k] = static_cast<int>(word >> (32 / in_word * k) & (0xffffffffu >> (32 - 32 / in_word)));
    }
  }
}

// ---- max ------------------------------------------------------------------------------------------------------------
template <int L, class T>
DEVICE void max_pool2d_forward_lanes(pool2d_shape const& s, T const* x, T* y, void* argmax) {
  int const unit = global_thread();
  if (unit >= s.batch * s.out_height * s.out_width * (s.channels / L)) return;
  window_place const p = window_place_of<L>(unit, s.channels, s.out_height, s.out_width);
  int const corner = corner_of(s, p);
  window_part const w = part_on_image(s, p.row, p.column);
  floats<L> best = load<L>(at(x, s.x, corner + w.first_row * s.in_width + w.first_column, p.channel));
  int places[L];
  for (int k = 0; k < L; ++k) places[k] = w.first_row * s.window_width + w.first_column;
  for (int i = w.first_row; i < w.last_row; ++i)
    for (int j = w.first_column; j < w.last_column; ++j) {
      floats<L> const v = load<L>(at(x, s.x, corner + i * s.in_width + j, p.channel));
      for (int k = 0; k < L; ++k)
        if (v.v[k] > best.v[k] || v.v[k] != v.v[k])  // the first one of equal values; NaN stays NaN
          best.v[k] = v.v[k], places[k] = i * s.window_width + j;
    }
  int const to = (p.sample * s.out_height + p.row) * s.out_width + p.column;
  store<L>(at(y, s.y, to, p.channel), best);
  slice const packed{s.channels, 0};
  if (s.place_bytes == 1) store_places<L>(at(static_cast<unsigned char*>(argmax), packed, to, p.channel), places);
  if (s.place_bytes == 2) store_places<L>(at(static_cast<unsigned short*>(argmax), packed, to, p.channel), places);
}

template <class T, int L = 0>
KERNEL void max_pool2d_forward(pool2d_shape s, T const* x, T* y, void* argmax) {
  if constexpr (L > 0)
    max_pool2d_forward_lanes<L>(s, x, y, argmax);
  else if (s.lanes == 1)
    max_pool2d_forward_lanes<1>(s, x, y, argmax);
  else
    max_pool2d_forward_lanes<full_lanes<T>>(s, x, y, argmax);
}

// Calls f(row of y, column of y, row in the window, column in the window) for each window that contains an input pixel.
template <class F>
DEVICE void for_each_window_of(pool2d_shape const& s, window_place const& p, F f) {
  int const in_row = p.row + s.pad_top, in_column = p.column + s.pad_left;
  int const last_row = in_row / s.row_stride < s.out_height ? in_row / s.row_stride : s.out_height - 1;
  int const last_column = in_column / s.column_stride < s.out_width ? in_column / s.column_stride : s.out_width - 1;
  for (int i = last_row; i >= 0 && in_row - i * s.row_stride < s.window_height; --i)
    for (int j = last_column; j >= 0 && in_column - j * s.column_stride < s.window_width; --j)
      f(i, j, in_row - i * s.row_stride, in_column - j * s.column_stride);
}

template <int L, class T>
DEVICE void max_pool2d_backward_lanes(pool2d_shape const& s, T const* dy, void const* argmax, T* dx) {
  int const unit = global_thread();
  if (unit >= s.batch * s.in_height * s.in_width * (s.channels / L)) return;
  window_place const p = window_place_of<L>(unit, s.channels, s.in_height, s.in_width);
  slice const packed{s.channels, 0};
  floats<L> sum{};
  for_each_window_of(s, p, [&](int row, int column, int i, int j) {
    int const from = (p.sample * s.out_height + row) * s.out_width + column;
    int places[L];
    if (s.place_bytes == 1)
      load_places<L>(at(static_cast<unsigned char const*>(argmax), packed, from, p.channel), places);
    else
      load_places<L>(at(static_cast<unsigned short const*>(argmax), packed, from, p.channel), places);
    floats<L> const d = load<L>(at(dy, s.y, from, p.channel));
    for (int k = 0; k < L; ++k) sum.v[k] += places[k] == i * s.window_width + j ? d.v[k] : 0.0f;
  });
  put<L>(at(dx, s.x, (p.sample * s.in_height + p.row) * s.in_width + p.column, p.channel), sum, s.accumulate);
}

template <class T, int L = 0>
KERNEL void max_pool2d_backward(pool2d_shape s, T const* dy, void const* argmax, T* dx) {
  if constexpr (L > 0)
    max_pool2d_backward_lanes<L>(s, dy, argmax, dx);
  else if (s.lanes == 1)
    max_pool2d_backward_lanes<1>(s, dy, argmax, dx);
  else
    max_pool2d_backward_lanes<full_lanes<T>>(s, dy, argmax, dx);
}

// ---- average --------------------------------------------------------------------------------------------------------
template <int L, class T>
DEVICE void avg_pool2d_forward_lanes(pool2d_shape const& s, T const* x, T* y) {
  int const unit = global_thread();
  if (unit >= s.batch * s.out_height * s.out_width * (s.channels / L)) return;
  window_place const p = window_place_of<L>(unit, s.channels, s.out_height, s.out_width);
  int const corner = corner_of(s, p);
  window_part const w = part_on_image(s, p.row, p.column);
  floats<L> sum{};
  UNROLL(4)
  for (int i = w.first_row; i < w.last_row; ++i) {
    UNROLL(8)
    for (int j = w.first_column; j < w.last_column; ++j) {
      floats<L> const v = load<L>(at(x, s.x, corner + i * s.in_width + j, p.channel));
      for (int k = 0; k < L; ++k) sum.v[k] += v.v[k];
    }
  }
  float const size = divisor_of(s, w);
  for (int k = 0; k < L; ++k) sum.v[k] /= size;
  store<L>(at(y, s.y, (p.sample * s.out_height + p.row) * s.out_width + p.column, p.channel), sum);
}

template <class T, int L = 0>
KERNEL void avg_pool2d_forward(pool2d_shape s, T const* x, T* y) {
  if constexpr (L > 0)
    avg_pool2d_forward_lanes<L>(s, x, y);
  else if (s.lanes == 1)
    avg_pool2d_forward_lanes<1>(s, x, y);
  else
    avg_pool2d_forward_lanes<full_lanes<T>>(s, x, y);
}

template <int L, class T>
DEVICE void avg_pool2d_backward_lanes(pool2d_shape const& s, T const* dy, T* dx) {
  int const unit = global_thread();
  if (unit >= s.batch * s.in_height * s.in_width * (s.channels / L)) return;
  window_place const p = window_place_of<L>(unit, s.channels, s.in_height, s.in_width);
  floats<L> sum{};
  for_each_window_of(s, p, [&](int row, int column, int, int) {
    float const size = divisor_of(s, part_on_image(s, row, column));
    floats<L> const d = load<L>(at(dy, s.y, (p.sample * s.out_height + row) * s.out_width + column, p.channel));
    for (int k = 0; k < L; ++k) sum.v[k] += d.v[k] / size;
  });
  put<L>(at(dx, s.x, (p.sample * s.in_height + p.row) * s.in_width + p.column, p.channel), sum, s.accumulate);
}

template <class T, int L = 0>
KERNEL void avg_pool2d_backward(pool2d_shape s, T const* dy, T* dx) {
  if constexpr (L > 0)
    avg_pool2d_backward_lanes<L>(s, dy, dx);
  else if (s.lanes == 1)
    avg_pool2d_backward_lanes<1>(s, dy, dx);
  else
    avg_pool2d_backward_lanes<full_lanes<T>>(s, dy, dx);
}

}  // namespace dsl_kernels
)cuda"
