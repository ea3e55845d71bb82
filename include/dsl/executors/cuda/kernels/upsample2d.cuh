R"cuda(
// SPDX-License-Identifier: MIT
// Enlarges images by a whole factor. A thread computes the gradient of an input pixel from all output pixels that read
// it, so no two threads add to the same number.

namespace dsl_kernels {

struct upsample2d_shape {
  int batch, channels, lanes;
  int in_height, in_width, row_factor, column_factor;
  int bilinear;
  slice x, y;  // the places of the input and the output, or of their gradients
  int accumulate;
};

// The two input rows, or columns, between which an output row lies: it is (1 - share) * low + share * high.
struct neighbours {
  int low, high;
  float share;
};
DEVICE neighbours neighbours_of(int bilinear, int place, int factor, int size) {
  if (!bilinear) return {place / factor, place / factor, 0};
  int const from_centre = 2 * place + 1 - factor;  // to the centre of the first pixel, in 1 / (2 factor) pixels
  if (from_centre <= 0) return {0, 0, 0};
  int const low = from_centre / (2 * factor);
  if (low + 1 >= size) return {size - 1, size - 1, 0};
  return {low, low + 1, static_cast<float>(from_centre % (2 * factor)) / static_cast<float>(2 * factor)};
}
// The share that an input row has in an output row between these neighbours.
DEVICE float weight_of(neighbours const& n, int row) {
  return (row == n.low ? 1 - n.share : 0.0f) + (row == n.high ? n.share : 0.0f);
}
// The output rows from `first` to before `last`, outside of which no row reads an input row.
struct readers {
  int first, last;
};
DEVICE readers readers_of(int bilinear, int row, int factor, int size) {
  int const beyond = bilinear ? factor / 2 : 0;
  int const first = row * factor - beyond;
  int const last = (row + 1) * factor + beyond;
  return {first < 0 ? 0 : first, last < size * factor ? last : size * factor};
}

template <int L, class T>
DEVICE void upsample2d_forward_lanes(upsample2d_shape const& s, T const* x, T* y) {
  int const unit = global_thread();
  int const height = s.in_height * s.row_factor;
  int const width = s.in_width * s.column_factor;
  if (unit >= s.batch * height * width * (s.channels / L)) return;
  place const p = place_of<L>(unit, s.channels);
  int const sample = p.pixel / (height * width);
  neighbours const row = neighbours_of(s.bilinear, p.pixel / width % height, s.row_factor, s.in_height);
  neighbours const column = neighbours_of(s.bilinear, p.pixel % width, s.column_factor, s.in_width);
  auto const pixel = [&](int r, int c) {
    return load<L>(at(x, s.x, (sample * s.in_height + r) * s.in_width + c, p.channel));
  };
  floats<L> sum{};
  if (!s.bilinear) {
    sum = pixel(row.low, column.low);
  } else {
    auto const add = [&](int r, int c, float weight) {
      if (!(weight > 0)) return;  // a pixel that is not read may be NaN
      floats<L> const v = pixel(r, c);
      for (int i = 0; i < L; ++i) sum.v[i] += weight * v.v[i];
    };
    add(row.low, column.low, (1 - row.share) * (1 - column.share));
    add(row.low, column.high, (1 - row.share) * column.share);
    add(row.high, column.low, row.share * (1 - column.share));
    add(row.high, column.high, row.share * column.share);
  }
  store<L>(at(y, s.y, p.pixel, p.channel), sum);
}

template <class T, int L = 0>
KERNEL void upsample2d_forward(upsample2d_shape s, T const* x, T* y) {
  if constexpr (L > 0)
    upsample2d_forward_lanes<L>(s, x, y);
  else if (s.lanes == 1)
    upsample2d_forward_lanes<1>(s, x, y);
  else
    upsample2d_forward_lanes<full_lanes<T>>(s, x, y);
}

template <int L, class T>
DEVICE void upsample2d_backward_lanes(upsample2d_shape const& s, T const* dy, T* dx) {
  int const unit = global_thread();
  if (unit >= s.batch * s.in_height * s.in_width * (s.channels / L)) return;
  place const p = place_of<L>(unit, s.channels);
  int const sample = p.pixel / (s.in_height * s.in_width);
  int const row = p.pixel / s.in_width % s.in_height;
  int const column = p.pixel % s.in_width;
  int const width = s.in_width * s.column_factor;
  readers const rows = readers_of(s.bilinear, row, s.row_factor, s.in_height);
  readers const columns = readers_of(s.bilinear, column, s.column_factor, s.in_width);
  floats<L> sum{};
  for (int i = rows.first; i < rows.last; ++i) {
    float const of_row = weight_of(neighbours_of(s.bilinear, i, s.row_factor, s.in_height), row);
    int const begin = (sample * s.in_height * s.row_factor + i) * width;
    for (int j = columns.first; j < columns.last; ++j) {
      float const weight = of_row * weight_of(neighbours_of(s.bilinear, j, s.column_factor, s.in_width), column);
      if (!(weight > 0)) continue;
      floats<L> const d = load<L>(at(dy, s.y, begin + j, p.channel));
      for (int k = 0; k < L; ++k) sum.v[k] += weight * d.v[k];
    }
  }
  put<L>(at(dx, s.x, p.pixel, p.channel), sum, s.accumulate);
}

template <class T, int L = 0>
KERNEL void upsample2d_backward(upsample2d_shape s, T const* dy, T* dx) {
  if constexpr (L > 0)
    upsample2d_backward_lanes<L>(s, dy, dx);
  else if (s.lanes == 1)
    upsample2d_backward_lanes<1>(s, dy, dx);
  else
    upsample2d_backward_lanes<full_lanes<T>>(s, dy, dx);
}

}  // namespace dsl_kernels
)cuda"
