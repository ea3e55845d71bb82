// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/native/vector.hpp>

#ifdef __CUDACC__  // whose front end knows `#pragma unroll` alone, which GCC does not
#pragma nv_diagnostic push
#pragma nv_diag_suppress 1675
#endif

namespace dsl::native_cpu::TYPENET_MODE {

/// One place of a depthwise kernel: the offset of the vector of x that it reads, and of the kernel's vector that it
/// multiplies this with.
struct depthwise_tap {
  long long x;
  long long kernel;
};

/// Computes a rectangle of pixels of one channel block, in which each channel has its own kernel: y = start + the sum
/// over taps of x * kernel, in the order of the taps. A line consists of `tiles` tiles of Pixels pixels.
struct depthwise_call {
  float const* x;  // line l, pixel p, tap t: x + l * x_line + p * x_step + taps[t].x
  long long x_line;
  long long x_step;
  depthwise_tap const* taps;
  int tap_count;
  int lines;
  int tiles;
  float const* kernel;  // tap t: kernel + taps[t].kernel
  float const* start;   // line l, pixel p: start + l * start_line + p * start_step
  long long start_line;
  long long start_step;
  float* y;  // line l, pixel p: y + l * y_line + p * y_step
  long long y_line;
  long long y_step;
  bool relu;  // negative numbers become 0
};

/// The largest number of pixels in a tile: enough sums to keep two units busy, each of which takes four cycles for a
/// result.
inline constexpr int most_depthwise_pixels = 8;
/// The largest number of taps in a call: those of a 3x3 kernel.
inline constexpr int most_depthwise_taps = 9;

template <int L, int Pixels>
struct depthwise_product {
  using call = depthwise_call;

  [[gnu::always_inline]] static inline void run(call const& c) {
    for (int line = 0; line < c.lines; ++line) {
      float const* x = c.x + line * c.x_line;
      float const* start = c.start + line * c.start_line;
      float* y = c.y + line * c.y_line;
      for (int i = 0; i < c.tiles; ++i) {
        tile(c, x, start, y);
        x += Pixels * c.x_step, start += Pixels * c.start_step, y += Pixels * c.y_step;
      }
    }
  }

 private:
  [[gnu::always_inline]] static inline void tile(call const& c, float const* x, float const* start, float* y) {
    using floats = typename vector<L>::type;
    floats sums[Pixels];
#pragma GCC unroll 8
    for (int p = 0; p < Pixels; ++p) load<L>(sums[p], start + p * c.start_step);
    for (int t = 0; t < c.tap_count; ++t) {
      float const* const from = x + c.taps[t].x;
      floats w;
      load<L>(w, c.kernel + c.taps[t].kernel);
#pragma GCC unroll 8
      for (int p = 0; p < Pixels; ++p) {
        floats v;
        load<L>(v, from + p * c.x_step);
        multiply_add<L>(sums[p], v, w);
      }
    }
#pragma GCC unroll 8
    for (int p = 0; p < Pixels; ++p) {
      if (c.relu) clamp_below<L>(sums[p]);
      store<L>(y + p * c.y_step, sums[p]);
    }
  }
};

/// Computes a kernel's gradient over a rectangle of pixels: for each tap, sums the products of dy and the x that the
/// tap reads, and adds the finished sum to `sums`.
struct depthwise_weights_call {
  float const* x;  // line l, step s, tap t: x + l * x_line + s * x_step + taps[t].x
  long long x_line;
  long long x_step;
  depthwise_tap const* taps;
  float const* dy;  // line l, step s: dy + l * dy_line + s * dy_step
  long long dy_line;
  long long dy_step;
  int lines;
  int steps;
  float* sums;  // tap t: sums + taps[t].kernel
};

template <int L, int Taps>
struct depthwise_weights_product {
  using call = depthwise_weights_call;

  [[gnu::always_inline]] static inline void run(call const& c) {
    using floats = typename vector<L>::type;
    floats sums[Taps];
    long long taps[Taps];
#pragma GCC unroll 9
    for (int t = 0; t < Taps; ++t) sums[t] = floats{}, taps[t] = c.taps[t].x;
    for (int line = 0; line < c.lines; ++line) {
      float const* x = c.x + line * c.x_line;
      float const* dy = c.dy + line * c.dy_line;
      for (int s = 0; s < c.steps; ++s, x += c.x_step, dy += c.dy_step) {
        floats g;
        load<L>(g, dy);
#pragma GCC unroll 9
        for (int t = 0; t < Taps; ++t) {
          floats v;
          load<L>(v, x + taps[t]);
          multiply_add<L>(sums[t], v, g);
        }
      }
    }
#pragma GCC unroll 9
    for (int t = 0; t < Taps; ++t) {
      floats before;
      load<L>(before, c.sums + c.taps[t].kernel);
      sums[t] += before;
      store<L>(c.sums + c.taps[t].kernel, sums[t]);
    }
  }
};

}  // namespace dsl::native_cpu::TYPENET_MODE

#ifdef __CUDACC__
#pragma nv_diagnostic pop
#endif
