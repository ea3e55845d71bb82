// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/graph/facts.hpp>
#include <dsl/plan/plan.hpp>
#include <dsl/plan/verify/rules.hpp>

// The checker shares the facts of operations with the planner, and no code: what it has to know of the graph it finds
// out again, here.
namespace dsl::detail::checking {

/// What the graph asks of every plan.
struct facts {
  list<int> readers;          // per tensor: edges that read it, and one more for the network's result
  list<int> reader;           // per tensor: a node that reads it, or -1
  list<bool> needs_gradient;  // per tensor: a trainable parameter lies before it
  bool training = false;
  bool loss_from_logits = false;  // the loss stands for the backward pass of the softmax or sigmoid before it
  int loss_target = -1;           // tensor that gets the loss's gradient

  [[gnu::cold]] constexpr facts(graph_view const& g, plan_options const& o)
      : readers(g.size.tensors),
        reader(g.size.tensors, -1),
        needs_gradient(g.size.tensors),
        training(o.mode == mode::training) {
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
    ++readers[g.result()];
    node const& last = g.nodes[g.size.nodes - 1];
    if (o.loss == loss::categorical_crossentropy) loss_from_logits = last.kind == op::softmax;
    if (o.loss == loss::binary_crossentropy)
      loss_from_logits = last.kind == op::activation && last.function == function::sigmoid;
    loss_target = loss_from_logits ? g.input(last) : last.output;
  }

  [[gnu::cold]] constexpr bool only_reader(int tensor, int n) const {
    return readers[tensor] == 1 && reader[tensor] == n;
  }

  /// A bias that the batch's mean takes away again: a convolution's in front of a train-mode batch_norm and nothing
  /// else. It is not added, its gradient stays the zero that it is, and the batch_norm adds it to the running mean.
  [[gnu::cold]] constexpr bool bias_is_cancelled(graph_view const& g, node const& x) const {
    return training && x.kind == op::conv2d && readers[x.output] == 1 && reader[x.output] >= 0 &&
           g.nodes[reader[x.output]].kind == op::batch_norm && !g.nodes[reader[x.output]].frozen;
  }
};

/// Nodes whose output may be another name for their input.
[[gnu::cold]] constexpr bool only_renames(node const& x, bool training) {
  operations::renames const when = facts_of(x).renames;
  return when == operations::renames::without_blocks || (when == operations::renames::in_inference && !training);
}

/// Which tensors share a buffer as one value: by the plan's table of placements, and as far as the graph justifies it.
/// A concat's input may be a slice of its output, a renaming node's output may be its input. Every tensor belongs to
/// one root, whose buffer it is. All of it for one micro-batch.
struct sharing {
  list<int> parent;    // per tensor: the concat output it is a slice of, or the tensor it renames; or -1
  list<int> root;      // per tensor
  list<int> original;  // per tensor: what it renames in the end, or itself
  list<bool> shared;   // per edge: nothing has to be done for it

  constexpr sharing() = default;
  [[gnu::cold]] constexpr sharing(graph_view const& g, placement const* at, bool training)
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

/// What the graph asks of a plan, and which tensors share buffers in each of its micro-batches.
struct layout {
  facts graph;
  list<sharing> activations;
  list<sharing> gradients;

  /// The plan's tables must cover the graph.
  [[gnu::cold]] constexpr layout(graph_view const& g, plan const& p)
      : graph(g, p.options), activations(p.micro_batches), gradients(p.micro_batches) {
    for (int m = 0; m < p.micro_batches; ++m) {
      int const first = m * g.size.tensors;
      activations[m] = sharing(g, p.activations.begin() + first, graph.training);
      if (graph.training) gradients[m] = sharing(g, p.gradients.begin() + first, true);
    }
  }
};

}  // namespace dsl::detail::checking
