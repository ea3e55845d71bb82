// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/plan/again.hpp>
#include <dsl/plan/arena.hpp>
#include <dsl/plan/emit.hpp>
#include <dsl/plan/waits.hpp>

namespace dsl {

namespace detail {

/// Returns the steps for one batch, their operands and their buffers. The buffers have no offsets yet.
constexpr plan emit_plan(graph_view const& g, plan_options const& options, list<bool> const& again = {}) {
  plan p;
  p.options = options;
  p.micro_batches = micro_batches_of(options);
  p.buffers.reserve(2 * (g.size.parameters + g.size.tensors));
  analysis const a = analyse(g, options);
  place_parameters(g, p);
  p.activations = list<placement>(p.micro_batches * g.size.tensors);
  p.gradients = list<placement>(p.micro_batches * g.size.tensors);
  for (int m = 0; m < p.micro_batches; ++m) {
    place_activations(g, a, p, m);
    if (again.size() > 0) place_again(g, again, p, m);
    place_gradients(g, a, p, m);
  }
  emitter(g, a, p).run();
  return p;
}

/// Gives an offset to every buffer, and determines for every step which steps it waits for.
constexpr void place_buffers(graph_view const& g, plan& p) {
  find_lifetimes(g, p);
  for (int d = g.size.devices - 1; d >= 0; --d) assign_offsets(p, d);
  if (g.size.devices > 1) find_waits(p);
}

}  // namespace detail

/// Returns the steps of one batch and the offsets of all buffers. The same function is used at compile time
/// (training_bytes, verified) and at run time (executors), so that the two cannot differ. In training, the tensors
/// marked in `again` are not stored, and the backward pass computes them a second time. `again` has an entry for each
/// tensor, or no entries.
constexpr plan make_plan(graph_view const& g, plan_options const& options, detail::list<bool> const& again = {}) {
  plan p = detail::emit_plan(g, options, again);
  detail::place_buffers(g, p);
  return p;
}

}  // namespace dsl
