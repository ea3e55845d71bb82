// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/graph/facts.hpp>
#include <dsl/plan/plan.hpp>

namespace dsl::detail {

/// The facts that the passes derive from a graph, before any step or buffer exists.
struct analysis {
  list<int> readers;          // per tensor: the number of edges that read it, plus one if it is an output
  list<int> reader;           // per tensor: the last node that reads it
  list<int> owner;            // per node: the node whose step also computes it (a fused relu's batch_norm), or itself
  list<int> batch_norm_of;    // per node: the batch_norm that its step also computes, or -1
  list<int> activation_of;    // per node: the relu that its step also computes, or -1
  list<bool> bias_skipped;    // per node: whether it is a conv2d with a bias that a train-mode batch_norm cancels
  list<bool> needs_gradient;  // per tensor
  list<int> parent;           // per tensor: the tensor in whose buffer it lives, from channel `channel` on; or -1
  list<int> channel;          // per tensor
};

/// Returns the node that computes the values of a tensor, on any device. Transfers are skipped.
constexpr node const& source_of(graph_view const& g, int tensor) {
  node const* n = &g.nodes[g.tensors[tensor].producer];
  while (n->kind == op::transfer) n = &g.nodes[g.tensors[g.input(*n)].producer];
  return *n;
}

/// Returns the channel block of a tensor. This is the target's, except for two kinds of tensors. Input images of fewer
/// than 16 channels stay as they are in the data: libraries have convolutions for these, but none for a block that is
/// mostly padding. Tensors with one pixel per channel have only one layout.
constexpr int block_of(graph_view const& g, int tensor, target const& to) {
  shape const& s = g.shape_of(tensor);
  if (to.channel_block == channels_last) return s.area() == 1 ? 1 : s.channels;
  bool const picture = source_of(g, tensor).kind == op::input && s.channels < 16;
  return s.area() == 1 || picture ? 1 : to.channel_block;
}

/// Whether a backward step of a node reads any of the values `what`.
constexpr bool backward_reads(node const& n, operations::values what) {
  operations::row const& row = facts_of(n);
  return contains(row.reads[0] | row.reads[1], what);
}
/// Whether the backward pass reads a node's output. It may read the output of a concat, because the backward step of
/// the node that wrote a slice of this output may read that slice.
constexpr bool backward_reads_output(node const& n) {
  return n.kind == op::concat || backward_reads(n, operations::values::output);
}

constexpr void count_readers(graph_view const& g, analysis& a) {
  a.readers = list<int>(g.size.tensors);
  a.reader = list<int>(g.size.tensors, -1);
  for (int n = 0; n < g.size.nodes; ++n) {
    for (int i = 0; i < g.nodes[n].inputs; ++i) {
      int const t = g.input(g.nodes[n], i);
      ++a.readers[t];
      a.reader[t] = n;
    }
    if (is_output(g, n)) ++a.readers[g.nodes[n].output];
  }
}

/// Returns the node that reads a node's output if there is only one such node, otherwise -1.
constexpr int sole_reader(graph_view const& g, analysis const& a, int n) {
  int const t = g.nodes[n].output;
  return a.readers[t] == 1 ? a.reader[t] : -1;
}

constexpr bool has_trainable_parameters(graph_view const& g, node const& x) {
  for (int k = x.first_parameter; k < x.first_parameter + x.parameters; ++k)
    if (g.parameters[k].trainable()) return true;
  return false;
}

/// Finds the tensors whose gradient is needed. These are the tensors that are computed from a trainable parameter.
constexpr void find_needed_gradients(graph_view const& g, mode m, analysis& a) {
  a.needs_gradient = list<bool>(g.size.tensors, false);
  if (m != mode::training) return;
  for (int n = 0; n < g.size.nodes; ++n) {
    node const& x = g.nodes[n];
    bool needed = has_trainable_parameters(g, x);
    for (int i = 0; i < x.inputs; ++i) needed = needed || a.needs_gradient[g.input(x, i)];
    a.needs_gradient[x.output] = needed;
  }
}

/// Fuses batch_norm with the relu after it. Where no gradient is needed, as in inference, also fuses conv2d with both.
/// In training, the subtraction of the batch's mean cancels a bias before a batch_norm, and the bias's gradient is
/// zero, so the bias is not added. A frozen batch_norm does not use the batch's mean, so a bias before it is added.
constexpr void fuse(graph_view const& g, mode m, analysis& a) {
  int const nodes = g.size.nodes;
  a.owner = list<int>(nodes);
  for (int n = 0; n < nodes; ++n) a.owner[n] = n;
  a.batch_norm_of = list<int>(nodes, -1);
  a.activation_of = list<int>(nodes, -1);
  a.bias_skipped = list<bool>(nodes, false);
  auto const fuse_relu = [&](int last, int into) {
    int const next = sole_reader(g, a, last);
    if (next < 0 || g.nodes[next].kind != op::activation || g.nodes[next].function != function::relu) return;
    a.activation_of[into] = next;
    a.owner[next] = into;
  };
  for (int n = 0; n < nodes; ++n) {
    node const& x = g.nodes[n];
    bool const wanted = a.needs_gradient[x.output];
    if (x.kind == op::batch_norm && a.owner[n] == n && !(x.frozen && wanted)) fuse_relu(n, n);
    if (x.kind != op::conv2d) continue;
    int const next = sole_reader(g, a, n);
    bool const normalised = next >= 0 && g.nodes[next].kind == op::batch_norm;
    bool const takes_moments = m == mode::training && normalised && !g.nodes[next].frozen;
    if (takes_moments || wanted) {
      a.bias_skipped[n] = takes_moments && x.parameters > 1;
    } else if (normalised) {
      a.batch_norm_of[n] = next;
      a.owner[next] = n;
      fuse_relu(next, n);
    } else {
      fuse_relu(n, n);
    }
  }
}

/// The position of a tensor in a buffer that has `all` channels.
struct slice_place {
  int first = 0;
  int channels = 0;
  int all = 0;
};
/// The number of bytes that libraries load and store at once.
inline constexpr int library_bytes = 16;

/// Whether the step that makes a tensor may write into channels of a larger buffer. typenet's own kernels may. A
/// library's kernel might repack or choose slow code, so it may only if the target says so: at batch 1, where the slice
/// is contiguous, and, with channels last outside of training, if the slice begins and ends at multiples of
/// library_bytes. In training a convolution would also have to read its output's gradient from a slice.
constexpr bool writes_slices(graph_view const& g, analysis const& a, plan_options const& o, int tensor,
                             slice_place const& at) {
  using operations::slices;
  switch (facts_of(g.nodes[a.owner[g.tensors[tensor].producer]]).slices) {
    case slices::always: return true;
    case slices::in_training: return o.mode == mode::training;
    case slices::where_the_library_does: {
      if (!o.target.library_writes_slices) return false;
      if (o.target.channel_block != channels_last) return o.batch == 1;
      auto const whole = [&](int channels) { return channels * o.target.element_bytes % library_bytes == 0; };
      return o.mode != mode::training && whole(at.first) && whole(at.channels) && whole(at.all);
    }
    case slices::never: break;
  }
  return false;
}

/// Whether a node's output is the same memory as its input, under another name.
constexpr bool renames_input(graph_view const& g, plan_options const& o, node const& x) {
  switch (facts_of(x).renames) {
    case operations::renames::never: break;
    case operations::renames::in_inference: return o.mode != mode::training;
    case operations::renames::without_blocks: return block_of(g, g.input(x), o.target) == 1;
  }
  return false;
}

/// Decides which tensors share buffers. An input of a concat lives in the concat's output if its producer can write
/// there and no other node reads it; processing the graph in reverse places an outer concat before an inner one.
/// Flatten and, in inference, dropout only rename their input.
constexpr void share_buffers(graph_view const& g, plan_options const& o, analysis& a) {
  a.parent = list<int>(g.size.tensors, -1);
  a.channel = list<int>(g.size.tensors);
  for (int n = g.size.nodes - 1; n >= 0; --n) {
    node const& x = g.nodes[n];
    if (renames_input(g, o, x)) a.parent[x.output] = g.input(x);
    if (x.kind != op::concat) continue;
    int root = x.output;  // the buffer that contains this concat's output, and its channel there
    int at = 0;
    for (; a.parent[root] >= 0; root = a.parent[root]) at += a.channel[root];
    int const block = block_of(g, root, o.target);
    int const all = g.shape_of(root).channels;
    int begin = 0;
    for (int i = 0; i < x.inputs; ++i) {
      int const t = g.input(x, i);
      int const channels = g.shape_of(t).channels;
      bool const aligned = o.target.channel_block == channels_last ||
                           ((at + begin) % block == 0 && (channels % block == 0 || at + begin + channels == all));
      if (aligned && a.readers[t] == 1 && a.parent[t] < 0 && writes_slices(g, a, o, t, {at + begin, channels, all})) {
        a.parent[t] = x.output;
        a.channel[t] = begin;
      }
      begin += channels;
    }
  }
}

constexpr analysis analyse(graph_view const& g, plan_options const& o) {
  analysis a;
  count_readers(g, a);
  find_needed_gradients(g, o.mode, a);
  fuse(g, o.mode, a);
  share_buffers(g, o, a);
  return a;
}

/// Returns the tensor whose buffer contains a tensor, and the tensor's first channel in that buffer.
constexpr placement root_of(analysis const& a, int tensor) {
  placement p{tensor, 0};
  for (; a.parent[p.buffer] >= 0; p.buffer = a.parent[p.buffer]) p.channel += a.channel[p.buffer];
  return p;
}

}  // namespace dsl::detail
