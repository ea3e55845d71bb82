// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/host/vector_tasks.hpp>

namespace dsl::host::TYPENET_MODE {

/// Calls f(sample, first pixel, pixels) for parts of all samples, on all threads.
template <class Device, class F>
void for_each_part(Device& at, int batch, long long area, F const& f) {
  constexpr int most_pixels = 64;
  int const pieces = static_cast<int>((area + most_pixels - 1) / most_pixels);
  at.run(batch * pieces, [&](int i) {
    long long const first = 1LL * i % pieces * most_pixels;
    f(i / pieces, first, area - first < most_pixels ? area - first : most_pixels);
  });
}

/// Whether all tensors of a step consist of whole channel blocks, with more than one pixel.
inline bool is_blocked(bound_step<float> const& s, int lanes) {
  auto const blocked = [lanes](auto const& v) { return !v.data || (v.block == lanes && in_blocks(v, lanes)); };
  return blocked(s.x) && blocked(s.dy) && blocked(s.to);
}

/// Writes to = a * b for one channel block of one sample, or adds it; `b` is one vector for all pixels.
template <class Device>
void multiply_block(Device& at, view<float const> const& a, view<float> const& to, int n, int block, float const* b,
                    bool accumulate) {
  long long const offset = block * at.lanes() * to.shape.area();
  at.vectors().multiply({.a = sample_of(a, n) + offset,
                         .b = b,
                         .to = sample_of(to, n) + offset,
                         .count = to.shape.area(),
                         .accumulate = accumulate});
}

}  // namespace dsl::host::TYPENET_MODE
