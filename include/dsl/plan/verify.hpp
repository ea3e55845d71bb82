// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/plan/verify/steps.hpp>

namespace dsl {

/// Whether executing a plan's steps gives what the graph defines: an independent checker that shares no code with the
/// planner and replays the plan's memory, operand by operand. Every read finds its value, no live buffers overlap,
/// every gradient contribution is summed once, every parameter is updated once. The graph itself is taken as it is, and
/// so are the plan's options. At run time a second check costs microseconds; at compile time
/// static_assert(dsl::verified<model>) makes it part of the type.
[[gnu::cold]] constexpr plan_verdict verify(graph_view const& g, plan const& p) {
  using namespace detail::checking;
  if (plan_verdict const v = check_tables(g, p); !v.holds()) return v;
  facts const f(g, p.options);
  sharing const activations(g, p.activations, f.training);
  sharing const gradients(g, p.gradients, f.training);
  if (plan_verdict const v = check_placements(g, p, p.activations, activations); !v.holds()) return v;
  if (f.training)
    if (plan_verdict const v = check_placements(g, p, p.gradients, gradients); !v.holds()) return v;
  if (plan_verdict const v = check_parameters(g, p); !v.holds()) return v;
  step_checker steps(g, p, f, activations, gradients);
  if (plan_verdict const v = steps.run(); !v.holds()) return v;
  return check_overlaps(p, steps.lifetimes());
}

}  // namespace dsl
