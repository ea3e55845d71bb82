// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/io/onnx/options.hpp>

#include <set>
#include <string>
#include <vector>

namespace dsl::detail::TYPENET_MODE {

/// What a file says of itself must be text for every reader.
[[gnu::cold]] void require_onnx_text(std::string const& text, char const* what);

/// Where a node is, as the compiler and summaries say it: "layer 1.0.0 (inception_module > conv_module > conv2d)".
[[gnu::cold]] std::string onnx_place(graph_view const& g, int scope);

/// Every name of a file, each of them once: weights as in other frameworks, operations by their place in the tree of
/// modules, as PyTorch's exporter has them: "/1/branches/0/0/Conv", which makes "/1/branches/0/0/Conv_output_0".
class onnx_names {
 public:
  /// Throws option_error for names of input, output and weights that are empty, there twice, or no text.
  [[gnu::cold]] onnx_names(graph_view const& g, onnx_options const& o);

  std::vector<std::string> weights;  // by parameter

  /// Of the next operation of this type in a scope.
  [[gnu::cold]] std::string operation(int scope, std::string const& type);
  [[gnu::cold]] std::string unused(std::string const& name);

 private:
  [[gnu::cold]] void take(std::string const& name, char const* what);

  torch_tree tree_;
  std::set<std::string> taken_;
};

}  // namespace dsl::detail::TYPENET_MODE

#ifndef TYPENET_COMPILED
#include <dsl/io/onnx/names_inl.hpp>
#endif
