// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/view.hpp>

namespace dsl::host::TYPENET_MODE {

constexpr int least(int a, int b) { return a < b ? a : b; }
constexpr int blocks_of(int channels, int lanes) { return (channels + lanes - 1) / lanes; }

/// Returns the channel that a channel_shuffle copies to `channel`: shuffled_from(1, 2, 6) -> 3. With channels / groups
/// instead of groups, it returns the channel that `channel` is copied to.
constexpr int shuffled_from(int channel, int groups, int channels) {
  return channel % groups * (channels / groups) + channel / groups;
}

/// The items [begin, end) of group `i`, if `count` items are split into `groups` groups as evenly as possible.
struct share {
  int begin;
  int end;
  constexpr share(int count, int i, int groups)
      : begin(static_cast<int>(1LL * count * i / groups)), end(static_cast<int>(1LL * count * (i + 1) / groups)) {}
};

/// Returns the address of the values of sample n of a view. The view must begin at a whole channel block.
template <class T>
T* sample_of(view<T> const& v, int n) {
  return v.data + (1LL * n * v.buffer_channels + v.channel) * v.shape.area();
}

/// Whether a view consists of whole channel blocks. Also true if the view has all channels of a last block that is not
/// full, if it is flat and its channels are whole vectors even without blocks, and if the tensor does not exist.
template <class V>
bool in_blocks(V const& v, int lanes) {
  int const end = v.channel + blocks_of(v.shape.channels, lanes) * lanes;
  bool const whole = v.shape.channels % lanes == 0;
  if (!v.data) return true;
  if (v.block != lanes) return v.block == 1 && v.shape.area() == 1 && whole;
  return v.channel % lanes == 0 && (whole || end == v.buffer_channels);
}
/// Whether the values of each sample are consecutive and consist of whole vectors.
template <class V>
bool in_rows(V const& v, int lanes) {
  bool const blocks = v.block == lanes && v.channel % lanes == 0 && v.shape.channels % lanes == 0;
  return blocks || (v.block == 1 && v.shape.size() % lanes == 0);
}

/// Zeroes those channels in a buffer's last block that do not belong to the view.
template <class T>
void zero_rest_of_block(view<T> v) {
  for (int n = 0; n < v.batch; ++n)
    for (int c = v.shape.channels; v.channel + c < v.buffer_channels; ++c)
      for (long long i = 0; i < v.shape.area(); ++i) v(n, c, i) = 0;
}

}  // namespace dsl::host::TYPENET_MODE
