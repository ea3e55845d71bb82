// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/host/step_task.hpp>
#include <dsl/executors/host/token_steps.hpp>

namespace dsl::host::TYPENET_MODE {

/// Swaps channels and pixels. The pixels and channels of a tile, which has as many of both as a vector has lanes, are
/// consecutive in both tensors.
template <class Place>
void transpose_blocks(token_steps<Place> const& t, view<float const> const& from) {
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
  template <operation_set, class Place>
  static task make(Place& at, bound_step<float> const& s) {
    token_steps<Place> const made(at, s);
    auto const blocked = [&made](auto const& v) {
      return !v.data || (v.block == made.lanes && in_blocks(v, made.lanes));
    };
    if (!blocked(s.x) || !blocked(s.dy) || !blocked(s.to)) return {};
    return [made, &from = s.step->what == action::forward ? s.x : s.dy] { transpose_blocks(made, from); };
  }
};

}  // namespace dsl::host::TYPENET_MODE
