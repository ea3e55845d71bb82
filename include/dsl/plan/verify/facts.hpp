// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/graph/facts.hpp>
#include <dsl/plan/plan.hpp>
#include <dsl/plan/verify/rules.hpp>

// The checker shares the facts of operations with the planner, but no code: here it derives independently the facts
// that it needs about the graph.
namespace dsl::detail::checking {

/// The requirements of the graph on every plan.
struct facts {
  list<int> readers;          // per tensor: number of edges that read it, plus one if it is an output
  list<int> reader;           // per tensor: a node that reads it, or -1
  list<bool> needs_gradient;  // per tensor: whether it is computed from a trainable parameter
  bool training = false;
  per_output<dsl::loss> loss = loss::categorical_crossentropy;

  constexpr facts(graph_view const& g, plan_options const& o)
      : readers(g.size.tensors),
        reader(g.size.tensors, -1),
        needs_gradient(g.size.tensors),
        training(o.mode == mode::training),
        loss(o.loss) {
    for (int n = 0; n < g.size.nodes; ++n) {
      node const& x = g.nodes[n];
      bool needed = false;
      for (int i = 0; i < x.parameters; ++i) needed = needed || g.parameters[x.first_parameter + i].trainable();
      for (int i = 0; i < x.inputs; ++i) {
        int const t = g.input(x, i);
        ++readers[t];
        reader[t] = n;
        needed = needed || needs_gradient[t];
      }
      needs_gradient[x.output] = needed && training;
    }
    for (int n = 0; n < g.size.nodes; ++n) readers[g.nodes[n].output] += gives_output(g, n) ? 1 : 0;
  }

  /// Whether a node computes an output of the network, for which there is a loss.
  static constexpr bool gives_output(graph_view const& g, int n) {
    return n + 1 == g.size.nodes || g.nodes[n].further_output > 0;
  }
  /// Returns the number of the output that node n gives: 0 for the result, then 1, 2, ... in the order of the graph.
  static constexpr int number_of_output(graph_view const& g, int n) {
    if (n + 1 == g.size.nodes) return 0;
    int number = 0;
    for (int i = 0; i <= n; ++i) number += g.nodes[i].further_output > 0 ? 1 : 0;
    return number;
  }
  /// Whether the loss replaces the backward step of an output's softmax or sigmoid. No other node may read the output
  /// then.
  constexpr bool loss_from_logits(graph_view const& g, int n) const {
    node const& x = g.nodes[n];
    if (!gives_output(g, n) || readers[x.output] != 1) return false;
    dsl::loss const own = loss[number_of_output(g, n)];
    return own == loss::categorical_crossentropy ? x.kind == op::softmax
           : own == loss::binary_crossentropy    ? x.kind == op::activation && x.function == function::sigmoid
                                                 : false;
  }
  /// Returns the tensor to whose gradient the loss of an output contributes.
  constexpr int loss_target(graph_view const& g, int n) const {
    return loss_from_logits(g, n) ? g.input(g.nodes[n]) : g.nodes[n].output;
  }

  constexpr bool only_reader(int tensor, int n) const { return readers[tensor] == 1 && reader[tensor] == n; }

  /// Whether a node is a convolution whose bias is cancelled by the batch's mean, because only a train-mode batch_norm
  /// reads its output. Such a bias is not added, its gradient stays zero, and the batch_norm adds it to the running
  /// mean.
  constexpr bool bias_is_cancelled(graph_view const& g, node const& x) const {
    return training && x.kind == op::conv2d && readers[x.output] == 1 && reader[x.output] >= 0 &&
           g.nodes[reader[x.output]].kind == op::batch_norm && !g.nodes[reader[x.output]].frozen;
  }
};

/// Whether the output of a node may be the same memory as its input, under another name.
constexpr bool only_renames(node const& x, bool training) {
  operations::renames const when = facts_of(x).renames;
  return when == operations::renames::without_blocks || (when == operations::renames::in_inference && !training);
}

/// The tensors of one micro-batch that share a buffer as one value, according to the plan's placements if the graph
/// allows these: an input of a concat may be a slice of its output, and the output of a renaming node may be its input.
/// Every tensor belongs to one root, which owns the buffer.
struct sharing {
  list<int> parent;    // per tensor: the concat output it is a slice of, or the tensor it renames; or -1
  list<int> root;      // per tensor: the tensor whose buffer it lives in
  list<int> original;  // per tensor: the tensor that it renames, directly or not, or itself
  list<bool> shared;   // per edge: whether reader and tensor share the buffer, so that nothing is copied

  constexpr sharing() = default;
  constexpr sharing(graph_view const& g, placement const* at, bool training)
      : parent(g.size.tensors, -1), root(g.size.tensors, -1), original(g.size.tensors, -1), shared(g.size.edges) {
    for (int n = 0; n < g.size.nodes; ++n) {
      node const& x = g.nodes[n];
      bool const renames = only_renames(x, training);
      if (x.kind != op::concat && !renames) continue;
      placement const& out = at[x.output];
      long long channel = out.channel;
      for (int i = 0; i < x.inputs && out.buffer >= 0; ++i) {
        int const t = g.input(x, i);
        int& above = parent[renames ? x.output : t];
        if (at[t].buffer == out.buffer && at[t].channel == channel && above < 0) {
          above = renames ? t : x.output;
          shared[x.first_input + i] = true;
        }
        channel += g.shape_of(t).channels;
      }
    }
    // A slice's parent is a later tensor and never renames; a renaming tensor's parent is an earlier one.
    for (int t = g.size.tensors - 1; t >= 0; --t) {
      original[t] = t;
      root[t] = parent[t] < 0 ? t : parent[t] > t ? root[parent[t]] : -1;
    }
    for (int t = 0; t < g.size.tensors; ++t)
      if (root[t] < 0) {
        root[t] = root[parent[t]];
        original[t] = original[parent[t]];
      }
  }
};

/// The requirements that the graph makes of a plan, and the tensors that share buffers in each micro-batch.
struct layout {
  facts graph;
  list<sharing> activations;
  list<sharing> gradients;

  /// Requires that the tables of the plan have an entry for everything in the graph.
  constexpr layout(graph_view const& g, plan const& p)
      : graph(g, p.options), activations(p.micro_batches), gradients(p.micro_batches) {
    for (int m = 0; m < p.micro_batches; ++m) {
      int const first = m * g.size.tensors;
      activations[m] = sharing(g, p.activations.begin() + first, graph.training);
      if (graph.training) gradients[m] = sharing(g, p.gradients.begin() + first, true);
    }
  }
};

}  // namespace dsl::detail::checking
