// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/reference/elementwise.hpp>
#include <dsl/executors/reference/step_loops.hpp>

namespace dsl::plain::TYPENET_MODE {

/// The two input rows, or columns, between which an output row lies: it is (1 - share) * low + share * high.
struct neighbours {
  int low = 0;
  int high = 0;
  double share = 0;
};

/// Returns the nearest row. nearest_of(5, 2, 4) -> {2, 2, 0}: the sixth of eight rows is the third of four.
constexpr neighbours nearest_of(int place, int factor, int /*size*/) { return {place / factor, place / factor, 0}; }

/// Returns the neighbours for bilinear interpolation. bilinear_of(4, 2, 4) -> {1, 2, 0.75}: pixels are squares whose
/// centres are compared (PyTorch's align_corners=False).
constexpr neighbours bilinear_of(int place, int factor, int size) {
  long long const from_centre = 2LL * place + 1 - factor;  // to the centre of the first pixel, in 1 / (2 factor) pixels
  if (from_centre <= 0) return {0, 0, 0};
  auto const low = static_cast<int>(from_centre / (2LL * factor));
  if (low + 1 >= size) return {size - 1, size - 1, 0};
  return {low, low + 1, static_cast<double>(from_centre % (2LL * factor)) / (2.0 * factor)};
}

/// Calls f(output pixel, input pixel, weight) for each of the four, or fewer, input pixels of every output pixel.
template <class F>
void for_each_neighbour(shape const& in, shape const& out, bool bilinear, F f) {
  auto const of = bilinear ? bilinear_of : nearest_of;
  for (int i = 0; i < out.height; ++i) {
    neighbours const row = of(i, out.height / in.height, in.height);
    for (int j = 0; j < out.width; ++j) {
      neighbours const column = of(j, out.width / in.width, in.width);
      long long const to = 1LL * i * out.width + j;
      auto const corner = [&](int r, int c, double weight) {
        if (weight > 0) f(to, 1LL * r * in.width + c, weight);
      };
      corner(row.low, column.low, (1 - row.share) * (1 - column.share));
      corner(row.low, column.high, (1 - row.share) * column.share);
      corner(row.high, column.low, row.share * (1 - column.share));
      corner(row.high, column.high, row.share * column.share);
    }
  }
}

template <class T, bool Bilinear>
[[gnu::cold]] void upsample2d_forward(host::bound_step<T> const& b, step_context const&) {
  for_each_channel(b.to, [&](int n, int c) {
    auto const in = b.x.pixels(n, c);
    auto const out = b.to.pixels(n, c);
    for (long long i = 0; i < b.to.shape.area(); ++i) out[i] = 0;
    for_each_neighbour(b.x.shape, b.to.shape, Bilinear, [&](long long to, long long from, double weight) {
      out[to] += static_cast<T>(weight) * in[from];
    });
  });
}

/// Adds to each input pixel the gradients of the output pixels that read it, with the same weights.
template <class T, bool Bilinear>
[[gnu::cold]] void upsample2d_backward(host::bound_step<T> const& b, step_context const&) {
  for_each_channel(b.to, [&](int n, int c) {
    auto const from = b.dy.pixels(n, c);
    auto const to = b.to.pixels(n, c);
    for (long long i = 0; !b.accumulate && i < b.to.shape.area(); ++i) to[i] = 0;
    for_each_neighbour(b.to.shape, b.dy.shape, Bilinear, [&](long long at, long long pixel, double weight) {
      to[pixel] += static_cast<T>(weight) * from[at];
    });
  });
}

template <class T, bool Bilinear>
inline constexpr loops<T> upsample2d_loops{.forward = upsample2d_forward<T, Bilinear>,
                                           .backward = upsample2d_backward<T, Bilinear>};

}  // namespace dsl::plain::TYPENET_MODE
