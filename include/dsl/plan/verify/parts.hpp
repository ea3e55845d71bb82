// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/plan/stored.hpp>
#include <dsl/plan/verify.hpp>

namespace dsl::detail::checking {

/// The state of a step_checker after it has checked some of a plan's steps.
template <graph_sizes Graph, plan_sizes Plan, int Micros>
struct snapshot {
  plan_verdict verdict{};
  buffer_state buffers[Plan.buffers + 1]{};
  int missing[Plan.tensors + 1]{};
  bool activation_begun[Plan.tensors + 1]{};
  bool gradient_begun[Plan.tensors + 1]{};
  int contributions[Plan.tensors + 1]{};
  step_checker::progress nodes[Micros * Graph.nodes + 1]{};
  step_checker::copies copied[Micros * Graph.edges + 1]{};
  step_checker::arrival batches[Micros]{};
  step_checker::summation parameters[Plan.parameters + 1]{};
  int measured[Plan.devices + 1]{};
  bool updated[Plan.devices + 1]{};
  int step = -1;
  int time = 0;
  int losses = 0;
};

struct into_snapshot {
  template <class T>
  constexpr void operator()(list<T> const& from, T* to) const {
    copy_into(to, from);
  }
  template <class T>
  constexpr void operator()(T const& from, T& to) const {
    to = from;
  }
};
struct out_of_snapshot {
  template <class T>
  constexpr void operator()(list<T>& to, T const* from) const {
    for (int i = 0; i < to.size(); ++i) to[i] = from[i];
  }
  template <class T>
  constexpr void operator()(T& to, T const& from) const {
    to = from;
  }
};

/// The number of steps checked in one evaluation; each takes about 400 of Clang's steps, or 8,000 of GCC's operations.
inline constexpr int steps_a_part = plans_at_once ? 2048 : 1536;

/// A network's plan and the verdict on its tables, which the parts below rely on.
template <class Network, plan_options Options>
struct checked_tables {
  static constexpr auto const& plan = planned<Network, Options>::value;
  using state = snapshot<Network::view().size, plan.sizes, plan.micro_batches>;

  static constexpr plan_verdict verdict = [] {
    dsl::plan const p = plan.view();
    graph_view const g = Network::view();
    plan_verdict const v = check_tables(g, p);
    return v.holds() ? check_layout(g, p, layout(g, p)) : v;
  }();
};

/// The state of the check after part number Part, with Size steps each. Part 0 is before the first step.
template <class Network, plan_options Options, int Size, int Part>
struct checked_steps : checked_tables<Network, Options> {
  using tables = checked_tables<Network, Options>;
  static constexpr auto const& before = checked_steps<Network, Options, Size, Part - 1>::value;

  static constexpr typename tables::state value = [] {
    typename tables::state s = before;
    if (!s.verdict.holds()) return s;
    dsl::plan const p = tables::plan.view();
    graph_view const g = Network::view();
    layout const l(g, p);
    step_checker steps(g, p, l);
    if (Part > 1) steps.exchange(before, out_of_snapshot());
    int const end = Part * Size;
    s.verdict = steps.run(end - Size, end < p.steps.size() ? end : p.steps.size());
    if (s.verdict.holds()) steps.exchange(s, into_snapshot());
    return s;
  }();
};
template <class Network, plan_options Options, int Size>
struct checked_steps<Network, Options, Size, 0> : checked_tables<Network, Options> {
  static constexpr
      typename checked_tables<Network, Options>::state value{.verdict = checked_tables<Network, Options>::verdict};
};

/// The verdict on a network's plan, found in parts. It is the same as that of verify().
template <class Network, plan_options Options, int Size = steps_a_part>
struct checked_plan : checked_tables<Network, Options> {
  using tables = checked_tables<Network, Options>;
  static constexpr int parts = (tables::plan.sizes.steps + Size - 1) / Size;
  static constexpr auto const& last = checked_steps<Network, Options, Size, parts>::value;

  static constexpr plan_verdict verdict = [] {
    if (!last.verdict.holds()) return last.verdict;
    list<lifetime> lifetimes(tables::plan.sizes.buffers);
    for (int b = 0; b < lifetimes.size(); ++b) lifetimes[b] = last.buffers[b].life;
    return check_use(Network::view(), tables::plan.view(), lifetimes);
  }();
};

/// The verdict on a network's plan, which is the same as that of verify().
template <class Network, plan_options Options>
inline constexpr plan_verdict verdict_of_plan = checked_plan<Network, Options>::verdict;
template <class Network, plan_options Options>
  requires(is_small<Network, Options> || (plans_at_once && planned<Network, Options>::value.sizes.steps <= 3200))
inline constexpr plan_verdict verdict_of_plan<Network, Options> =
    verify(Network::view(), planned<Network, Options>::value.view());

}  // namespace dsl::detail::checking
