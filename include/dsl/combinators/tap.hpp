// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/combinators/named.hpp>

namespace dsl {

/// Gives its input a name, by which a later from<"name"> reads it, and passes the input on. It computes nothing:
///   sequential<conv_module<32, 3, 3>, tap<"fine">, max_pool2d<2>, conv_module<64, 3, 3>, upsample2d<2>,
///              concat<identity, from<"fine">>>
/// A tap runs before all layers that follow it, and before the branches after its own. A block with taps may occur
/// several times, as in repeat<...>: each from<...> reads the last tap of its name that runs before it. If nothing has
/// read a tap, its name may not be used again.
template <label Name>
struct tap {
  static constexpr value lower(builder& b, value in) {
    b.tap(detail::name{own.text, own.size}, in);
    return in;
  }

 private:
  static constexpr auto own = Name;
};

/// Reads the value that tap<"name"> has named, instead of its input. Put it where a branch begins, or in place of a
/// branch. The gradient of the named value is the sum of the gradients from all layers that read it.
template <label Name>
struct from {
  static constexpr value lower(builder& b, value in) { return b.tapped(detail::name{own.text, own.size}, in); }

 private:
  static constexpr auto own = Name;
};
// sequential<tap<"x">, conv2d<8, 3>, add<identity, from<"x">>> on 8x4x4 -> 8x4x4

namespace detail {

template <label Name>
inline constexpr bool is_mark<dsl::tap<Name>> = true;
template <label Name>
inline constexpr bool is_mark<dsl::from<Name>> = true;

}  // namespace detail

}  // namespace dsl
