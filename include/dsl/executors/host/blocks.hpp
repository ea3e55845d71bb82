// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/view.hpp>

namespace dsl::host::TYPENET_MODE {

constexpr int least(int a, int b) { return a < b ? a : b; }
constexpr int blocks_of(int channels, int lanes) { return (channels + lanes - 1) / lanes; }

/// Group `i` of `groups` into which `count` items are split as evenly as possible: [begin, end).
struct share {
  int begin;
  int end;
  constexpr share(int count, int i, int groups)
      : begin(static_cast<int>(1LL * count * i / groups)), end(static_cast<int>(1LL * count * (i + 1) / groups)) {}
};

/// Returns the values of sample n of a view, which must begin at a whole channel block.
template <class T>
T* sample_of(view<T> const& v, int n) {
  return v.data + (1LL * n * v.buffer_channels + v.channel) * v.shape.area();
}

/// Whether a view consists of whole channel blocks, or includes the rest of the buffer's last block. A flat view may
/// also have no blocks if its channels are whole vectors. True for an absent tensor.
template <class V>
bool in_blocks(V const& v, int lanes) {
  int const end = v.channel + blocks_of(v.shape.channels, lanes) * lanes;
  bool const whole = v.shape.channels % lanes == 0;
  if (!v.data) return true;
  if (v.block != lanes) return v.block == 1 && v.shape.area() == 1 && whole;
  return v.channel % lanes == 0 && (whole || end == v.buffer_channels);
}
/// Whether each sample's values are whole, consecutive vectors.
template <class V>
bool in_rows(V const& v, int lanes) {
  bool const blocks = v.block == lanes && v.channel % lanes == 0 && v.shape.channels % lanes == 0;
  return blocks || (v.block == 1 && v.shape.size() % lanes == 0);
}

/// Zeroes the channels of a buffer's last block that the view does not have.
template <class T>
[[gnu::cold]] void zero_rest_of_block(view<T> v) {
  for (int n = 0; n < v.batch; ++n)
    for (int c = v.shape.channels; v.channel + c < v.buffer_channels; ++c)
      for (long long i = 0; i < v.shape.area(); ++i) v(n, c, i) = 0;
}

}  // namespace dsl::host::TYPENET_MODE
