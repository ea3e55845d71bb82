R"cuda(
// SPDX-License-Identifier: MIT
// multiply, whose operands may have one channel or one pixel for all channels or pixels of the output. Sums over those
// are always in the same order.

namespace dsl_kernels {

// An operand's place, and whether one channel or one pixel of it is read for all of the output's.
struct factor {
  slice at;
  int one_channel, one_pixel;
};

// Returns the L numbers by which channels `channel` and following of the output are multiplied at a pixel of the batch.
template <int L, class T>
DEVICE floats<L> factor_at(T const* x, factor const& f, int pixel, int channel, int area) {
  int const p = f.one_pixel ? pixel / area : pixel;
  if (!f.one_channel) return load<L>(at(x, f.at, p, channel));
  float const all = widened(*at(x, f.at, p, 0));
  floats<L> v;
  for (int i = 0; i < L; ++i) v.v[i] = all;
  return v;
}

// ---- y = a b, or the gradient of an operand that has the output's shape: dy b -----------------------------------------
struct multiply_shape {
  int pixels, channels, lanes, area;
  factor a, b;
  slice y;
  int accumulate;
};

template <int L, class T>
DEVICE void multiply_lanes(multiply_shape const& s, T const* a, T const* b, T* y) {
  int const unit = global_thread();
  if (unit >= s.pixels * (s.channels / L)) return;
  place const p = place_of<L>(unit, s.channels);
  floats<L> v = factor_at<L>(a, s.a, p.pixel, p.channel, s.area);
  floats<L> const w = factor_at<L>(b, s.b, p.pixel, p.channel, s.area);
  for (int i = 0; i < L; ++i) v.v[i] *= w.v[i];
  put<L>(at(y, s.y, p.pixel, p.channel), v, s.accumulate);
}

template <class T, int L = 0>
KERNEL void multiply(multiply_shape s, T const* a, T const* b, T* y) {
  if constexpr (L > 0)
    multiply_lanes<L>(s, a, b, y);
  else if (s.lanes == 1)
    multiply_lanes<1>(s, a, b, y);
  else
    multiply_lanes<full_lanes<T>>(s, a, b, y);
}

// ---- the gradient of an operand with one channel: sums of dy b over the channels ----------------------------------------
// A team of threads computes one number, from `area` pixels if the operand has one pixel, too, and otherwise from one.
struct multiply_channels_shape {
  int numbers, channels, area;  // numbers: of the gradient; area: pixels of each
  int sample_area;              // pixels of a sample of dy
  int team;                     // threads
  slice dy;
  factor b;
  slice dx;
  int accumulate;
};

template <class T>
KERNEL void multiply_backward_channels(multiply_channels_shape s, T const* dy, T const* b, T* dx) {
  team_place const me = team_place_of(s.team, s.numbers);
  float sum = 0;
  if (me.works)
    for (int i = me.member; i < s.area * s.channels; i += s.team) {
      int const pixel = me.team * s.area + i / s.channels;
      int const channel = i % s.channels;
      sum += widened(*at(dy, s.dy, pixel, channel)) * factor_at<1>(b, s.b, pixel, channel, s.sample_area).v[0];
    }
  sum = team_sum(sum, s.team);
  if (me.works && me.member == 0) put<1>(at(dx, s.dx, me.team, 0), {{sum}}, s.accumulate);
}

// ---- the gradient of an operand with one pixel: sums of dy b over the pixels of a sample -------------------------------
// A block computes `columns` * L channels of a sample. Its threads form `rows` rows, each of which adds every `rows`-th
// pixel.
struct multiply_pixels_shape {
  int channels, lanes, area;
  int columns, rows, tiles;  // tiles: blocks of a sample
  slice dy;
  factor b;
  slice dx;
  int accumulate;
};
constexpr int pixel_sum_threads = 256;

template <int L, class T>
DEVICE void multiply_backward_pixels_lanes(multiply_pixels_shape const& s, T const* dy, T const* b, T* dx) {
  SHARED float sums_of_rows[pixel_sum_threads * L];
  int const sample = block_x() / s.tiles;
  int const row = thread() / s.columns;
  int const channel = (block_x() % s.tiles * s.columns + thread() % s.columns) * L;
  floats<L> sum{};
  if (channel < s.channels)
    for (int i = row; i < s.area; i += s.rows) {
      int const pixel = sample * s.area + i;
      floats<L> const d = load<L>(at(dy, s.dy, pixel, channel));
      floats<L> const w = factor_at<L>(b, s.b, pixel, channel, s.area);
      for (int k = 0; k < L; ++k) sum.v[k] += d.v[k] * w.v[k];
    }
  for (int k = 0; k < L; ++k) sums_of_rows[k * pixel_sum_threads + thread()] = sum.v[k];
  barrier();
  if (row > 0 || channel >= s.channels) return;
  for (int r = 1; r < s.rows; ++r)
    for (int k = 0; k < L; ++k) sum.v[k] += sums_of_rows[k * pixel_sum_threads + r * s.columns + thread()];
  put<L>(at(dx, s.dx, sample, channel), sum, s.accumulate);
}

template <class T, int L = 0>
KERNEL void multiply_backward_pixels(multiply_pixels_shape s, T const* dy, T const* b, T* dx) {
  if constexpr (L > 0)
    multiply_backward_pixels_lanes<L>(s, dy, b, dx);
  else if (s.lanes == 1)
    multiply_backward_pixels_lanes<1>(s, dy, b, dx);
  else
    multiply_backward_pixels_lanes<full_lanes<T>>(s, dy, b, dx);
}

}  // namespace dsl_kernels
)cuda"
