// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/combinators/named.hpp>
#include <dsl/layers/image.hpp>

namespace dsl {

/// A further input of each sample, besides the network's first one, by its name in the data set. It begins a branch,
/// which then does not read the input of the other branches:
///   concat<sequential<conv_module<32, 3, 3>, global_avg_pool2d>,
///          sequential<named_input<"weather", features<5>>, dense<16>, relu>>
template <label Name, class Input>
struct named_input {
  static_assert(network_input<Input>, "named_input: it takes a name and image<...> or features<...>");

  static constexpr value lower(builder& b, value) {
    b.name_layer({own.text, own.size});
    return Input::lower(b);
  }

 private:
  static constexpr auto own = Name;
};

}  // namespace dsl
