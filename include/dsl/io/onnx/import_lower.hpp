// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/graph/builder.hpp>
#include <dsl/io/onnx/import_network.hpp>
#include <dsl/io/onnx/import_tree.hpp>

#include <vector>

namespace dsl::detail::TYPENET_MODE {

/// The graph of the type that a tree describes. It is made at run time by the same code that makes it at compile time.
struct onnx_graph {
  std::vector<node> nodes{};
  std::vector<int> edges{};
  std::vector<tensor> tensors{};
  std::vector<parameter> parameters{};
  std::vector<scope> scopes{};
  std::vector<int> layers{};  // of the network, in the order of their nodes
  graph_sizes sizes{};
  verdict why{};
  bool is_intended = false;  // whether the network needs intended<...>

  graph_view view() const {
    return {nodes.data(), edges.data(), tensors.data(), parameters.data(), scopes.data(), sizes};
  }
};

/// Makes the graph of a tree. The names in the tree must outlive the graph. If the tree breaks a rule, `why` names the
/// rule.
onnx_graph onnx_lower(onnx_network const& net, onnx_tree const& tree);

}  // namespace dsl::detail::TYPENET_MODE

#ifdef TYPENET_DEFINITIONS
#include <dsl/io/onnx/import_lower_inl.hpp>
#endif
