// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/dropout.hpp>
#include <dsl/executors/host/elementwise.hpp>
#include <dsl/executors/host/operation.hpp>
#include <dsl/executors/host/pixel_task.hpp>

#include <cstdint>
#include <cstring>

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

namespace dsl::host::TYPENET_MODE {

/// Returns the task of a stochastic_depth step, or an empty task if a tensor does not consist of whole channel blocks.
/// `draws` returns the random numbers of the current run.
template <class Device, class F>
task stochastic_depth_task(Device& at, bound_step<float> const& s, F draws) {
  view<float const> const x = s.step->what == action::forward ? s.x : s.dy;
  int const L = at.lanes();
  if (!is_blocked(s, L)) return {};
  return [&at, x, to = s.to, accumulate = s.accumulate, draws, L, blocks = blocks_of(x.shape.channels, L)] {
    dropout_draw const draw = draws();
    at.run(to.batch * blocks, [&](int i) {
      int const n = i / blocks, b = i % blocks;
      float scale[16];
      for (float& v : scale) v = 1.0F / (1.0F - draw.rate);
      if (draw.keeps(draw.four(static_cast<std::uint32_t>(n), 0).x[0]))
        return multiply_block(at, x, to, n, b, scale, accumulate);
      long long const count = L * to.shape.area();
      if (!accumulate) std::memset(sample_of(to, n) + b * count, 0, sizeof(float) * static_cast<std::size_t>(count));
    });
  };
}

}  // namespace dsl::host::TYPENET_MODE
