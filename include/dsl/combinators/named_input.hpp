// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/combinators/named.hpp>
#include <dsl/layers/image.hpp>

namespace dsl {

/// A further input of each sample, in addition to the network's first input. Its name is the one in the data set.
/// named_input begins a branch; this branch then does not read the same input as the other branches:
///   concat<sequential<conv_module<32, 3, 3>, global_avg_pool2d>,
///          sequential<named_input<"weather", features<5>>, dense<16>, relu>>
template <label Name, class Input>
struct named_input {
  static_assert(
      network_input<Input>,
      "named_input: it takes a name and image<...> or features<...>; write named_input<\"age\", features<1>>");

  static constexpr value lower(builder& b, value) {
    b.name_layer(detail::name{own.text, own.size});
    return Input::lower(b);
  }

 private:
  static constexpr auto own = Name;
};

}  // namespace dsl
