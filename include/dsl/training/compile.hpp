// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/host/make_thread_team.hpp>
#include <dsl/executors/native.hpp>
#include <dsl/network.hpp>
#include <dsl/rules/broken_budgets.hpp>
#include <dsl/training/compile_diagnostics.hpp>
#include <dsl/training/compile_options.hpp>
#include <dsl/training/optimizers.hpp>
#include <dsl/training/trainer.hpp>

#include <memory>

namespace dsl::detail::TYPENET_MODE {

/// Whether the plan is small enough to be checked by the compiler. The compiler would need more than about six seconds
/// for a larger plan, and for several devices, whose order is checked in one evaluation, more evaluation steps than
/// Clang allows by default. A larger plan is checked at run time, when the engine makes it.
template <class Network>
inline constexpr bool checked_while_compiling =
    Network::view().size.nodes * micro_batches<Network> <= (Network::device_count > 1 ? 300 : 1000);

template <class Network, class Executor, bool Towers>
constexpr plan_options checked_options() {
  target to{};
  if constexpr (requires { Executor::compile_time_target; }) to = Executor::compile_time_target;
  plan_options training = plan_options_of<Network>(64, mode::training, to);
  if (Towers) training.all_reduce_buckets = 1;
  return training;
}

template <class Network, class Executor, bool Towers = false>
constexpr bool sound() {
  if constexpr (checked_while_compiling<Network>)
    return checking::verdict_of_plan<Network, checked_options<Network, Executor, Towers>()>.holds();
  else
    return true;
}

/// If the network has a memory budget, requires an executor that keeps it.
template <class Network, class Executor>
constexpr void require_budgets_are_kept() {
  if constexpr (requires { Network::limit; }) {
    constexpr bool kept = requires { Executor::keeps_memory_budgets; };
    static_cast<void>(sizeof(broken::executor_keeps_budgets<Executor, kept>));
  }
}

/// Returns the engine's options. Throws option_error for a loss that does not suit the network's output, and for
/// invalid numbers.
engine_options checked_options(graph_view const& g, update_rule const& update, compile_options const& o);

/// Returns the options that are the same for the engine of every network.
template <class Network>
engine_options options_of(update_rule const& update, compile_options const& o) {
  engine_options engine = checked_options(Network::view(), update, o);
  engine.micro_batches = micro_batches<Network>;
  if constexpr (Network::device_count > 1) engine.make_thread_team = &host::make_thread_team;
  if constexpr (!checked_while_compiling<Network>)
    if (!engine.verify) engine.verify = &verify;
  if constexpr (requires { Network::limit; }) {
    engine.limit = Network::limit;
    if (!engine.verify) engine.verify = &verify;
  }
  return engine;
}

/// Satisfied by a network type that says how many towers it has: replicate<G, ...>.
template <class Network>
concept replicated = !is_plain_network<Network> && requires { Network::replicas; };

/// Returns one engine that consists of an engine for each tower. <dsl/towers.hpp> defines it.
template <class Network, class Executor, class... Towers>
std::unique_ptr<engine> make_engines(Executor const& on, engine_options const& o, Towers const&... towers);

/// Prepares a network for training. Requires a right network.
template <class Network, executor Executor, optimizer Optimizer, class... Towers>
auto make_trainer(compile_options const& o, Executor const& on, Optimizer const& optimizer, Towers const&... towers) {
  require_budgets_are_kept<Network, Executor>();
  constexpr bool are_several = sizeof...(Towers) > 0 || replicated<Network>;
  if constexpr (Network::is_sound)  // otherwise the compiler has already reported what is wrong
    static_assert(sound<Network, Executor, are_several>(),
                  "plan: typenet made a plan that its own checker refuses; please report the network");
  engine_options const engine = options_of<Network>(optimizer.rule(), o);
  double const rate = static_cast<double>(optimizer.learning_rate);
  if constexpr (are_several)
    return trainer{make_engines<Network>(on, engine, towers...), rate};
  else
    return trainer{detail::make_engine<operations_in<Network>()>(on, Network::view(), engine), rate};
}
template <class Network, optimizer Optimizer, class... Towers>
auto make_trainer(compile_options const& o, Optimizer const& optimizer, Towers const&... towers) {
  return make_trainer<Network>(o, native{}, optimizer, towers...);
}

/// Prepares a network for training, unless the compiler has reported what is wrong with the call.
template <class Network, class... Given>
auto compile_with(compile_options const& o, Given const&... given) {
  if constexpr (is_network<Network> && compile_takes<Given...>)
    return make_trainer<Network>(o, given...);
  else
    return trainer{nullptr, 0};
}

/// The type of compile<Network>. The compiler looks at the overloads of a class only if Network is a type; if the
/// parameter Network belonged to the overloads, GCC would report a wrong name in Network once for each of them.
template <class Network>
struct compiler {
  /// Return a trainer. The return type is deduced so that editors analyse the function and show errors in the network.
  template <class First>
  auto operator()(First const& a, compile_options const& o) const {
    static_assert(alignof(compile_diagnostic<Network, First, compile_options>) > 0);
    return compile_with<Network>(o, a);
  }
  template <class First, class Second>
  auto operator()(First const& a, Second const& b, compile_options const& o) const {
    static_assert(alignof(compile_diagnostic<Network, First, Second, compile_options>) > 0);
    return compile_with<Network>(o, a, b);
  }
  template <class First, class Second, class Third>
  auto operator()(First const& a, Second const& b, Third const& c, compile_options const& o) const {
    static_assert(alignof(compile_diagnostic<Network, First, Second, Third, compile_options>) > 0);
    return compile_with<Network>(o, a, b, c);
  }
  /// Do the same without options, and report all wrong calls.
  template <class First = compile_in_braces<>>
  auto operator()(First const& a = {}) const {
    static_assert(alignof(compile_diagnostic<Network, First>) > 0);
    return compile_with<Network>({}, a);
  }
  template <class First, class Second = compile_in_braces<First>>
  auto operator()(First const& a, Second const& b) const {
    static_assert(alignof(compile_diagnostic<Network, First, Second>) > 0);
    return compile_with<Network>({}, a, b);
  }
  template <class First, class Second, class Third = compile_in_braces<First, Second>>
  auto operator()(First const& a, Second const& b, Third const& c) const {
    static_assert(alignof(compile_diagnostic<Network, First, Second, Third>) > 0);
    return compile_with<Network>({}, a, b, c);
  }
  template <class First, class Second, class Third, class Fourth = compile_in_braces<First, Second, Third>>
  auto operator()(First const& a, Second const& b, Third const& c, Fourth const& d) const {
    static_assert(alignof(compile_diagnostic<Network, First, Second, Third, Fourth>) > 0);
    return compile_with<Network>({}, a, b, c, d);
  }
#if defined(__GNUC__) && !defined(__clang__) && !defined(__CUDACC__)
  /// Print the options that there are if one has another name. GCC takes such options for the array.
  template <int Options>
  void operator()(anything const&, broken::options_of::compile const (&options)[Options]) const = delete;
  template <int Options>
  void operator()(anything const&, anything const&,
                  broken::options_of::compile const (&options)[Options]) const = delete;
  template <int Options>
  void operator()(anything const&, anything const&, anything const&,
                  broken::options_of::compile const (&options)[Options]) const = delete;
  /// Takes options with an error of their own, which GCC has reported: it then lists no other overload.
  template <int = 0>
  void operator()(anything const&, ...) const = delete;
#endif
};

}  // namespace dsl::detail::TYPENET_MODE

namespace dsl::TYPENET_MODE {

/// Prepares a network for training on an executor, with fresh weights:
///   auto t = dsl::compile<model>(dsl::native{}, dsl::sgd{.learning_rate = 5e-3, .momentum = 0.9});
/// Returns a trainer. Takes an executor, an optimizer, if needed towers{...}, and compile_options. Without an executor,
/// that is dsl::native{}, with all processors that this process may use. The compiler checks that
/// the plan is sound (no read before its write, no live buffer overwritten); for networks of more than 1,000 operations
/// (300 on several devices) the engine does at run time. Without options, the compiler also checks that the loss,
/// cross-entropy, suits the network's output. Throws option_error for invalid options, and for a loss that does not
/// suit the output.
template <class Network>
inline constexpr detail::compiler<Network> compile{};

}  // namespace dsl::TYPENET_MODE

#ifdef TYPENET_DEFINITIONS
#include <dsl/training/compile_inl.hpp>
#include <dsl/training/output_weight.hpp>
#endif
