// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/language.hpp>

namespace test {

/// A network on pictures, for worked values: on<3, 8, 8, dsl::relu>::output.
template <int Channels, int Height, int Width, class... Layers>
using on = dsl::network<dsl::image<Channels, Height, Width>, Layers...>;

/// Returns the verdict on a network as a value: lowers the layers as `network` does, without a compile error.
template <class Input, class... Layers>
constexpr dsl::verdict verdict_of() {
  dsl::builder b;
  dsl::sequential<Layers...>::lower(b, Input::lower(b));
  return b.first_fault();
}

constexpr bool same(dsl::detail::name n, char const* text) {
  int i = 0;
  for (; i < n.size; ++i)
    if (text[i] == '\0' || n.data[i] != text[i]) return false;
  return text[i] == '\0';
}

/// Whether node n was appended by the layer at this path, such as "network/2.inception_module/1.conv_module/0.conv2d".
constexpr bool stands_at(dsl::graph_view const& g, int n, char const* path) {
  int end = 0;
  while (path[end] != '\0') ++end;
  for (int s = g.nodes[n].scope; s >= 0; s = g.scopes[s].parent) {  // from the innermost layer outwards
    dsl::scope const& scope = g.scopes[s];
    int begin = end;
    while (begin > 0 && path[begin - 1] != '/') --begin;
    int at = begin;
    if (s != 0) {
      int index = 0;
      for (; path[at] >= '0' && path[at] <= '9'; ++at) index = 10 * index + (path[at] - '0');
      if (index != scope.index || path[at++] != '.') return false;
    }
    if (scope.name.size != end - at) return false;
    for (int i = 0; i < scope.name.size; ++i)
      if (scope.name.data[i] != path[at + i]) return false;
    end = begin > 0 ? begin - 1 : 0;
    if (s == 0) return begin == 0;
  }
  return false;
}

/// Returns the last node of a kind.
constexpr dsl::node last(dsl::graph_view const& g, dsl::op kind) {
  dsl::node found{};
  for (int i = 0; i < g.size.nodes; ++i)
    if (g.nodes[i].kind == kind) found = g.nodes[i];
  return found;
}
constexpr int count(dsl::graph_view const& g, dsl::op kind) {
  int found = 0;
  for (int i = 0; i < g.size.nodes; ++i) found += g.nodes[i].kind == kind;
  return found;
}

}  // namespace test
