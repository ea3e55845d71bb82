// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/view.hpp>

namespace dsl::plain::TYPENET_MODE {

template <class T>
view<T const> read_only(view<T> const& v) {
  return {v.data, v.shape, v.batch, v.block, v.buffer_channels, v.channel};
}

/// Calls f(n, c) for every channel of every sample.
template <class T, class F>
void for_each_channel(view<T> const& v, F f) {
  for (int n = 0; n < v.batch; ++n)
    for (int c = 0; c < v.shape.channels; ++c) f(n, c);
}

template <class T>
void add_to(T& to, T value, bool accumulate) {
  to = accumulate ? to + value : value;
}

/// Computes to = x, or to += x. `to` may be x.
template <class T>
void copy(view<T const> const& x, view<T> const& to, bool accumulate) {
  for_each_channel(to, [&](int n, int c) {
    auto const from = x.pixels(n, c);
    auto const out = to.pixels(n, c);
    for (long long i = 0; i < to.shape.area(); ++i) add_to(out[i], from[i], accumulate);
  });
}

}  // namespace dsl::plain::TYPENET_MODE
