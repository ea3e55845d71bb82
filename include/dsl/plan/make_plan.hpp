// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/plan/arena.hpp>
#include <dsl/plan/emit.hpp>

namespace dsl {

namespace detail {

/// One device's step after the other's: right for any graph, and nothing runs at the same time.
[[gnu::cold]] constexpr void wait_for_the_step_before(plan& p) {
  for (int s = 1; s < p.steps.size(); ++s) {
    if (p.steps[s].device == p.steps[s - 1].device) continue;
    p.steps[s].first_wait = p.waits.push(s - 1);
    p.steps[s].waits = 1;
  }
}

}  // namespace detail

/// The steps of one batch and where everything lives. The same function at compile time (training_bytes, verified)
/// and at run time (the executors), so that the two can't differ.
[[gnu::cold]] constexpr plan make_plan(graph_view const& g, plan_options const& options) {
  plan p;
  p.options = options;
  p.micro_batches = micro_batches_of(options);
  p.buffers.reserve(2 * (g.size.parameters + g.size.tensors));
  detail::analysis const a = detail::analyse(g, options);
  detail::place_parameters(g, p);
  p.activations = detail::list<placement>(p.micro_batches * g.size.tensors);
  p.gradients = detail::list<placement>(p.micro_batches * g.size.tensors);
  for (int m = 0; m < p.micro_batches; ++m) {
    detail::place_activations(g, a, p, m);
    detail::place_gradients(g, a, p, m);
  }
  detail::emitter(g, a, p).run();
  detail::find_lifetimes(g, p);
  for (int d = g.size.devices - 1; d >= 0; --d) detail::assign_offsets(p, d);
  if (g.size.devices > 1) {
    // To GCC with -fsanitize=undefined whether a function is null is no constant. What it plans it has lowered.
    if (__builtin_is_constant_evaluated() || g.find_waits)
      g.find_waits(p);
    else
      detail::wait_for_the_step_before(p);
  }
  return p;
}

}  // namespace dsl
