// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/plan/plan.hpp>
#include "support/random_graph.hpp"

// Mistakes in a plan, one at a time.

namespace dsl::test {

enum class mutation : int {
  drop_step,
  duplicate_step,
  swap_steps,
  move_step,
  swap_operands,
  drop_operand,
  operand_buffer,
  operand_channel,
  operand_access,
  operand_index,
  operand_content,
  contribution_access,
  step_node,
  step_edge,
  step_fusion,
  step_group,
  step_action,
  step_kind,
  shift_offset,
  overlap_buffers,
  shrink_buffer,
  buffer_shape,
  buffer_block,
  buffer_element_bytes,
  buffer_region,
  region_bytes,
  alias_buffers,
  swap_buffers,
  move_tensor,
  slice_tensor,
  swap_parameters,
  result_or_metrics,
  drop_wait,
  change_wait,
  step_device,
  step_micro,
  swap_micros,
  buffer_device,
  device_piece,
  move_transfer,
  swap_copies,
  step_again,
  second_buffer,
  count,
};

constexpr char const* name_of(mutation m) {
  constexpr char const* names[] = {
      "drop a step",
      "duplicate a step",
      "swap two steps",
      "move a step",
      "swap two operands",
      "drop an operand",
      "operand's buffer",
      "operand's channel",
      "operand's access",
      "operand's index",
      "operand's content",
      "write <-> accumulate",
      "step's node",
      "step's edge",
      "step's fused nodes",
      "step's group",
      "step's action",
      "step's kind",
      "shift an offset",
      "overlap two buffers",
      "shrink a buffer",
      "buffer's shape",
      "buffer's block",
      "buffer's element bytes",
      "buffer's region",
      "a region's bytes",
      "alias two buffers",
      "swap two buffers",
      "move a tensor",
      "make a tensor a slice",
      "swap two parameters",
      "result or metrics",
      "drop a wait",
      "wait for another step",
      "step's device",
      "step's micro-batch",
      "swap micro-batches",
      "buffer's device",
      "a device's piece",
      "move a transfer",
      "swap two copies",
      "run again or not",
      "buffer of what runs again",
  };
  return names[static_cast<int>(m)];
}

class mutator {
 public:
  mutator(graph_view const& g, plan& p, dice& d) : g_(g), p_(p), d_(d) {}

  /// Makes one mistake of a kind; returns false if the plan has no place for it.
  bool apply(mutation m) {
    switch (m) {
      case mutation::drop_step: p_.steps.erase(any_step()); return true;
      case mutation::duplicate_step: {
        step const s = p_.steps[any_step()];
        p_.steps.insert(any_step(), s);
        return true;
      }
      case mutation::swap_steps: return swap(p_.steps, any_step(), neighbour(any_step()));
      case mutation::move_step: {
        int const from = any_step();
        move(from, d_.percent(50) ? near(from) : any_step());
        return true;
      }
      case mutation::swap_operands: {
        step const& s = any_step_with(2);
        return s.operands > 1 &&
               swap(p_.operands, s.first_operand + d_.below(s.operands), s.first_operand + d_.below(s.operands));
      }
      case mutation::drop_operand: {
        step const& chosen = any_step_with(1);
        auto& s = p_.steps[static_cast<int>(&chosen - p_.steps.begin())];
        if (d_.percent(30)) ++s.first_operand;
        --s.operands;
        return true;
      }
      case mutation::operand_buffer: {
        operand& o = any_operand();
        int const b = d_.percent(5) ? d_.of({-1, p_.buffers.size()}) : d_.percent(50) ? like(o.buffer) : any_buffer();
        return change(o.buffer, b);
      }
      case mutation::operand_channel: return change(any_operand().channel, d_.between(0, 8));
      case mutation::operand_access:
        return change(any_operand().how, d_.of({access::read, access::write, access::accumulate}));
      case mutation::operand_index: return change(any_operand().index, d_.between(-1, g_.size.tensors));
      case mutation::operand_content:
        return change(any_operand().what, static_cast<content>(d_.below(static_cast<int>(content::squares) + 1)));
      case mutation::contribution_access: {
        for (int tries = 0; tries < 20; ++tries)
          if (operand& o = any_operand(); o.what == content::gradient && o.how != access::read)
            return change(o.how, o.how == access::write ? access::accumulate : access::write);
        return false;
      }
      case mutation::step_node: return change(p_.steps[any_step()].node, d_.between(-1, g_.size.nodes));
      case mutation::step_edge: {
        for (int tries = 0; tries < 20; ++tries)
          if (step& s = p_.steps[any_step()]; s.what == action::copy_forward || s.what == action::copy_backward)
            return change(s.edge, d_.between(-1, 3));
        return false;
      }
      case mutation::step_fusion: return fuse();
      case mutation::step_group: return regroup();
      case mutation::step_action:
        return change(p_.steps[any_step()].what, static_cast<action>(d_.below(static_cast<int>(action::update) + 1)));
      case mutation::step_kind:
        return change(p_.steps[any_step()].kind, static_cast<op>(d_.below(static_cast<int>(op::transfer) + 1)));
      case mutation::shift_offset: {
        buffer& b = used_buffer();
        int const by = d_.percent(80) ? p_.options.target.alignment * d_.between(1, 4) : d_.between(1, 8);
        b.offset += d_.percent(70) ? by : -by;
        return true;
      }
      case mutation::overlap_buffers: {
        buffer& b = used_buffer();
        buffer const& other = p_.buffers[same_region(b)];
        return change(b.offset, other.offset);
      }
      case mutation::shrink_buffer: {
        buffer& b = used_buffer();
        return change(b.bytes, d_.percent(50) ? b.bytes - p_.options.target.alignment : b.bytes / 2);
      }
      case mutation::buffer_shape: {
        buffer& b = used_buffer();
        int& side = *d_.of({&b.shape.channels, &b.shape.channels, &b.shape.height, &b.shape.width});
        return change(side, side + d_.of({-1, 1, 1}));
      }
      case mutation::buffer_block: return change(used_buffer().block, d_.of({1, 2, 4, 16}));
      case mutation::buffer_element_bytes: return change(used_buffer().element_bytes, d_.of({1, 2, 4, 8}));
      case mutation::buffer_region: return change(used_buffer().where, static_cast<region>(d_.below(regions)));
      case mutation::region_bytes: {
        long long& bytes = p_.region_bytes[d_.below(regions)];
        return change(bytes, bytes - d_.of({1, p_.options.target.alignment, static_cast<int>(bytes / 2)}));
      }
      case mutation::alias_buffers: {
        int const from = index_of(used_buffer());
        return redirect(from, d_.percent(70) ? like(from) : any_buffer());
      }
      case mutation::swap_buffers: {
        int const a = index_of(used_buffer());
        int const b = d_.percent(70) ? like(a) : any_buffer();
        long long const at = p_.buffers[a].offset;
        p_.buffers[a].offset = p_.buffers[b].offset;
        p_.buffers[b].offset = at;
        return a != b;
      }
      case mutation::move_tensor: return move_tensor();
      case mutation::slice_tensor: return slice_tensor();
      case mutation::swap_parameters: {
        int const k = d_.below(g_.size.parameters);
        int const l = d_.below(g_.size.parameters);
        swap(p_.parameter_buffers, k, l);
        if (d_.percent(60)) swap(p_.parameter_gradient_buffers, k, l);
        if (d_.percent(60))
          for (operand& o : p_.operands) {
            if (o.what == content::parameter && (o.index == k || o.index == l))
              o.buffer = p_.parameter_buffers[o.index];
            if (o.what == content::parameter_gradient && (o.index == k || o.index == l))
              o.buffer = p_.parameter_gradient_buffers[o.index];
          }
        return k != l;
      }
      case mutation::result_or_metrics:
        if (p_.options.mode == mode::inference || (p_.options.mode == mode::evaluation && d_.percent(50))) {
          placement& at = p_.activations[g_.result()];
          return d_.percent(50) ? change(at.buffer, like(at.buffer)) : change(at.channel, d_.between(0, 4));
        }
        return change(d_.percent(50) ? p_.metrics : p_.labels, d_.percent(30) ? like(p_.metrics) : any_buffer());
      case mutation::drop_wait: {
        step& s = step_with_a_wait();
        if (s.waits == 0) return false;
        if (d_.percent(50)) ++s.first_wait;
        --s.waits;
        return true;
      }
      case mutation::change_wait: {
        step const& s = step_with_a_wait();
        if (s.waits == 0) return false;
        int& w = p_.waits[s.first_wait + d_.below(s.waits)];
        return change(w, d_.percent(80) ? w + d_.of({-3, -2, -1, 1, 2, 3}) : d_.between(-1, p_.steps.size()));
      }
      case mutation::step_device: return change(p_.steps[any_step()].device, d_.between(-1, p_.devices.size()));
      case mutation::step_again: {
        step& s = p_.steps[any_step()];
        s.again = !s.again;
        return true;
      }
      case mutation::second_buffer:
        return p_.again.size() > 0 &&
               change(p_.again[d_.below(p_.again.size())], d_.between(-1, p_.buffers.size() - 1));
      case mutation::step_micro: return change(p_.steps[any_step()].micro, d_.between(-1, p_.micro_batches));
      case mutation::swap_micros: return swap_micros();
      case mutation::buffer_device: return change(used_buffer().device, d_.between(-1, p_.devices.size()));
      case mutation::device_piece: {
        long long& bytes = p_.devices[d_.below(p_.devices.size())].bytes[d_.below(regions)];
        return change(bytes, bytes + d_.of({-1, 1}) * p_.options.target.alignment);
      }
      case mutation::move_transfer: {
        for (int tries = 0; tries < 20; ++tries) {
          int const from = any_step();
          if (p_.steps[from].kind != op::transfer) continue;
          move(from, d_.percent(70) ? near(from) : any_step());
          return true;
        }
        return false;
      }
      case mutation::swap_copies: {
        for (int first = any_step(), i = 0; i + 1 < p_.steps.size(); ++i) {
          int const s = (first + i) % (p_.steps.size() - 1);
          step const &x = p_.steps[s], &y = p_.steps[s + 1];
          bool const copies = x.what == action::copy_forward || x.what == action::copy_backward;
          if (copies && y.what == x.what && y.node == x.node) return swap(p_.steps, s, s + 1);
        }
        return false;
      }
      case mutation::count: break;
    }
    return false;
  }

 private:
  template <class T>
  static bool change(T& field, T value) {
    bool const differs = field != value;
    field = value;
    return differs;
  }
  template <class T>
  static bool swap(detail::list<T>& l, int a, int b) {
    T const kept = l[a];
    l[a] = l[b];
    l[b] = kept;
    return a != b;
  }
  /// Moves a step. Waits still mean the same steps, except for the one that moved: otherwise every later wait would be
  /// wrong, too.
  void move(int from, int to) {
    step const s = p_.steps[from];
    p_.steps.erase(from);
    p_.steps.insert(to < p_.steps.size() ? to : p_.steps.size(), s);
    for (int& w : p_.waits) {
      if (w == from)
        w = to;
      else if (w > from && w <= to)
        --w;
      else if (w < from && w >= to)
        ++w;
    }
  }
  step& step_with_a_wait() {
    int s = any_step();
    for (int tries = 0; tries < 60 && p_.steps[s].waits == 0; ++tries) s = any_step();
    return p_.steps[s];
  }
  /// Exchanges the same step of two micro-batches, with its buffers.
  bool swap_micros() {
    for (int tries = 0; tries < 40; ++tries) {
      int const a = any_step(), b = any_step();
      step &x = p_.steps[a], &y = p_.steps[b];
      if (x.micro == y.micro || x.what != y.what || x.node != y.node || x.device != y.device) continue;
      if (d_.percent(50)) return swap(p_.steps, a, b);
      int const micro = x.micro;
      x.micro = y.micro, y.micro = micro;
      return true;
    }
    return false;
  }
  int any_step() { return d_.below(p_.steps.size()); }
  int near(int s) {
    int const to = s + d_.of({-2, -1, 1, 2});
    return to < 0 || to > p_.steps.size() ? s : to;
  }
  int neighbour(int s) {
    int const to = d_.percent(60) ? near(s) : any_step();
    return to < p_.steps.size() ? to : s;
  }
  step const& any_step_with(int operands) {
    int s = any_step();
    for (int tries = 0; tries < 20 && p_.steps[s].operands < operands; ++tries) s = any_step();
    return p_.steps[s];
  }
  operand& any_operand() { return p_.operands[d_.below(p_.operands.size())]; }
  int any_buffer() { return d_.below(p_.buffers.size()); }
  buffer& used_buffer() {
    if (d_.percent(75)) {  // most operands' buffers: otherwise there would be too many parameters
      for (int tries = 0; tries < 20; ++tries)
        if (buffer& b = p_.buffers[any_operand().buffer]; b.where == region::activations) return b;
    }
    return p_.buffers[any_operand().buffer];
  }
  int index_of(buffer const& b) const { return static_cast<int>(&b - p_.buffers.begin()); }
  /// Returns a buffer that could be mistaken for this one, if there is one.
  int like(int b) {
    for (int tries = 0; tries < 40; ++tries) {
      int const other = any_buffer();
      if (other == b || b < 0) continue;
      buffer const& x = p_.buffers[b];
      buffer const& y = p_.buffers[other];
      if (x.where == y.where && x.shape == y.shape && x.block == y.block && x.element_bytes == y.element_bytes)
        return other;
    }
    return any_buffer();
  }
  int same_region(buffer const& b) {
    for (int tries = 0; tries < 40; ++tries)
      if (int const other = any_buffer(); p_.buffers[other].where == b.where && other != index_of(b)) return other;
    return any_buffer();
  }

  bool fuse() {
    step& s = p_.steps[any_step()];
    for (int tries = 0; tries < 20 && s.activation < 0 && s.batch_norm < 0; ++tries) s = p_.steps[any_step()];
    int const to = d_.percent(50) ? -1 : d_.below(g_.size.nodes);
    return change(d_.percent(60) ? s.activation : s.batch_norm, to);
  }
  /// Makes a new group of two neighbouring steps of a kind, or removes a step from its group.
  bool regroup() {
    int const s = any_step();
    if (p_.steps[s].group >= 0 && d_.percent(50)) return change(p_.steps[s].group, -1);
    for (int i = 0; i < p_.steps.size(); ++i) {
      int const a = (s + i) % p_.steps.size();
      if (a + 1 >= p_.steps.size() || p_.steps[a].what != p_.steps[a + 1].what) continue;
      p_.steps[a].group = p_.steps[a + 1].group = g_.size.nodes;
      return true;
    }
    return false;
  }
  /// Puts everything from one buffer into the other, tables included, which a correct plan might also do.
  bool redirect(int from, int to) {
    for (operand& o : p_.operands)
      if (o.buffer == from) o.buffer = to;
    for (placement& x : p_.activations)
      if (x.buffer == from) x.buffer = to;
    for (placement& x : p_.gradients)
      if (x.buffer == from) x.buffer = to;
    if (p_.metrics == from) p_.metrics = to;
    if (p_.labels == from) p_.labels = to;
    return from != to;
  }
  void place(content what, int tensor, placement at) {
    placement& table = (what == content::activation ? p_.activations : p_.gradients)[tensor];
    for (operand& o : p_.operands)
      if (o.what == what && o.index == tensor) {
        o.buffer = at.buffer;
        o.channel += at.channel - table.channel;
      }
    table = at;
  }
  bool move_tensor() {
    int const t = d_.below(g_.size.tensors);
    content const what = d_.of({content::activation, content::gradient});
    placement const at = (what == content::activation ? p_.activations : p_.gradients)[t];
    if (at.buffer < 0) return false;
    int const to = like(at.buffer);
    place(what, t, {to, at.channel});
    return to != at.buffer;
  }
  /// Makes a copied input of a concat a slice of its output, without the copies; sometimes that is correct.
  bool slice_tensor() {
    for (int i = 0, first = d_.below(g_.size.nodes); i < g_.size.nodes; ++i) {
      node const& x = g_.nodes[(first + i) % g_.size.nodes];
      if (x.kind != op::concat) continue;
      int const edge = d_.below(x.inputs);
      int const in = g_.input(x, edge);
      int channel = p_.activations[x.output].channel;
      for (int k = 0; k < edge; ++k) channel += g_.input_shape(x, k).channels;
      placement const at{p_.activations[x.output].buffer, channel};
      placement const& now = p_.activations[in];
      if (at.buffer < 0 || now.buffer < 0 || (now.buffer == at.buffer && now.channel == channel)) continue;
      bool const both = d_.percent(60);
      place(content::activation, in, at);
      if (both && p_.gradients[in].buffer >= 0 && p_.gradients[x.output].buffer >= 0)
        place(content::gradient, in, {p_.gradients[x.output].buffer, channel});
      for (int s = p_.steps.size() - 1; s >= 0; --s) {
        step const& c = p_.steps[s];
        if (c.node != g_.tensors[x.output].producer || c.edge != edge) continue;
        if (c.what == action::copy_forward || (both && c.what == action::copy_backward)) p_.steps.erase(s);
      }
      return true;
    }
    return false;
  }

  graph_view const& g_;
  plan& p_;
  dice& d_;
};

}  // namespace dsl::test
