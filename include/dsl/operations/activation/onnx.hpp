// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/graph/node.hpp>
#include <dsl/io/onnx/import_constant.hpp>
#include <dsl/io/onnx/import_network.hpp>
#include <dsl/io/onnx/operation.hpp>
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

template <>
struct onnx_row<op::activation> {
  template <class Writer>
  static void write(Writer& w) {
    std::string const x = w.as_it_is();
    int const rank = w.operand().rank;
    switch (w.node_->function) {
      case function::relu: w.append("Relu", {x}, rank); return;
      case function::leaky_relu: w.set("alpha", w.node_->rate, w.append("LeakyRelu", {x}, rank)); return;
      case function::elu: w.set("alpha", w.node_->rate, w.append("Elu", {x}, rank)); return;
      case function::sigmoid: w.append("Sigmoid", {x}, rank); return;
      case function::tanh: w.append("Tanh", {x}, rank); return;
      case function::silu: {  // there is no such operator before opset 24
        std::string const s = w.append("Sigmoid", {x}, rank).output(0);
        w.append("Mul", {x, s}, rank);
        return;
      }
      case function::relu6: w.append("Clip", {x, w.zero_and_six(), w.six_}, rank); return;
      case function::hard_sigmoid: {
        auto& n = w.append("HardSigmoid", {x}, rank);
        w.set("alpha", 1.0 / 6, n);
        w.set("beta", 0.5, n);
        return;
      }
      case function::hard_swish: w.append("HardSwish", {x}, rank); return;
      case function::gelu: {  // there is no such operator before opset 20
        std::string const scaled = w.multiplied(x, "root_of_half", 0.70710678F, rank);
        std::string const share = w.append("Erf", {scaled}, rank).output(0);
        std::string const sum = w.append("Add", {share, w.number("one", 1.0F)}, rank).output(0);
        w.multiplied(w.append("Mul", {x, sum}, rank).output(0), "half", 0.5F, rank);
        return;
      }
      case function::gelu_tanh: {
        std::string const square = w.append("Mul", {x, x}, rank).output(0);
        std::string const cubic = w.multiplied(square, "cubic", 0.07135482F, rank);
        std::string const factor = w.append("Add", {cubic, w.number("linear", 1.5957691F)}, rank).output(0);
        std::string const share = w.append("Sigmoid", {w.append("Mul", {x, factor}, rank).output(0)}, rank).output(0);
        w.append("Mul", {x, share}, rank);
        return;
      }
      case function::mish: {  // there is no such operator before opset 18
        std::string const ramp = w.append("Softplus", {x}, rank).output(0);
        w.append("Mul", {x, w.append("Tanh", {ramp}, rank).output(0)}, rank);
        return;
      }
      case function::softplus: w.append("Softplus", {x}, rank); return;
      case function::hard_tanh: {
        std::string const least = w.number("least", -1.0F), most = w.number("most", 1.0F);
        w.append("Clip", {x, least, most}, rank);
        return;
      }
    }
  }

  template <class Network>
  static std::string text(Network const&, onnx_layer const& l) {
    node const& x = l.what;
    std::string name = operations::activations[static_cast<int>(x.function)].name;
    switch (x.function) {
      case function::leaky_relu: return name + "<" + onnx_number_text(x.rate) + ">";
      case function::elu: return x.rate == 1 ? name + "<>" : name + "<" + onnx_number_text(x.rate) + ">";
      case function::tanh: return name.insert(0, "dsl::");  // <cmath> has one, too
      default: return name;
    }
  }
};

}  // namespace dsl::detail::TYPENET_MODE
