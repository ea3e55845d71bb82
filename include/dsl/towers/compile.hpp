// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/towers/replicate.hpp>
#include <dsl/towers/towers.hpp>
#include <dsl/training/compile.hpp>

#include <concepts>
#include <memory>

namespace dsl::detail::TYPENET_MODE {

/// Satisfied by executors whose own for_tower returns an executor for one tower. A class that is derived from such an
/// executor and has its own make_engine inherits for_tower, whose result does not have that make_engine.
template <class Executor>
concept divides_into_towers =
    std::same_as<class_of<decltype(&Executor::make_engine)>, class_of<decltype(&Executor::for_tower)>>;

/// Returns a factory that makes one engine for each tower. For an executor on the host, the factory also knows the
/// number of cores of a tower; for other executors, the number of devices.
template <operation_set Only = all_operations, class Executor>
tower_factory factory_of(Executor const& on, int towers) {
  static_assert(
      requires { on.cores_a_tower(towers); } || requires { on.devices(); },
      "towers: this executor must have cores_a_tower() or devices(), and its engines must sum gradients with "
      "options.group");
  tower_factory f{.executor = &on,
                  .make = [](void const* e, tower_device const& at, graph_view const& net, engine_options const& mine) {
                    auto const& executor = *static_cast<Executor const*>(e);
                    if constexpr (divides_into_towers<Executor>)
                      return detail::make_engine<Only>(executor.for_tower(at), net, mine);
                    else
                      return detail::make_engine<Only>(executor, net, mine);
                  }};
  if constexpr (requires { on.cores_a_tower(towers); }) f.cores_a_tower = on.cores_a_tower(towers);
  if constexpr (requires { on.devices(); }) f.devices = on.devices();
  return f;
}

}  // namespace dsl::detail::TYPENET_MODE

namespace dsl::TYPENET_MODE {

/// Returns one engine that consists of an engine for each device. Throws option_error if there are too few devices. The
/// network must not have operations that are not in the set `Only`.
template <operation_set Only = all_operations, executor Executor>
std::unique_ptr<engine> make_towers(Executor const& on, graph_view const& g, engine_options const& o, towers const& t) {
  bool const alone = !t.processes || t.processes->processes() == 1;
  if (t.count == 1 && t.devices.empty() && alone) return detail::make_engine<Only>(on, g, o);
  return detail::make_towers_engine(detail::factory_of<Only>(on, t.count), g, o, t);
}

}  // namespace dsl::TYPENET_MODE

namespace dsl::detail::TYPENET_MODE {

template <>
inline constexpr bool is_towers<towers> = true;

/// Returns the towers of a training run, from the network's type and the argument t. Devices and processes come from t.
/// If the type is a replicate<...>, it determines the number of towers and the policy, which t may omit. Throws
/// option_error if t has another number or policy.
template <class Network>
towers towers_of(towers t) {
  if constexpr (replicated<Network>) {
    towers const own{.count = Network::replicas, .policy = Network::policy};
    if (t.count != 1 && t.count != own.count)
      throw option_error(message({"compile: replicate<", own.count, ", ...> already sets the number of towers; found ",
                                  t.count, " in towers{.count}; leave out .count"}));
    if (t.policy != tower_policy{} && t.policy != own.policy)
      throw option_error(
          message({"compile: replicate<", own.count,
                   ", ...> already sets the policy; found another one in towers{.policy}; leave out .policy"}));
    t.count = own.count, t.policy = own.policy;
  }
  return t;
}

/// Throws option_error if there are too few devices, or if the network is a replicate<G, ...> and `given` has another
/// number of towers or another policy. In `given`, the defaults 1 and host_merge mean that no number and no policy is
/// given.
template <class Network, class Executor, class... Towers>
std::unique_ptr<engine> make_engines(Executor const& on, engine_options const& o, Towers const&... given) {
  return make_towers<operations_in<Network>()>(on, Network::view(), o, towers_of<Network>(towers{given...}));
}

}  // namespace dsl::detail::TYPENET_MODE

#ifdef TYPENET_DEFINITIONS
#include <dsl/towers/engine_inl.hpp>
#endif
