// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/math.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/executors/host/elementwise.hpp>
#include <dsl/executors/host/operation.hpp>

namespace dsl::plain::TYPENET_MODE {

/// Returns the constant of an offset of `i` - (size - 1) rows in windows of `size` rows: sign(d) log2(1 + |d|) / 3,
/// with d from -8 to 8 (Liu et al. 2022).
inline double scaled_offset(int i, int size) {
  double const d = size > 1 ? 8.0 * (i - (size - 1)) / (size - 1) : 0, bits = 1.4426950408889634;
  double const scaled = detail::log1p(d < 0 ? -d : d) * bits / 3;
  return d < 0 ? -scaled : scaled;
}

template <class T>
void window_offsets_forward(host::bound_step<T> const& b, step_context const&) {
  shape const& s = b.to.shape;
  for_each_channel(b.to, [&](int n, int c) {
    int const places = c == 0 ? s.height : s.width, next = c == 0 ? s.width : 1;  // rows or columns
    int const times = c == 0 ? s.width : s.height, step = c == 0 ? 1 : s.width;
    for (int i = 0; i < places; ++i) {
      auto const offset = static_cast<T>(scaled_offset(i, (places + 1) / 2));
      for (int k = 0; k < times; ++k) b.to(n, c, 1LL * i * next + 1LL * k * step) = offset;
    }
  });
}

/// Computes the input's gradient, which is 0.
template <class T>
void window_offsets_backward(host::bound_step<T> const& b, step_context const&) {
  if (!b.to.data || b.accumulate) return;
  for_each_channel(b.to, [&](int n, int c) {
    for (long long i = 0; i < b.to.shape.area(); ++i) b.to(n, c, i) = 0;
  });
}

template <class T>
inline constexpr loops<T> loops_for<T, op::window_offsets>{
    .forward = window_offsets_forward<T>, .backward = window_offsets_backward<T>, .parts = parts_of::samples};

}  // namespace dsl::plain::TYPENET_MODE
