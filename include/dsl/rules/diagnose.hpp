// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/graph/builder.hpp>
#include <dsl/rules/check_graph.hpp>

namespace dsl::detail {

/// Writes the place of a scope into a verdict in the same way as a builder does: as child indices, beginning at the
/// network.
constexpr void place_scope(graph_view const& g, int scope, verdict& why) {
  auto const up = [&](int s) { return g.scopes[s].parent < s ? g.scopes[s].parent : 0; };
  int depth = 0;
  for (int s = scope; s > 0 && s < g.size.scopes; s = up(s)) ++depth;
  why.depth = depth < deepest_layer ? depth : deepest_layer;
  for (int s = scope; depth > 0; s = up(s))
    if (--depth < deepest_layer) why.path[depth] = g.scopes[s].index;
}
/// Writes the place of the layer that appended a node.
constexpr void place(graph_view const& g, int node, verdict& why) { place_scope(g, g.nodes[node].scope, why); }

constexpr bool same_text(name const& a, name const& b) {
  bool same = a.size == b.size;
  for (int i = 0; same && i < a.size; ++i) same = a.data[i] == b.data[i];
  return same;
}

/// Whether a name begins like that of a validation metric: for an output "val", val_loss would have two meanings.
constexpr bool begins_with_val(name const& own) { return own.size >= 4 && same_text({own.data, 4}, {"val_", 4}); }

/// Returns the first broken rule of the network's further outputs; `out` is what its last layer returned.
constexpr verdict judge_outputs(graph_view const& g, value const& out) {
  verdict why;
  node const& last = g.nodes[g.size.nodes - 1];
  auto const breaks = [&](rule r, int scope) {
    why.broken = r;
    place_scope(g, scope, why);
    return why;
  };
  for (int n = 0; n < g.size.nodes; ++n) {
    node const& x = g.nodes[n];
    if (!is_further_output(g, n)) continue;
    // In both cases the last node is a further output, since each value is read or an output.
    if (out.tensor != last.output || n == g.size.nodes - 1)
      return breaks(rule::outputs_come_before_the_last_layer, last.further_output);
    detail::name const& own = g.scopes[x.further_output].name;
    bool const is_taken = same_text(own, {"main", 4}) || same_text(own, {"val", 3}) || begins_with_val(own);
    if (is_taken) return breaks(rule::output_names_are_not_reserved, x.further_output);
    for (int other = 0; other < n; ++other)
      if (is_further_output(g, other) && same_text(own, g.scopes[g.nodes[other].further_output].name))
        return breaks(rule::outputs_have_names_of_their_own, x.further_output);
    why.found = x.device, why.wanted = last.device;
    if (x.device != last.device) return breaks(rule::outputs_share_a_device, x.further_output);
  }
  return {};
}

/// Returns the first broken rule of a network. A builder has lowered the network into `g`, and `out` is the result of
/// its last layer. If a node is wrong, its error takes precedence over errors of later layers, which may be its
/// consequence.
constexpr verdict diagnose(builder const& b, graph_view const& g, value const& out) {
  graph_check check(g, b.is_intended());
  int const nodes = g.size.nodes < b.nodes_before_fault() ? g.size.nodes : b.nodes_before_fault();
  if (!check.holds(nodes)) {
    place(g, check.node, check.why);
    return check.why;
  }
  if (!b.first_fault().holds()) return b.first_fault();
  for (int t = 0; t < g.size.tensors; ++t)
    if (g.tensors[t].readers == 0 && t != out.tensor && !is_further_output(g, t)) {
      check.why.broken = rule::values_are_read;
      check.why.first = g.tensors[t].shape;
      check.why.kind = g.nodes[t].kind;
      place(g, t, check.why);
      return check.why;
    }
  if (verdict const why = judge_outputs(g, out); !why.holds()) return why;
  for (int d = 0; g.size.devices > 1 && d < g.size.devices; ++d) {
    bool used = false;
    for (int n = 1; n < g.size.nodes && !used; ++n) used = g.nodes[n].device == d;
    if (used) continue;
    // on<device<1>, ...> around the whole network leaves device 0 without layers
    check.why.broken = rule::devices_have_layers;
    check.why.wanted = g.size.devices;
    check.why.found = d;
    return check.why;
  }
  return {};
}

/// Replaces those nodes of a broken network for which no plan can be made by other nodes of the same shape. The error
/// has already been reported, and using constants of the network must not cause another one.
constexpr void make_harmless(node* nodes, int* edges, int count) {
  for (int i = 0; i < count; ++i) {
    node& n = nodes[i];
    n.device = 0;
    bool whole = (i > 0 || n.kind == op::input) && (n.kind != op::custom || is_complete(n.custom)) &&
                 takes_enough(facts_of(n), n.inputs) && owns_enough(facts_of(n), n.parameters);
    for (int k = n.first_input; k < n.first_input + n.inputs; ++k) {
      whole = whole && edges[k] >= 0 && edges[k] < i;
      if (edges[k] < 0 || edges[k] >= i) edges[k] = 0;
    }
    if (whole) continue;
    n.kind = i == 0 ? op::input : op::concat;
    n.inputs = i == 0 ? 0 : n.inputs;
    n.parameters = 0;
  }
}

}  // namespace dsl::detail
