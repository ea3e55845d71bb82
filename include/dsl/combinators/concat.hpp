// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/combinators/sequential.hpp>

namespace dsl {

namespace detail {

/// Lowers each branch, and concatenates the outputs of the branches. All branches read `in` or, with `splits`, each
/// reads its own equal part of the channels.
template <class... Branches>
constexpr value lower_branches(builder& b, value in, bool splits) {
  int const count = sizeof...(Branches);
  value out[sizeof...(Branches) + 1]{};
  shape joined{0, 1, 1};
  long long channels = 0;
  int i = 0;
  if constexpr (sizeof...(Branches) > 0)
    for (lowering const* branch : {&lowering_of<Branches>...}) {
      value from = in;
      if (splits) {
        int const each = in.shape.channels < count ? 1 : in.shape.channels / count;
        from = b.append({.kind = op::channel_slice, .first_channel = i * each}, in,
                        {each, in.shape.height, in.shape.width});
      }
      out[i] = (*branch)(b, from, i);
      shape const& first = out[0].shape;
      shape const& this_one = out[i].shape;
      b.require(first.height == this_one.height && first.width == this_one.width,
                {.broken = rule::branches_share_height_and_width, .first = first, .second = this_one, .found = i});
      channels += this_one.channels;
      b.require(channels <= 0x7fffffffLL, {.broken = rule::tensor_fits_32_bits, .first = first, .found = channels});
      joined = {channels <= 0x7fffffffLL ? static_cast<int>(channels) : 1, first.height, first.width};
      ++i;
    }
  return b.append({.kind = op::concat}, out, count, joined);
}

}  // namespace detail
/// Concatenates the channels of the outputs of several branches that read the same input. If one of typenet's own
/// kernels computes the output of a branch, as for every batch_norm and pool in training, it writes directly into the
/// result. If a library's convolution computes it, as in inference, the output is copied.
template <class... Branches>
struct concat {
  using children = types<Branches...>;

  static constexpr value lower(builder& b, value in) {
    int const count = sizeof...(Branches);
    b.require(count >= 2, {.broken = rule::concat_joins_two_or_more, .first = in.shape, .found = count});
    return detail::lower_branches<Branches...>(b, in, false);
  }
};
// concat<conv2d<32, 1>, conv2d<48, 3>> on 64x32x32 -> 80x32x32

}  // namespace dsl
