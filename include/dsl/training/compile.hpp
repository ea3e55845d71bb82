// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/network.hpp>
#include <dsl/training/optimizers.hpp>
#include <dsl/training/trainer.hpp>

namespace dsl {

struct compile_options {
  dsl::loss loss = dsl::loss::categorical_crossentropy;
  std::uint64_t seed = 0;                  // of weights, order, augmentation and dropout
  double batch_norm_momentum = -1;         // >= 0 replaces every layer's own
  bool unbiased_running_variance = false;  // as PyTorch; Keras's is biased
};

namespace detail {

/// Clang evaluates 1,048,576 steps of a constant by default; a plan and its check take some 2,000 a node. The engine
/// checks every plan it runs in any case.
inline constexpr int nodes_checked_while_compiling = 300;

template <class Network>
constexpr bool sound() {
  if constexpr (Network::view().size.nodes <= nodes_checked_while_compiling)
    return verified<Network>;
  else
    return true;
}

}  // namespace detail

/// A network on an executor with fresh weights:
///   auto t = dsl::compile<model>(dsl::reference{}, dsl::sgd{.learning_rate = 5e-3, .momentum = 0.9});
/// That the plan is sound (no read before its write, no buffer overwritten while needed) is checked as it compiles, for
/// very deep networks when the executor builds it.
template <class Network, executor Executor, optimizer Optimizer>
trainer compile(Executor const& on, Optimizer const& optimizer, compile_options const& o = {}) {
  static_assert(detail::sound<Network>(),
                "plan: typenet made a plan that its own checker refuses; please report the network");
  if (!(o.batch_norm_momentum < 1))
    throw option_error("batch_norm_momentum: it must be less than 1; found " + std::to_string(o.batch_norm_momentum));
  return {on.make_engine(Network::view(), {.seed = o.seed,
                                           .update = optimizer.rule(),
                                           .loss = o.loss,
                                           .batch_norm_momentum = o.batch_norm_momentum,
                                           .unbiased_running_variance = o.unbiased_running_variance}),
          static_cast<double>(optimizer.learning_rate)};
}

}  // namespace dsl
