// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/operations/operation.hpp>

namespace dsl::operations {

/// Returns the facts of an elementwise function. Its derivative is computed from the values `reads`.
constexpr row activation(char const* name, values reads, options used = options::none) {
  return {.name = name,
          .options = used,
          .reads = {reads},
          .forward_in_place = true,
          .gradient_in_place = true,
          .slices = slices::always};
}

/// The facts of each activation, indexed by function.
inline constexpr row activations[] = {
    activation("relu", values::output),
    activation("leaky_relu", values::output, options::slope),
    activation("elu", values::output, options::slope),
    activation("sigmoid", values::output),
    activation("tanh", values::output),
    activation("silu", values::first_input),
    activation("relu6", values::output),
    activation("hard_sigmoid", values::output),
    activation("hard_swish", values::first_input),
    activation("gelu", values::first_input),
    activation("gelu_tanh", values::first_input),
    activation("mish", values::first_input),
    activation("softplus", values::first_input),
    activation("hard_tanh", values::output),
};

}  // namespace dsl::operations
