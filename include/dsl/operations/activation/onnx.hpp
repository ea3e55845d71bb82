// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/graph/node.hpp>
#include <dsl/operations/activation/facts.hpp>

#include <string>

namespace dsl::detail::TYPENET_MODE {

/// An operator, with its attributes or bounds, that computes an activation without an alpha.
struct onnx_recognised {
  char const* type;
  function is;
  double number, second;
};
inline constexpr onnx_recognised onnx_functions[] = {{"Relu", function::relu, 0, 0},
                                                     {"Sigmoid", function::sigmoid, 0, 0},
                                                     {"Tanh", function::tanh, 0, 0},
                                                     {"Swish", function::silu, 1, 0},
                                                     {"Clip", function::relu6, 0, 6},
                                                     {"HardSigmoid", function::hard_sigmoid, 1.0 / 6, 0.5},
                                                     {"HardSwish", function::hard_swish, 0, 0},
                                                     {"Gelu", function::gelu, 0, 0},
                                                     {"Gelu", function::gelu_tanh, 1, 0},
                                                     {"Mish", function::mish, 0, 0},
                                                     {"Softplus", function::softplus, 0, 0},
                                                     {"Clip", function::hard_tanh, -1, 1}};

/// Returns an activation as C++ source. `digits` writes a number.
template <class Digits>
std::string onnx_activation_text(node const& x, Digits const& digits) {
  std::string const name = operations::activations[static_cast<int>(x.function)].name;
  switch (x.function) {
    case function::leaky_relu: return name + "<" + digits(x.rate) + ">";
    case function::elu: return x.rate == 1 ? name + "<>" : name + "<" + digits(x.rate) + ">";
    case function::tanh: return "dsl::" + name;  // <cmath> has one, too
    default: return name;
  }
}

}  // namespace dsl::detail::TYPENET_MODE
