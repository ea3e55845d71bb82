// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/plan/arena.hpp>
#include <dsl/plan/emit.hpp>

namespace dsl {

/// The steps of one batch and where everything lives. The same function at compile time (training_bytes, verified)
/// and at run time (the executors), so that the two can't differ.
[[gnu::cold]] constexpr plan make_plan(graph_view const& g, plan_options const& options) {
  plan p;
  p.options = options;
  p.buffers.reserve(2 * (g.size.parameters + g.size.tensors));
  detail::analysis const a = detail::analyse(g, options);
  detail::place_parameters(g, p);
  detail::place_activations(g, a, p);
  detail::place_gradients(g, a, p);
  detail::emitter(g, a, p).run();
  detail::find_lifetimes(g, p);
  detail::assign_offsets(p);
  return p;
}

}  // namespace dsl
