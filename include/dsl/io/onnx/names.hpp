// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/io/onnx/options.hpp>

#include <set>
#include <string>
#include <vector>

namespace dsl::detail::TYPENET_MODE {

/// Throws option_error if a text for the file is not UTF-8. `what` names the text in the message.
void require_onnx_text(std::string const& text, std::string const& what);

/// The names in an ONNX file, which are all different. Weights have the names that other frameworks give them.
/// Operations are named by their place in the tree of modules, as in files of PyTorch's exporter:
/// "/1/branches/0/0/Conv", with the output "/1/branches/0/0/Conv_output_0".
class onnx_names {
 public:
  /// Throws option_error if a name of an input, output or weight is empty, not unique, or not UTF-8.
  onnx_names(graph_view const& g, onnx_options const& o);

  std::vector<std::string> weights;  // per parameter

  /// Returns the name for the next operation of this type in a scope.
  std::string operation(int scope, std::string const& type);
  std::string unused(std::string const& name);

 private:
  void take(std::string const& name, char const* what);

  torch_tree tree_;
  std::set<std::string> taken_;
};

}  // namespace dsl::detail::TYPENET_MODE

#ifdef TYPENET_DEFINITIONS
#include <dsl/io/onnx/names_inl.hpp>
#endif
