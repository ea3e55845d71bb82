// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/host/elementwise.hpp>
#include <dsl/executors/host/operation.hpp>

namespace dsl::plain::TYPENET_MODE {

/// Copies values between two layouts: the i-th value in (channel, row, column) order stays the i-th.
template <class T>
void reshape(view<T const> from, view<T> to, bool accumulate) {
  long long const from_area = from.shape.area();
  long long const to_area = to.shape.area();
  for (int n = 0; n < to.batch; ++n)
    for (long long i = 0; i < to.shape.size(); ++i)
      add_to(to(n, static_cast<int>(i / to_area), i % to_area), from(n, static_cast<int>(i / from_area), i % from_area),
             accumulate);
}

template <class T>
inline constexpr loops<T> loops_for<T, op::flatten>{
    .forward = [](host::bound_step<T> const& b, step_context const&) { reshape(b.x, b.to, false); },
    .backward = [](host::bound_step<T> const& b, step_context const&) { reshape(b.dy, b.to, b.accumulate); },
    .parts = parts_of::samples};

}  // namespace dsl::plain::TYPENET_MODE
