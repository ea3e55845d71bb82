// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/host/elementwise.hpp>
#include <dsl/executors/host/operation.hpp>
#include <dsl/executors/host/token_steps.hpp>

namespace dsl::plain::TYPENET_MODE {

template <class T>
void transpose_tokens_forward(host::bound_step<T> const& b, step_context const&) {
  for_each_channel(b.to, [&](int n, int c) {
    for (int p = 0; p < b.to.shape.width; ++p) b.to(n, c, p) = b.x(n, p, c);
  });
}

template <class T>
void transpose_tokens_backward(host::bound_step<T> const& b, step_context const&) {
  if (!b.to.data) return;
  for_each_channel(b.to, [&](int n, int c) {
    for (int p = 0; p < b.to.shape.area(); ++p) add_to(b.to(n, c, p), b.dy(n, p, c), b.accumulate);
  });
}

template <class T>
inline constexpr loops<T> loops_for<T, op::transpose_tokens>{
    .forward = transpose_tokens_forward<T>, .backward = transpose_tokens_backward<T>, .parts = parts_of::samples};

}  // namespace dsl::plain::TYPENET_MODE

namespace dsl::host::TYPENET_MODE {

/// Swaps channels and pixels. The pixels and channels of a tile, which has as many of both as a vector has lanes, are
/// consecutive in both tensors.
template <class Device>
void transpose_blocks(token_steps<Device> const& t, view<float const> const& from) {
  view<float> const& to = t.step->to;
  if (!to.data) return;
  bool const accumulate = t.step->accumulate;
  int const blocks = blocks_of(to.shape.channels, t.lanes);
  t.at->run(to.batch * blocks, [&](int i) {
    int const n = i / blocks, block = i % blocks, first = block * t.lanes;
    int const used = least(t.lanes, to.shape.channels - first);
    float* y = t.numbers(to, n, block);
    for (int c = 0; c < from.shape.channels; ++c, y += t.lanes) {
      float const* const x = t.numbers(from, n, c / t.lanes) + 1LL * first * t.lanes + c % t.lanes;
      for (int l = 0; l < used; ++l) y[l] = accumulate ? y[l] + x[1LL * l * t.lanes] : x[1LL * l * t.lanes];
      for (int l = used; l < t.lanes; ++l) y[l] = 0;
    }
  });
}

template <>
struct step_task<op::transpose_tokens> {
  /// Both tensors must be in channel blocks, of which the last one need not be full.
  template <operation_set, class Device>
  static task make(Device& at, bound_step<float> const& s) {
    token_steps<Device> const made(at, s);
    auto const blocked = [&made](auto const& v) {
      return !v.data || (v.block == made.lanes && in_blocks(v, made.lanes));
    };
    if (!blocked(s.x) || !blocked(s.dy) || !blocked(s.to)) return {};
    return [made, &from = s.step->what == action::forward ? s.x : s.dy] { transpose_blocks(made, from); };
  }
};

}  // namespace dsl::host::TYPENET_MODE
