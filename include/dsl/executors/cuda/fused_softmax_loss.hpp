// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/graph/graph.hpp>
#include <dsl/plan/plan.hpp>

namespace dsl::cu::TYPENET_MODE {

/// Whether step s is the network's last softmax and can be computed in one launch with the loss after it. In that
/// launch a block writes its sample's gradient while others may still read their logits. The plan, however, runs the
/// loss after the softmax. So the gradient must not overlap the logits in the plan, unless each number has the address
/// of its own logit.
inline bool joins_loss(graph_view const& g, plan const& p, int s) {
  step const& x = p.steps[s];
  if (x.what != action::forward || x.kind != op::softmax || x.node != g.size.nodes - 1) return false;
  if (!g.output_shape(g.nodes[x.node]).is_flat()) return false;
  if (s + 1 >= p.steps.size() || p.steps[s + 1].what != action::loss) return false;
  auto const found = [&](step const& in, content what, access how) -> operand const* {
    for (int i = 0; i < in.operands; ++i) {
      operand const& o = p.operands[in.first_operand + i];
      if (o.what == what && o.how == how) return &o;
    }
    return nullptr;
  };
  operand const* const from = found(x, content::activation, access::read);
  operand const* const to = found(p.steps[s + 1], content::gradient, access::write);
  if (!from || !to) return true;  // evaluation has no gradient
  buffer const &logits = p.buffers[from->buffer], &gradient = p.buffers[to->buffer];
  if (logits.offset + logits.bytes <= gradient.offset || gradient.offset + gradient.bytes <= logits.offset) return true;
  return logits.offset == gradient.offset && logits.shape.channels == gradient.shape.channels &&
         logits.block == gradient.block && from->channel == to->channel;
}

}  // namespace dsl::cu::TYPENET_MODE
