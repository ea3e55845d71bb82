// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/plan/verify/replay.hpp>

namespace dsl::detail::checking {

/// The state of a check of a plan's steps, and what the checks of all kinds of steps use.
class step_state {
 public:
  /// The progress of a node: the steps seen so far, and the buffers that the node's backward pass needs.
  struct progress {
    bool forward = false;
    bool backward = false;
    bool backward_data = false;
    bool again = false;
    int batch_norm = -1;  // fused into it
    int activation = -1;  // the relu fused into it
    int kept = -1;        // buffer: statistics, argmax or states
  };
  struct copies {
    bool forward = false;
    bool backward = false;
    bool again = false;
  };
  /// The parts of a micro-batch that have been loaded.
  struct arrival {
    bool pictures = false;
    bool labels = false;
    int kept_labels = -1;  // buffer
  };
  /// The state of a parameter's gradient.
  struct summation {
    int written = 0;       // number of micro-batches whose gradient has been written
    int summed = 0;        // number of them in the sum
    int beside = -1;       // buffer of the gradient to be added next
    bool reduced = false;  // whether it has been summed over all towers
  };

  constexpr list<lifetime> lifetimes() const { return memory_.lifetimes(); }
  /// Copies the state of the check into a snapshot, or from a snapshot.
  template <class Snapshot, class Move>
  constexpr void exchange(Snapshot& s, Move move) {
    memory_.exchange(s, move);
    for (int m = 0; m < micros_.size(); ++m) {
      move(micros_[m].nodes, s.nodes + m * g_.size.nodes);
      move(micros_[m].copied, s.copied + m * g_.size.edges);
      move(micros_[m].batch, s.batches[m]);
    }
    move(parameters_, s.parameters);
    move(measured_, s.measured);
    move(updated_, s.updated);
    move(losses_, s.losses);
  }

 protected:
  struct micro {
    list<progress> nodes{};
    list<copies> copied{};  // per edge
    arrival batch{};
  };

  constexpr step_state(graph_view const& g, plan const& p, layout const& l)
      : g_(g),
        p_(p),
        facts_(l.graph),
        activations_(l.activations),
        gradients_(l.gradients),
        memory_(g, p, l),
        micros_(p.micro_batches),
        parameters_(g.size.parameters),
        measured_(g.size.devices, -1),
        updated_(g.size.devices) {
    for (micro& m : micros_) {
      m.nodes = list<progress>(g.size.nodes);
      m.copied = list<copies>(g.size.edges);
    }
  }

  constexpr bool breaks(plan_rule r, int index = -1) { return memory_.breaks(r, index); }
  constexpr bool once(bool& done, int n) {
    if (done) return breaks(plan_rule::every_node_runs_once, n);
    return done = true;
  }
  constexpr bool is_node(int n) const { return n >= 0 && n < g_.size.nodes; }
  constexpr bool is_edge(step const& s, node const& x) const { return s.edge >= 0 && s.edge < x.inputs; }
  /// Returns the first channel of an input in its node's output: 0 except for a concat.
  constexpr int slice_of(step const& s, node const& x) const {
    int channel = 0;
    if (x.kind == op::concat)
      for (int i = 0; i < s.edge; ++i) channel += g_.input_shape(x, i).channels;
    return channel;
  }
  /// Whether a parameter's gradient is never written, because it is 0.
  constexpr bool stays_zero(dsl::parameter const& x) const {
    return x.role == role::bias && facts_.bias_is_cancelled(g_, g_.nodes[x.node]);
  }

  graph_view const& g_;
  plan const& p_;
  facts const& facts_;
  list<sharing> const& activations_;  // per micro-batch
  list<sharing> const& gradients_;
  replay memory_;
  list<micro> micros_;
  list<summation> parameters_;
  list<int> measured_;  // per device: buffer
  list<bool> updated_;  // per device
  int losses_ = 0;
  int micro_ = 0;
  micro* now_ = nullptr;
};

}  // namespace dsl::detail::checking
