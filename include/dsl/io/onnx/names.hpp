// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/utf8.hpp>
#include <dsl/io/onnx/options.hpp>
#include <dsl/io/weight_text.hpp>

#include <set>
#include <string>
#include <vector>

namespace dsl::detail {

/// What a file says of itself must be text for every reader.
[[gnu::cold]] inline void require_onnx_text(std::string const& text, char const* what) {
  if (!is_utf8(text)) throw option_error(std::string("onnx: ") + what + " must be UTF-8; found other bytes");
}

/// Where a node is, as the compiler and summaries say it: "layer 1.0.0 (inception_module > conv_module > conv2d)".
[[gnu::cold]] inline std::string onnx_place(graph_view const& g, int scope) {
  std::string path, types;
  for (int s = scope; s > 0; s = g.scopes[s].parent) {
    std::string type(g.scopes[s].name.data, static_cast<std::size_t>(g.scopes[s].name.size));
    path.insert(0, std::to_string(g.scopes[s].index) + (path.empty() ? "" : "."));
    types.insert(0, type.append(types.empty() ? "" : " > "));
  }
  return path.empty() ? "network" : "layer " + path + " (" + types + ")";
}

/// Every name of a file, each of them once: weights as in other frameworks, operations by their place in the tree of
/// modules, as PyTorch's exporter has them: "/1/branches/0/0/Conv", which makes "/1/branches/0/0/Conv_output_0".
class onnx_names {
 public:
  /// Throws option_error for names of input, output and weights that are empty, there twice, or no text.
  [[gnu::cold]] onnx_names(graph_view const& g, onnx_options const& o)
      : weights(weight_names(g, {o.convention, o.prefix, o.branches})), tree_(g, o.branches) {
    take(o.input, "input");
    take(o.output, "output");
    for (std::string const& name : weights) take(name, "weight");
  }

  std::vector<std::string> weights;  // by parameter

  /// Of the next operation of this type in a scope.
  [[gnu::cold]] std::string operation(int scope, std::string const& type) {
    std::string path = "/" + tree_.path(scope);
    for (char& c : path)
      if (c == '.') c = '/';
    return unused(path + type);
  }
  [[gnu::cold]] std::string unused(std::string const& name) {
    std::string found = name;
    for (int i = 1; !taken_.insert(found).second; ++i) found = name + "_" + std::to_string(i);
    return found;
  }

 private:
  [[gnu::cold]] void take(std::string const& name, char const* what) {
    require_onnx_text(name, "every name");
    if (name.empty() || !taken_.insert(name).second)
      throw option_error(std::string("onnx: each ") + what + " must have a name of its own; found " +
                         (name.empty() ? "an empty one" : "two " + shown(name)) +
                         "; choose others for .input, .output or .prefix");
  }

  torch_tree tree_;
  std::set<std::string> taken_;
};

}  // namespace dsl::detail
