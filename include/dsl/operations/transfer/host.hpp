// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/host/elementwise.hpp>
#include <dsl/executors/host/operation.hpp>

namespace dsl::plain::TYPENET_MODE {

template <class T>
inline constexpr loops<T> loops_for<T, op::transfer>{
    .forward = [](host::bound_step<T> const& b, step_context const&) { copy(b.x, b.to, false); },
    .backward = [](host::bound_step<T> const& b, step_context const&) { copy(b.dy, b.to, b.accumulate); },
    .parts = parts_of::channels};

}  // namespace dsl::plain::TYPENET_MODE
