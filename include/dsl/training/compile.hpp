// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/option_check.hpp>
#include <dsl/executors/host/core_crew.hpp>
#include <dsl/network.hpp>
#include <dsl/training/loss_check.hpp>
#include <dsl/training/optimizers.hpp>
#include <dsl/training/trainer.hpp>

#include <concepts>
#include <cstdint>

namespace dsl {

/// What a network is trained for and from: the loss that fit lowers, and all that does not belong to one run of fit.
struct compile_options {
  dsl::loss loss = dsl::loss::categorical_crossentropy;
  std::uint64_t seed = 0;                  // of weights, order, augmentation and dropout
  double batch_norm_momentum = -1;         // replaces every layer's own; -1: does not
  bool unbiased_running_variance = false;  // as PyTorch; Keras's is biased
  double label_smoothing = 0;              // 0 to less than 1: what part of a cross-entropy's target all classes share
  plan_checker verify = nullptr;           // &dsl::verify: check every plan once more as the program makes it
};

namespace detail {

/// Clang evaluates 1,048,576 steps of a constant by default; a plan and its check take some 2,000 a node. The plans of
/// larger networks are checked when the engine makes them.
template <class Network>
inline constexpr bool checked_while_compiling = Network::view().size.nodes * micro_batches<Network> <= 300;

template <class Network, class Executor, bool Towers = false>
constexpr bool sound() {
  if constexpr (!checked_while_compiling<Network>) {
    return true;
  } else {
    target to{};
    if constexpr (requires { Executor::compile_time_target; }) to = Executor::compile_time_target;
    plan_options training = plan_options_of<Network>(64, mode::training, to);
    if (Towers) training.all_reduce_buckets = 1;
    return verify(Network::view(), make_plan(Network::view(), training)).holds();
  }
}

/// Where nobody names another loss it is cross-entropy.
template <class Network>
constexpr void require_crossentropy_suits() {
  if constexpr (is_network<Network>)
    if constexpr (Network::is_sound && !gives_probabilities(Network::view()))
      static_cast<void>(sizeof(broken::crossentropy_takes_probabilities<Network, last_of(Network::view()).kind>));
}

/// What every engine of a network is made with.
template <class Network>
[[gnu::cold]] engine_options options_of(update_rule const& update, compile_options const& o) {
  require_probabilities(Network::view(), o.loss);
  option_check{"batch_norm_momentum"}.need(
      (o.batch_norm_momentum >= 0 && o.batch_norm_momentum < 1) || o.batch_norm_momentum == -1,
      "it must be 0 to less than 1, or -1 for the layers' own", o.batch_norm_momentum);
  option_check{"label_smoothing"}.need(
      o.label_smoothing == 0 ||
          (o.loss == loss::categorical_crossentropy && o.label_smoothing > 0 && o.label_smoothing < 1),
      "it must be 0 to less than 1, and 0 but with categorical_crossentropy", o.label_smoothing);
  engine_options engine{.seed = o.seed,
                        .update = update,
                        .loss = o.loss,
                        .batch_norm_momentum = o.batch_norm_momentum,
                        .unbiased_running_variance = o.unbiased_running_variance,
                        .verify = o.verify,
                        .micro_batches = micro_batches<Network>,
                        .label_smoothing = o.label_smoothing};
  if constexpr (Network::device_count > 1) engine.make_crew = &host::make_crew;
  if constexpr (!checked_while_compiling<Network>)
    if (!engine.verify) engine.verify = &verify;
  return engine;
}

}  // namespace detail

/// A network on an executor with fresh weights:
///   auto t = dsl::compile<model>(dsl::reference{}, dsl::sgd{.learning_rate = 5e-3, .momentum = 0.9});
/// That the plan is sound (no read before its write, no buffer overwritten while needed) is checked as it compiles, for
/// networks of more than 300 operations when the engine makes it. Throws option_error for options that make no sense, a
/// loss that the network's output does not suit among them.
template <class Network, executor Executor, optimizer Optimizer>
[[gnu::cold]] trainer compile(Executor const& on, Optimizer const& optimizer, compile_options const& o) {
  if constexpr (Network::is_sound)  // else the compiler has said what is wrong, and need not say it twice
    static_assert(detail::sound<Network, Executor>(),
                  "plan: typenet made a plan that its own checker refuses; please report the network");
  return {on.make_engine(Network::view(), detail::options_of<Network>(optimizer.rule(), o)),
          static_cast<double>(optimizer.learning_rate)};
}

/// Without options the loss is cross-entropy, and that the network suits it is checked as it compiles.
template <class Network, executor Executor, optimizer Optimizer>
[[gnu::cold]] trainer compile(Executor const& on, Optimizer const& optimizer) {
  detail::require_crossentropy_suits<Network>();
  return compile<Network>(on, optimizer, compile_options{});
}

/// Of what is no network, as minigooglenet<10> without network<image<...>, ...> around it: says so.
template <class Thing, executor Executor, optimizer Optimizer>
  requires(!is_network<Thing>)
trainer compile(Executor const&, Optimizer const&, compile_options const&) {
  static_cast<void>(sizeof(broken::compile_takes_a_network<Thing, false>));
  return {nullptr, 0};
}

}  // namespace dsl
