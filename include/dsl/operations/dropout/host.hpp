// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/dropout.hpp>
#include <dsl/executors/host/elementwise.hpp>
#include <dsl/executors/host/operation.hpp>

#include <cstdint>

namespace dsl::plain::TYPENET_MODE {

/// Zeroes random values and divides the other values by 1 - rate. The backward pass draws the same random numbers
/// again. y may be the same memory as x. Channel 0 is the channel `first` of the sample.
template <class T>
void dropout(view<T const> x, view<T> y, dropout_draw const& draw, int first, bool accumulate) {
  T const scale = T(1) / (T(1) - static_cast<T>(draw.rate));
  detail::philox_block four{};
  for_each_channel(y, [&](int n, int c) {
    auto const in = x.pixels(n, c);
    auto const out = y.pixels(n, c);
    for (long long i = 0; i < y.shape.area(); ++i) {
      auto const element = static_cast<std::uint32_t>((first + c) * y.shape.area() + i);  // increases by one
      if (element % 4 == 0 || (c == 0 && i == 0)) four = draw.four(static_cast<std::uint32_t>(n), element / 4);
      add_to(out[i], draw.keeps(four.x[element % 4]) ? in[i] * scale : T(0), accumulate);
    }
  });
}

template <class T>
inline constexpr loops<T> loops_for<T, op::dropout>{
    .forward = [](host::bound_step<T> const& b,
                  step_context const& c) { dropout(b.x, b.to, c.draw, c.first_channel, false); },
    .backward = [](host::bound_step<T> const& b,
                   step_context const& c) { dropout(b.dy, b.to, c.draw, c.first_channel, b.accumulate); },
    .parts = parts_of::channels};

}  // namespace dsl::plain::TYPENET_MODE
