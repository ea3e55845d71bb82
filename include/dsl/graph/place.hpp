// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/graph/graph.hpp>

#include <cstddef>
#include <string>

namespace dsl::detail {

/// Returns the position of a layer as compiler errors and summaries give it: "layer 1.0.0 (inception_module >
/// conv_module > conv2d)".
inline std::string layer_place(graph_view const& g, int scope) {
  std::string path, types;
  for (int s = scope; s > 0; s = g.scopes[s].parent) {
    std::string type(g.scopes[s].name.data, static_cast<std::size_t>(g.scopes[s].name.size));
    path.insert(0, std::to_string(g.scopes[s].index) + (path.empty() ? "" : "."));
    types.insert(0, type.append(types.empty() ? "" : " > "));
  }
  return path.empty() ? "network" : "layer " + path + " (" + types + ")";
}

}  // namespace dsl::detail
