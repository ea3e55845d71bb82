// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/graph/node.hpp>
#include <dsl/view.hpp>

namespace dsl::detail {

/// Returns the word of the language for what a node does: "conv2d", "tanh"; of a custom operation its own name.
constexpr char const* word_of(node const& n) {
  constexpr char const* functions[] = {"relu", "leaky_relu", "elu", "sigmoid", "tanh", "silu"};
  switch (n.kind) {
    case op::input: return "input";
    case op::conv2d: return "conv2d";
    case op::batch_norm: return "batch_norm";
    case op::activation: return functions[static_cast<int>(n.function)];
    case op::max_pool2d: return "max_pool2d";
    case op::avg_pool2d: return "avg_pool2d";
    case op::dropout: return "dropout";
    case op::flatten: return "flatten";
    case op::dense: return "dense";
    case op::softmax: return "softmax";
    case op::concat: return "concat";
    case op::add: return "add";
    case op::custom: return n.custom ? n.custom->name : "custom";
    case op::transfer: return "transfer";
  }
  return "?";
}

}  // namespace dsl::detail
