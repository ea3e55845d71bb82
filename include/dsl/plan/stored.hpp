// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/plan/make_plan.hpp>

// Plans of large networks are made and checked in parts, each a separate constant, because compilers limit the
// evaluation of one constant. Clang stops at 1,048,576 steps, of which the plan of 1,000 convolutions takes 1,230,000
// and its check 1,970,000; GCC at 33,554,432 operations, of which they take 17 million and 27 million. Each part is
// stored in arrays, since memory allocated by an evaluation must be freed at its end.
namespace dsl::detail {

/// Whether the compiler can evaluate a plan of 1,000 nodes in one constant expression. Clang's and
/// nvcc's limits are too low.
#if defined(__clang__) || defined(__CUDACC__)
inline constexpr bool plans_at_once = false;
#else
inline constexpr bool plans_at_once = true;
#endif

/// The number of entries in each table of a plan.
struct plan_sizes {
  int steps = 0;
  int operands = 0;
  int buffers = 0;
  int tensors = 0;  // for all micro-batches
  int parameters = 0;
  int waits = 0;
  int devices = 0;

  friend constexpr bool operator==(plan_sizes const&, plan_sizes const&) = default;
};

constexpr plan_sizes sizes_of(plan const& p) {
  return {p.steps.size(), p.operands.size(), p.buffers.size(), p.activations.size(), p.parameter_buffers.size(),
          p.waits.size(), p.devices.size()};
}

/// Returns sizes that are large enough for the plans of most networks.
constexpr plan_sizes likely_sizes(graph_view const& g, plan_options const& o) {
  int const micros = micro_batches_of(o);
  int const steps = micros * (3 * g.size.nodes + g.size.edges / 2 + 16);
  return {steps,
          micros * (11 * g.size.nodes + 2 * g.size.edges + 16),
          micros * (3 * g.size.tensors + 2 * g.size.parameters + 16),
          micros * g.size.tensors,
          g.size.parameters,
          (g.size.devices - 1) * steps,
          g.size.devices};
}

template <class T>
constexpr void copy_into(T* to, list<T> const& from) {
  for (int i = 0; i < from.size(); ++i) to[i] = from[i];
}

/// A plan as a constant, in arrays of at most the given sizes. If the plan does not fit, only its real sizes are
/// stored.
template <plan_sizes Most>
struct stored_plan {
  plan_sizes sizes{};
  plan_options options{};
  step steps[Most.steps + 1]{};
  operand operands[Most.operands + 1]{};
  buffer buffers[Most.buffers + 1]{};
  placement activations[Most.tensors + 1]{};
  placement gradients[Most.tensors + 1]{};
  int parameter_buffers[Most.parameters + 1]{};
  int parameter_gradient_buffers[Most.parameters + 1]{};
  int waits[Most.waits + 1]{};
  device_bytes devices[Most.devices + 1]{};
  long long region_bytes[regions]{};
  int labels = -1;
  int metrics = -1;
  int micro_batches = 1;

  constexpr stored_plan() = default;
  constexpr explicit stored_plan(plan const& p) : sizes(sizes_of(p)) {
    if (!fits()) return;
    options = p.options;
    copy_into(steps, p.steps);
    copy_into(operands, p.operands);
    copy_into(buffers, p.buffers);
    copy_into(activations, p.activations);
    copy_into(gradients, p.gradients);
    copy_into(parameter_buffers, p.parameter_buffers);
    copy_into(parameter_gradient_buffers, p.parameter_gradient_buffers);
    copy_into(waits, p.waits);
    copy_into(devices, p.devices);
    for (int r = 0; r < regions; ++r) region_bytes[r] = p.region_bytes[r];
    labels = p.labels;
    metrics = p.metrics;
    micro_batches = p.micro_batches;
  }

  constexpr bool fits() const {
    return sizes.steps <= Most.steps && sizes.operands <= Most.operands && sizes.buffers <= Most.buffers &&
           sizes.waits <= Most.waits;
  }

  /// Returns the plan with these arrays as its tables. They must not be written to.
  constexpr plan view() const {
    plan p;
    p.options = options;
    p.steps = list<step>::borrowed(steps, sizes.steps);
    p.operands = list<operand>::borrowed(operands, sizes.operands);
    p.buffers = list<buffer>::borrowed(buffers, sizes.buffers);
    p.activations = list<placement>::borrowed(activations, sizes.tensors);
    p.gradients = list<placement>::borrowed(gradients, sizes.tensors);
    p.parameter_buffers = list<int>::borrowed(parameter_buffers, sizes.parameters);
    p.parameter_gradient_buffers = list<int>::borrowed(parameter_gradient_buffers, sizes.parameters);
    p.waits = list<int>::borrowed(waits, sizes.waits);
    p.devices = list<device_bytes>::borrowed(devices, sizes.devices);
    for (int r = 0; r < regions; ++r) p.region_bytes[r] = region_bytes[r];
    p.labels = labels;
    p.metrics = metrics;
    p.micro_batches = micro_batches;
    return p;
  }
};

/// Whether a network is small enough for its plan to be made, or checked, in one constant by every compiler.
template <class Network, plan_options Options>
inline constexpr bool is_small = Network::view().size.nodes * micro_batches_of(Options) <= 300;

/// The plan of a network, or its steps only, whose buffers have no offsets yet, if the compiler cannot make the plan in
/// one constant. Network is any type whose view() is a constant. No function or lambda wraps make_plan() here: GCC
/// would evaluate the call once to optimise that function, and again for the constant.
template <class Network, plan_options Options, plan_sizes Most>
struct emitted {
  static constexpr stored_plan<Most> value{emit_plan(Network::view(), Options)};
};
template <class Network, plan_options Options, plan_sizes Most>
  requires(plans_at_once || is_small<Network, Options>)
struct emitted<Network, Options, Most> {
  static constexpr stored_plan<Most> value{make_plan(Network::view(), Options)};
};
template <class Network, plan_options Options, plan_sizes Guess = likely_sizes(Network::view(), Options),
          bool Fits = emitted<Network, Options, Guess>::value.fits()>
struct emitted_exactly : emitted<Network, Options, emitted<Network, Options, Guess>::value.sizes> {};
template <class Network, plan_options Options, plan_sizes Guess>
struct emitted_exactly<Network, Options, Guess, true> : emitted<Network, Options, Guess> {};

/// Returns the sizes with room for waits. A step waits for at most one step of each other device.
constexpr plan_sizes with_waits(plan_sizes s) {
  s.waits = (s.devices - 1) * s.steps;
  return s;
}

/// A network's plan, equal to that of make_plan().
template <class Network, plan_options Options>
struct planned {
  static constexpr auto const& steps = emitted_exactly<Network, Options>::value;
  static constexpr stored_plan<with_waits(steps.sizes)> value = [] {
    plan const borrowed = steps.view();
    plan p(borrowed);  // owns its tables
    place_buffers(Network::view(), p);
    return stored_plan<with_waits(steps.sizes)>(p);
  }();
};
template <class Network, plan_options Options>
  requires(plans_at_once || is_small<Network, Options>)
struct planned<Network, Options> : emitted_exactly<Network, Options> {};

/// Returns the bytes of a network's plan.
template <class Network, plan_options Options>
constexpr long long bytes_of_plan() {
  return planned<Network, Options>::value.view().bytes();
}

}  // namespace dsl::detail
