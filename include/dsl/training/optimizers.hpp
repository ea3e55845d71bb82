// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/message.hpp>
#include <dsl/executors/engine.hpp>

#include <concepts>

namespace dsl {

/// Stochastic gradient descent. With momentum, Keras's rule: v = momentum * v - rate * gradient, p += v. PyTorch keeps
/// the rate out of the velocity, which differs once the rate changes: .rate_in_velocity = false.
struct sgd {
  double learning_rate = 0.01;
  double momentum = 0;
  bool nesterov = false;
  double weight_decay = 0;
  bool rate_in_velocity = true;

  [[gnu::cold]] update_rule rule() const {
    auto const need = [](bool holds, char const* must, double found) {
      if (!holds) throw option_error(detail::message({"sgd: ", must, "; found ", found}));
    };
    need(learning_rate >= 0 && learning_rate < 1e30, "learning_rate must be a number of at least 0", learning_rate);
    need(momentum >= 0 && momentum < 1, "momentum must be at least 0 and less than 1", momentum);
    need(weight_decay >= 0 && weight_decay < 1e30, "weight_decay must be a number of at least 0", weight_decay);
    need(!nesterov || momentum > 0, "nesterov needs a momentum", momentum);
    return {momentum, weight_decay, nesterov, rate_in_velocity};
  }
};

template <class O>
concept optimizer = requires(O const& o) {
  { o.learning_rate } -> std::convertible_to<double>;
  { o.rule() } -> std::convertible_to<update_rule>;
};

}  // namespace dsl
