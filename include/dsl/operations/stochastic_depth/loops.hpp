// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/dropout.hpp>
#include <dsl/executors/reference/elementwise.hpp>
#include <dsl/executors/reference/step_loops.hpp>

#include <cstdint>

namespace dsl::plain::TYPENET_MODE {

/// Draws one random number per sample. Some samples become zero, and the others are divided by 1 - rate. The backward
/// pass draws the same numbers again. y may be the same memory as x.
template <class T>
void stochastic_depth(view<T const> x, view<T> y, dropout_draw const& draw, bool accumulate) {
  T const scale = T(1) / (T(1) - static_cast<T>(draw.rate));
  for_each_channel(y, [&](int n, int c) {
    bool const keeps = draw.keeps(draw.four(static_cast<std::uint32_t>(n), 0).x[0]);
    auto const in = x.pixels(n, c);
    auto const out = y.pixels(n, c);
    for (long long i = 0; i < y.shape.area(); ++i) add_to(out[i], keeps ? in[i] * scale : T(0), accumulate);
  });
}

template <class T>
inline constexpr loops<T> loops_for<T, op::stochastic_depth>{
    .forward = [](host::bound_step<T> const& b, step_context const& c) { stochastic_depth(b.x, b.to, c.draw, false); },
    .backward = [](host::bound_step<T> const& b,
                   step_context const& c) { stochastic_depth(b.dy, b.to, c.draw, b.accumulate); },
    .parts = parts_of::samples};

}  // namespace dsl::plain::TYPENET_MODE
