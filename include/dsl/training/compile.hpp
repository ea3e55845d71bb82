// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/network.hpp>
#include <dsl/training/optimizers.hpp>
#include <dsl/training/trainer.hpp>

namespace dsl {

struct compile_options {
  dsl::loss loss = dsl::loss::categorical_crossentropy;
  std::uint64_t seed = 0;                  // of weights, order, augmentation and dropout
  double batch_norm_momentum = -1;         // replaces every layer's own; -1: does not
  bool unbiased_running_variance = false;  // as PyTorch; Keras's is biased
  plan_checker verify = nullptr;           // &dsl::verify: check every plan once more as the program makes it
};

namespace detail {

/// Clang evaluates 1,048,576 steps of a constant by default; a plan and its check take some 2,000 a node. The plans of
/// larger networks are checked when the engine makes them.
template <class Network>
inline constexpr bool checked_while_compiling = Network::view().size.nodes <= 300;

template <class Network, class Executor>
constexpr bool sound() {
  if constexpr (!checked_while_compiling<Network>)
    return true;
  else if constexpr (requires { Executor::compile_time_target; })
    return verified<Network, 64, mode::training, Executor::compile_time_target>;
  else
    return verified<Network>;
}

}  // namespace detail

/// A network on an executor with fresh weights:
///   auto t = dsl::compile<model>(dsl::reference{}, dsl::sgd{.learning_rate = 5e-3, .momentum = 0.9});
/// That the plan is sound (no read before its write, no buffer overwritten while needed) is checked as it compiles, for
/// networks of more than 300 operations when the engine makes it.
template <class Network, executor Executor, optimizer Optimizer>
[[gnu::cold]] trainer compile(Executor const& on, Optimizer const& optimizer, compile_options const& o = {}) {
  if constexpr (Network::is_sound)  // else the compiler has said what is wrong, and need not say it twice
    static_assert(detail::sound<Network, Executor>(),
                  "plan: typenet made a plan that its own checker refuses; please report the network");
  if (!(o.batch_norm_momentum < 1) || (o.batch_norm_momentum < 0 && o.batch_norm_momentum != -1))
    throw option_error(
        detail::message({"batch_norm_momentum: it must be 0 to less than 1, or -1 for the layers' own; found ",
                         o.batch_norm_momentum}));
  engine_options engine{.seed = o.seed,
                        .update = optimizer.rule(),
                        .loss = o.loss,
                        .batch_norm_momentum = o.batch_norm_momentum,
                        .unbiased_running_variance = o.unbiased_running_variance,
                        .verify = o.verify};
  if constexpr (!detail::checked_while_compiling<Network>)
    if (!engine.verify) engine.verify = &verify;
  return {on.make_engine(Network::view(), engine), static_cast<double>(optimizer.learning_rate)};
}

}  // namespace dsl
