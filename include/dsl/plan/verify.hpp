// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/plan/verify/order.hpp>
#include <dsl/plan/verify/steps.hpp>

namespace dsl {

namespace detail::checking {

/// Checks what depends on the lifetimes of buffers: buffers in use must not overlap, and devices must not race.
constexpr plan_verdict check_use(graph_view const& g, plan const& p, list<lifetime> const& lifetimes) {
  if (plan_verdict const v = check_overlaps(p, lifetimes); !v.holds()) return v;
  if (g.size.devices == 1 && p.waits.size() == 0) return {};
  return order_checker(p, g.size.devices).run();
}

}  // namespace detail::checking

/// Checks whether executing a plan computes what the graph defines. It shares no code with the planner, and replays the
/// plan's memory operand by operand: every read finds its value, no live buffers overlap, every contribution to a
/// gradient is summed once, every parameter is updated once, and devices that run at the same time do not race. The
/// graph and the plan's options are taken as given. A second check at run time costs microseconds;
/// static_assert(dsl::verified<model>) makes the check part of the type.
constexpr plan_verdict verify(graph_view const& g, plan const& p) {
  using namespace detail::checking;
  if (plan_verdict const v = check_tables(g, p); !v.holds()) return v;
  layout const l(g, p);
  if (plan_verdict const v = check_layout(g, p, l); !v.holds()) return v;
  step_checker steps(g, p, l);
  if (plan_verdict const v = steps.run(0, p.steps.size()); !v.holds()) return v;
  return check_use(g, p, steps.lifetimes());
}

}  // namespace dsl
