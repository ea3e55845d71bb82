// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/io/onnx/writer.hpp>
#include <dsl/operations/activation/onnx.hpp>

#include <string>

namespace dsl::detail::TYPENET_MODE {

TYPENET_INLINE void onnx_writer::write_activation() {
  std::string const x = as_it_is();
  int const rank = operand().rank;
  switch (node_->function) {
    case function::relu: append("Relu", {x}, rank); return;
    case function::leaky_relu: set("alpha", node_->rate, append("LeakyRelu", {x}, rank)); return;
    case function::elu: set("alpha", node_->rate, append("Elu", {x}, rank)); return;
    case function::sigmoid: append("Sigmoid", {x}, rank); return;
    case function::tanh: append("Tanh", {x}, rank); return;
    case function::silu: {  // there is no such operator before opset 24
      std::string const s = append("Sigmoid", {x}, rank).output(0);
      append("Mul", {x, s}, rank);
      return;
    }
    case function::relu6: append("Clip", {x, zero_and_six(), six_}, rank); return;
    case function::hard_sigmoid: {
      onnx_messages::NodeProto& n = append("HardSigmoid", {x}, rank);
      set("alpha", 1.0 / 6, n);
      set("beta", 0.5, n);
      return;
    }
    case function::hard_swish: append("HardSwish", {x}, rank); return;
    case function::gelu: {  // there is no such operator before opset 20
      std::string const scaled = multiplied(x, "root_of_half", 0.70710678F, rank);
      std::string const share = append("Erf", {scaled}, rank).output(0);
      std::string const sum = append("Add", {share, number("one", 1.0F)}, rank).output(0);
      multiplied(append("Mul", {x, sum}, rank).output(0), "half", 0.5F, rank);
      return;
    }
    case function::gelu_tanh: {
      std::string const square = append("Mul", {x, x}, rank).output(0);
      std::string const cubic = multiplied(square, "cubic", 0.07135482F, rank);
      std::string const factor = append("Add", {cubic, number("linear", 1.5957691F)}, rank).output(0);
      std::string const share = append("Sigmoid", {append("Mul", {x, factor}, rank).output(0)}, rank).output(0);
      append("Mul", {x, share}, rank);
      return;
    }
    case function::mish: {  // there is no such operator before opset 18
      std::string const ramp = append("Softplus", {x}, rank).output(0);
      append("Mul", {x, append("Tanh", {ramp}, rank).output(0)}, rank);
      return;
    }
    case function::softplus: append("Softplus", {x}, rank); return;
    case function::hard_tanh: {
      std::string const least = number("least", -1.0F), most = number("most", 1.0F);
      append("Clip", {x, least, most}, rank);
      return;
    }
  }
}

}  // namespace dsl::detail::TYPENET_MODE
