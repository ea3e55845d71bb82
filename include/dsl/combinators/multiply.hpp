// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/combinators/sequential.hpp>

namespace dsl {

/// Multiplies the outputs of two branches that read the same input, element by element. If one output has a single
/// channel, or a single pixel, and the other has more, the smaller one is broadcast. multiply<identity,
/// sequential<global_avg_pool2d, ..., sigmoid>> is a squeeze-and-excitation block (Hu et al. 2018).
template <class... Branches>
struct multiply {
  using children = types<Branches...>;

  static constexpr value lower(builder& b, value in) {
    int const count = sizeof...(Branches);
    b.require(count == 2, {.broken = rule::multiply_joins_two, .first = in.shape, .found = count});
    value out[sizeof...(Branches) + 2]{in, in};
    int i = 0;
    if constexpr (sizeof...(Branches) > 0)
      for (detail::lowering const* branch : {&detail::lowering_of<Branches>...}) {
        out[i] = (*branch)(b, in, i);
        ++i;
      }
    shape const &first = out[0].shape, &second = out[1].shape;
    b.require(broadcasts(first, second), {.broken = rule::branches_broadcast, .first = first, .second = second});
    return b.append({.kind = op::multiply}, out, count, broadcast(first, second));
  }
};
// multiply<identity, global_avg_pool2d> on 64x8x8 -> 64x8x8

}  // namespace dsl
