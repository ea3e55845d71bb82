// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/plan/verify/order.hpp>
#include <dsl/plan/verify/steps.hpp>

namespace dsl {

/// Whether executing a plan's steps gives what the graph defines: an independent checker that shares no code with the
/// planner and replays the plan's memory, operand by operand. Every read finds its value, no live buffers overlap,
/// every gradient contribution is summed once, every parameter is updated once, and devices that run at the same time
/// don't race. The graph itself is taken as it is, and
/// so are the plan's options. At run time a second check costs microseconds; at compile time
/// static_assert(dsl::verified<model>) makes it part of the type.
[[gnu::cold]] constexpr plan_verdict verify(graph_view const& g, plan const& p) {
  using namespace detail::checking;
  using detail::list;
  if (plan_verdict const v = check_tables(g, p); !v.holds()) return v;
  facts const f(g, p.options);
  list<sharing> activations(p.micro_batches), gradients(p.micro_batches);
  for (int m = 0; m < p.micro_batches; ++m) {
    int const first = m * g.size.tensors;
    activations[m] = sharing(g, p.activations.begin() + first, f.training);
    if (plan_verdict const v = check_placements(g, p, p.activations.begin() + first, activations[m], m); !v.holds())
      return v;
    if (!f.training) continue;
    gradients[m] = sharing(g, p.gradients.begin() + first, f.training);
    if (plan_verdict const v = check_placements(g, p, p.gradients.begin() + first, gradients[m], m); !v.holds())
      return v;
  }
  if (plan_verdict const v = check_parameters(g, p); !v.holds()) return v;
  step_checker steps(g, p, f, activations, gradients);
  if (plan_verdict const v = steps.run(); !v.holds()) return v;
  if (plan_verdict const v = check_overlaps(p, steps.lifetimes()); !v.holds()) return v;
  if (g.size.devices == 1 && p.waits.size() == 0) return {};
  return order_checker(p, g.size.devices).run();
}

}  // namespace dsl
