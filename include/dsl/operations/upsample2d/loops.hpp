// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/host/neighbours.hpp>
#include <dsl/executors/reference/elementwise.hpp>
#include <dsl/executors/reference/step_loops.hpp>

namespace dsl::plain::TYPENET_MODE {

using host::bilinear_of;
using host::nearest_of;
using host::neighbours;

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
void upsample2d_forward(host::bound_step<T> const& b, step_context const&) {
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
void upsample2d_backward(host::bound_step<T> const& b, step_context const&) {
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
                                           .backward = upsample2d_backward<T, Bilinear>,
                                           .parts = parts_of::channels};

template <class T>
inline constexpr loops<T> loops_for<T, op::upsample_nearest> = upsample2d_loops<T, false>;
template <class T>
inline constexpr loops<T> loops_for<T, op::upsample_bilinear> = upsample2d_loops<T, true>;

}  // namespace dsl::plain::TYPENET_MODE
