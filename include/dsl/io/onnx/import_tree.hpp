// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/io/onnx/import_network.hpp>

#include <string>
#include <vector>

namespace dsl::detail::TYPENET_MODE {

/// A type composed of layers, in the form in which the header of an imported network defines it.
struct onnx_tree {
  enum class word : unsigned char {
    layer,
    identity,
    sequential,
    numbered,
    named,
    named_input,
    named_output,
    residual,
    concat,
    add,
    multiply,
    channel_split,
    repeat,
    tap,
    from,
  };
  word what = word::sequential;
  int layer = -1;                     // of a layer or an input
  std::string name{};                 // of named words and taps
  int count = 1;                      // of repeat
  bool numbers = false;               // whether weights are named by the places of the children
  std::vector<onnx_tree> children{};  // branches are sequentials
};

/// Returns the layers as a tree of sequences and branches. The branches of a join begin at the last layer that all
/// paths to the join go through. Where branches share layers otherwise, the layers are in sequence, and taps skip over
/// the distance. Branches of a concat that share layers are grouped: concat(a, b(x), c(x)) becomes concat(a, concat(b,
/// c)(x)). If the graph is too large or does not depend on its input, throws an onnx_error that names the layer.
onnx_tree onnx_tree_of(onnx_network& net, std::string const& file);

/// Puts names around the layers, so that weights get the names of the file's paths. Also replaces equal neighbours by
/// repeat<...>.
void onnx_name_tree(onnx_network const& net, onnx_tree& tree);

}  // namespace dsl::detail::TYPENET_MODE

#ifdef TYPENET_DEFINITIONS
#include <dsl/io/onnx/import_tree_inl.hpp>
#endif
