// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/graph/graph.hpp>
#include <dsl/rules/verdict.hpp>

namespace dsl {

/// What a layer receives and returns: a tensor of the graph and its shape.
struct value {
  int tensor = -1;
  dsl::shape shape{};
};

/// Appends nodes to a graph. A layer's lower() gets one, and so does a user's own. Without storage it only counts, so a
/// network is lowered twice: once for the sizes, once into arrays that fit exactly.
class builder {
 public:
  constexpr builder() = default;
  template <graph_sizes Sizes>
  constexpr explicit builder(graph<Sizes>& g)
      : nodes_(g.nodes), edges_(g.edges), tensors_(g.tensors), parameters_(g.parameters), scopes_(g.scopes) {}

  constexpr graph_sizes const& sizes() const { return sizes_; }
  constexpr verdict const& first_fault() const { return fault_; }

  /// Appends a node with one output of shape `out`; parameters added since the last node become its own.
  constexpr value append(node n, value const* inputs, int count, shape out) {
    n.first_input = sizes_.edges;
    n.inputs = count;
    n.output = sizes_.tensors;
    n.scope = scope_;
    n.first_parameter = first_parameter_;
    n.parameters = sizes_.parameters - first_parameter_;
    first_parameter_ = sizes_.parameters;
    if (nodes_) {
      nodes_[sizes_.nodes] = n;
      for (int i = 0; i < count; ++i) edges_[sizes_.edges + i] = inputs[i].tensor;
      tensors_[sizes_.tensors] = {out, sizes_.nodes};
    }
    sizes_.edges += count;
    ++sizes_.nodes;
    require(out.size() <= 0x7fffffffLL, {.broken = rule::tensor_fits_32_bits, .first = out, .found = out.size()});
    return {sizes_.tensors++, out};
  }
  constexpr value append(node n, value in, shape out) { return append(n, &in, 1, out); }

  /// Declares a parameter of the node appended next; its layout is that of struct parameter.
  constexpr void parameter(dsl::parameter p) {
    p.node = sizes_.nodes;
    long long count = 1;
    for (int d : p.dims) count = d > 0 && count > 0xffffffffffLL / d ? 0xffffffffffLL : count * d;
    require(count <= 0x7fffffffLL,
            {.broken = rule::parameter_fits_32_bits, .first = {p.dims[0], 1, 1}, .found = count});
    if (parameters_) parameters_[sizes_.parameters] = p;
    ++sizes_.parameters;
  }

  /// Records the first broken rule and where it was broken. Later ones are consequences and say nothing. The
  /// layer's lower() goes on with any shape it likes.
  constexpr bool require(bool holds, verdict why) {
    if (!holds && fault_.holds()) {
      why.depth = depth_ < deepest_layer ? depth_ : deepest_layer;
      for (int i = 0; i < why.depth; ++i) why.path[i] = path_[i];
      fault_ = why;
    }
    return holds;
  }

  /// Brackets the lowering of a combinator's child, so that errors and weight names can say where they are:
  ///   int const parent = b.enter(i, detail::name_of<Child>()); ...; b.leave(parent);
  constexpr int enter(int index, detail::name name) {
    if (scopes_) scopes_[sizes_.scopes] = {scope_, index, name};
    if (depth_ < deepest_layer) path_[depth_] = index;
    ++depth_;
    int const parent = scope_;
    scope_ = sizes_.scopes++;
    return parent;
  }
  constexpr void leave(int parent) {
    scope_ = parent;
    --depth_;
  }

 private:
  node* nodes_ = nullptr;
  int* edges_ = nullptr;
  tensor* tensors_ = nullptr;
  dsl::parameter* parameters_ = nullptr;
  scope* scopes_ = nullptr;
  graph_sizes sizes_{.scopes = 1};
  verdict fault_{};
  int first_parameter_ = 0;
  int scope_ = 0;
  int depth_ = 0;
  int path_[deepest_layer] = {};
};

}  // namespace dsl
