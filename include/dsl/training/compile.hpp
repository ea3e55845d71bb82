// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/detail/option_check.hpp>
#include <dsl/executors/host/make_crew.hpp>
#include <dsl/network.hpp>
#include <dsl/rules/broken_uses.hpp>
#include <dsl/training/loss_check.hpp>
#include <dsl/training/optimizers.hpp>
#include <dsl/training/trainer.hpp>

#include <concepts>
#include <cstdint>

namespace dsl::TYPENET_MODE {

/// What a network is trained for and from: the loss that fit lowers, and all that does not belong to one run of fit.
struct compile_options {
  dsl::loss loss = dsl::loss::categorical_crossentropy;
  std::uint64_t seed = 0;                  // of weights, order, augmentation and dropout
  double batch_norm_momentum = -1;         // replaces every layer's own; -1: does not
  bool unbiased_running_variance = false;  // as PyTorch; Keras's is biased
  double label_smoothing = 0;              // 0 to less than 1: what part of a cross-entropy's target all classes share
  plan_checker verify = nullptr;           // &dsl::verify: check every plan once more as the program makes it
};

}  // namespace dsl::TYPENET_MODE

namespace dsl::detail::TYPENET_MODE {

/// Larger plans are checked when the engine makes them: the compiler would take longer than some six seconds, and on
/// several devices, whose order is checked in one evaluation, more steps than Clang allows by default.
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
    return checking::verdict_of_plan<Network, checked_options<Network, Executor, Towers>()>().holds();
  else
    return true;
}

/// Where nobody names another loss it is cross-entropy.
template <class Network>
constexpr void require_crossentropy_suits() {
  if constexpr (is_network<Network>)
    if constexpr (Network::is_sound && !gives_probabilities(Network::view()))
      static_cast<void>(
          sizeof(broken::crossentropy_takes_probabilities<Network, last_of(Network::view()).kind, false>));
}

/// Returns what compile_options come to. Throws option_error for a loss that the network's output does not suit, and
/// for numbers that make no sense.
engine_options checked_options(graph_view const& g, update_rule const& update, compile_options const& o);

/// What every engine of a network is made with.
template <class Network>
[[gnu::cold]] engine_options options_of(update_rule const& update, compile_options const& o) {
  engine_options engine = checked_options(Network::view(), update, o);
  engine.micro_batches = micro_batches<Network>;
  if constexpr (Network::device_count > 1) engine.make_crew = &host::make_crew;
  if constexpr (!checked_while_compiling<Network>)
    if (!engine.verify) engine.verify = &verify;
  return engine;
}

/// Names the class that says which of compile's arguments is of a wrong kind.
template <class First = broken::nothing, class Second = broken::nothing, class Third = broken::nothing, class...>
struct wrong_argument : rules::says<broken::compile_takes_an_executor<First, false>> {};
template <executor First, class Second, class Third, class... Rest>
struct wrong_argument<First, Second, Third, Rest...> : rules::says<broken::compile_takes_an_optimizer<Second, false>> {
};
template <executor First, optimizer Second, class Third, class... Rest>
struct wrong_argument<First, Second, Third, Rest...> : rules::says<broken::compile_takes_options<Third, false>> {};

}  // namespace dsl::detail::TYPENET_MODE

namespace dsl::TYPENET_MODE {

/// A network on an executor with fresh weights:
///   auto t = dsl::compile<model>(dsl::reference{}, dsl::sgd{.learning_rate = 5e-3, .momentum = 0.9});
/// That the plan is sound (no read before its write, no buffer overwritten while needed) is checked as it compiles, for
/// networks of more than 1,000 operations (300 on several devices) when the engine makes it. Throws option_error for
/// options that make no sense, a loss that the network's output does not suit among them. The
/// return type, trainer, is deduced so that editors look into the function and show what is wrong with the network.
template <class Network, executor Executor, optimizer Optimizer>
[[gnu::cold]] auto compile(Executor const& on, Optimizer const& optimizer, compile_options const& o) {
  if constexpr (Network::is_sound)  // else the compiler has said what is wrong, and need not say it twice
    static_assert(detail::sound<Network, Executor>(),
                  "plan: typenet made a plan that its own checker refuses; please report the network");
  return trainer{on.make_engine(Network::view(), detail::options_of<Network>(optimizer.rule(), o)),
                 static_cast<double>(optimizer.learning_rate)};
}

/// Without options the loss is cross-entropy, and that the network suits it is checked as it compiles.
template <class Network, executor Executor, optimizer Optimizer>
[[gnu::cold]] auto compile(Executor const& on, Optimizer const& optimizer) {
  detail::require_crossentropy_suits<Network>();
  return compile<Network>(on, optimizer, compile_options{});
}

/// Of what is no network, as minigooglenet<10> without network<image<...>, ...> around it: says so.
template <class Thing, executor Executor, optimizer Optimizer>
  requires(!is_network<Thing>)
auto compile(Executor const&, Optimizer const&, compile_options const&) {
  static_cast<void>(sizeof(broken::compile_takes_a_network<Thing, false>));
  return trainer{nullptr, 0};
}

/// Takes the arguments that no other compile() takes, and says which of them is wrong.
template <class Network, class... Given>
auto compile(Given const&...) {
  static_cast<void>(sizeof(typename detail::wrong_argument<Given...>::type));
  return trainer{nullptr, 0};
}
template <class Network, class First, class Second>
auto compile(First const&, Second const&, compile_options const&) {
  static_cast<void>(sizeof(typename detail::wrong_argument<First, Second>::type));
  return trainer{nullptr, 0};
}

}  // namespace dsl::TYPENET_MODE

#ifndef TYPENET_COMPILED
#include <dsl/training/compile_inl.hpp>
#endif
