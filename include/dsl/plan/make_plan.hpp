// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/plan/arena.hpp>
#include <dsl/plan/emit.hpp>
#include <dsl/plan/waits.hpp>

namespace dsl {

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
  if (g.size.devices > 1) detail::find_waits(p);
  return p;
}

}  // namespace dsl
