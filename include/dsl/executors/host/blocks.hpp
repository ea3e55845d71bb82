// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/view.hpp>

namespace dsl::host::TYPENET_MODE {

constexpr int least(int a, int b) { return a < b ? a : b; }
constexpr int blocks_of(int channels, int lanes) { return (channels + lanes - 1) / lanes; }

/// Group `i` of `groups` into which `count` things are shared out as evenly as goes: [begin, end).
struct share {
  int begin;
  int end;
  constexpr share(int count, int i, int groups)
      : begin(static_cast<int>(1LL * count * i / groups)), end(static_cast<int>(1LL * count * (i + 1) / groups)) {}
};

/// The numbers of sample n that a view is of. With channel blocks it begins at a whole one.
template <class T>
T* sample_of(view<T> const& v, int n) {
  return v.data + (1LL * n * v.buffer_channels + v.channel) * v.shape.area();
}

/// Whether a view is of whole channel blocks, or fills the last one's rest up itself; a flat one, whose pixels are
/// single, may have no blocks. A tensor that isn't there is no obstacle.
template <class V>
bool in_blocks(V const& v, int lanes) {
  int const end = v.channel + blocks_of(v.shape.channels, lanes) * lanes;
  bool const whole = v.shape.channels % lanes == 0;
  if (!v.data) return true;
  if (v.block != lanes) return v.block == 1 && v.shape.area() == 1 && whole;
  return v.channel % lanes == 0 && (whole || end == v.buffer_channels);
}
/// Whether each sample's numbers are whole vectors that follow each other.
template <class V>
bool in_rows(V const& v, int lanes) {
  bool const blocks = v.block == lanes && v.channel % lanes == 0 && v.shape.channels % lanes == 0;
  return blocks || (v.block == 1 && v.shape.size() % lanes == 0);
}

}  // namespace dsl::host::TYPENET_MODE
