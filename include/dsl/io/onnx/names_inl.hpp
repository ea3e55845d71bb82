// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/detail/utf8.hpp>
#include <dsl/io/onnx/names.hpp>
#include <dsl/io/onnx/options.hpp>
#include <dsl/io/weight_text.hpp>

#include <string>

namespace dsl::detail::TYPENET_MODE {

TYPENET_INLINE void require_onnx_text(std::string const& text, std::string const& what) {
  if (!is_utf8(text)) throw option_error("onnx: " + what + " must be UTF-8; found other bytes; convert it to UTF-8");
}

TYPENET_INLINE onnx_names::onnx_names(graph_view const& g, onnx_options const& o)
    : weights(weight_names(g, {o.convention, o.prefix, o.branches})), tree_(g, o.branches) {
  take(o.input, "input");
  take(o.output, "output");
  for (std::string const& name : weights)
    if (!name.empty()) take(name, "weight");
  for (int n = 1; n < g.size.nodes; ++n)
    if (is_further_input(g, n)) {
      name const& own = g.scopes[g.nodes[n].scope].name;
      take({own.data, static_cast<std::size_t>(own.size)}, "named_input");
    }
  for (int k = 1; k < output_count(g); ++k) {
    name const& own = g.scopes[g.nodes[output_node(g, k)].further_output].name;
    take({own.data, static_cast<std::size_t>(own.size)}, "named_output");
  }
  for (int k = 0; k < g.size.parameters; ++k)  // constants, which are no weights elsewhere
    if (std::string& name = weights[static_cast<std::size_t>(k)]; name.empty())
      name = unused(o.prefix + tree_.path(g.nodes[g.parameters[k].node].scope) + "weight");
}

TYPENET_INLINE std::string onnx_names::operation(int scope, std::string const& type) {
  std::string path = "/" + tree_.path(scope);
  for (char& c : path)
    if (c == '.') c = '/';
  return unused(path + type);
}

TYPENET_INLINE std::string onnx_names::unused(std::string const& name) {
  std::string found = name;
  for (int i = 1; !taken_.insert(found).second; ++i) found = name + "_" + std::to_string(i);
  return found;
}

TYPENET_INLINE void onnx_names::take(std::string const& name, char const* what) {
  require_onnx_text(name, "every name");
  if (name.empty() || !taken_.insert(name).second)
    throw option_error(std::string("onnx: each ") + what + " must have a unique name; found " +
                       (name.empty() ? "an empty one" : "two " + shown(name)) +
                       "; choose others for .input, .output or .prefix");
}

}  // namespace dsl::detail::TYPENET_MODE
