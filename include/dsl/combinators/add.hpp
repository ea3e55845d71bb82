// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/combinators/sequential.hpp>

namespace dsl {

/// Adds the outputs of several branches that read the same input. A residual block is add<identity, ...>.
template <class... Branches>
struct add {
  using children = types<Branches...>;

  static constexpr value lower(builder& b, value in) {
    int const count = sizeof...(Branches);
    b.require(count >= 2, {.broken = rule::add_joins_two_or_more, .first = in.shape, .found = count});
    value out[sizeof...(Branches) + 1]{in};
    int i = 0;
    if constexpr (sizeof...(Branches) > 0)
      for (detail::lowering const* branch : {&detail::lowering_of<Branches>...}) {
        out[i] = (*branch)(b, in, i);
        shape const& first = out[0].shape;
        shape const& this_one = out[i].shape;
        b.require(first == this_one,
                  {.broken = rule::branches_share_their_shape, .first = first, .second = this_one, .found = i});
        ++i;
      }
    return b.append({.kind = op::add}, out, count, out[0].shape);
  }
};
// add<identity, conv2d<64, 3>> on 64x8x8 -> 64x8x8

}  // namespace dsl
