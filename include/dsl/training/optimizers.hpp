// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/detail/option_check.hpp>
#include <dsl/executors/update_rule.hpp>

#include <concepts>

namespace dsl::detail::TYPENET_MODE {

/// Checks the numbers of optimizers. Throws option_error: "adam: beta_1 must be ...; found 2".
struct optimizer_check : option_check {
  void numbers(double learning_rate, double weight_decay, gradient_clip const& clip) const;
  void epsilon(double e) const;
  void decay(double d, char const* must) const { need(d >= 0 && d < 1, must, d); }

 private:
  void size(char const* must, double x) const { need(x >= 0 && x < 1e30, must, x); }
};

/// Returns the update rule of Adam, with or without decoupled weight decay.
update_rule adam_rule(char const* name, double beta_1, double beta_2, double epsilon, bool corrects_root,
                      double weight_decay, gradient_clip const& clip);

}  // namespace dsl::detail::TYPENET_MODE

namespace dsl::TYPENET_MODE {

/// Stochastic gradient descent. With momentum it follows Keras's rule: v = momentum * v - rate * gradient, p += v.
/// PyTorch leaves the rate out of the velocity, which makes a difference once the rate changes; use .rate_in_velocity =
/// false for PyTorch's rule. weight_decay is L2 regularisation, which is added to the gradient, as in PyTorch. Keras 3
/// instead subtracts rate * weight_decay times each parameter; use .decoupled_decay = true for its rule.
struct sgd {
  double learning_rate = 0.01;
  double momentum = 0;
  bool nesterov = false;
  double weight_decay = 0;
  bool decoupled_decay = false;
  bool rate_in_velocity = true;
  gradient_clip clip{};

  /// Returns the number of slots per parameter: training_bytes(batch, {}, sgd{.momentum = 0.9}.slots()).
  constexpr int slots() const { return momentum != 0 ? 1 : 0; }
  update_rule rule() const;
};

/// Adam (Kingma, Ba 2015): m = beta_1 m + (1 - beta_1) g, v = beta_2 v + (1 - beta_2) g^2, both bias-corrected, p -=
/// rate m / (sqrt(v) + epsilon). As in Keras, epsilon is added to the root of the uncorrected v. PyTorch adds epsilon,
/// by default 1e-8, after the correction; use .corrected_epsilon = true for its rule. weight_decay is L2
/// regularisation, as in PyTorch; for the weight decay of Keras 3, see adamw.
struct adam {
  double learning_rate = 1e-3;
  double beta_1 = 0.9;
  double beta_2 = 0.999;
  double epsilon = 1e-7;
  bool corrected_epsilon = false;
  double weight_decay = 0;
  gradient_clip clip{};

  static constexpr int slots() { return 2; }
  update_rule rule() const;
};

/// Adam that first subtracts rate * weight_decay times each parameter from the parameter, independently of its gradient
/// (Loshchilov, Hutter 2019). Keras and PyTorch use the same rule; weight_decay is 0.004 by default in Keras and 0.01
/// in PyTorch. For epsilon, see adam.
struct adamw {
  double learning_rate = 1e-3;
  double beta_1 = 0.9;
  double beta_2 = 0.999;
  double epsilon = 1e-7;
  bool corrected_epsilon = false;
  double weight_decay = 0.004;
  gradient_clip clip{};

  static constexpr int slots() { return 2; }
  update_rule rule() const;
};

/// RMSprop (Tieleman, Hinton 2012) as in Keras 2: v = rho v + (1 - rho) g^2, p -= rate g / (sqrt(v) + epsilon). Keras 3
/// adds epsilon inside the root; use .epsilon_in_root = true for its rule. PyTorch's defaults are a rate of 0.01, a rho
/// (which it calls alpha) of 0.99 and an epsilon of 1e-8. With momentum, steps are added to a velocity. This includes
/// the rate in Keras but not in PyTorch; use .rate_in_velocity = false for PyTorch's rule. With `centered`, v is the
/// variance of the gradients. For weight_decay, see sgd.
struct rmsprop {
  double learning_rate = 1e-3;
  double rho = 0.9;
  double momentum = 0;
  double epsilon = 1e-7;
  bool centered = false;
  bool epsilon_in_root = false;
  bool rate_in_velocity = true;
  double weight_decay = 0;
  bool decoupled_decay = false;
  gradient_clip clip{};

  constexpr int slots() const { return 1 + (momentum != 0 ? 1 : 0) + (centered ? 1 : 0); }
  update_rule rule() const;
};

/// Satisfied by sgd, adam, adamw and rmsprop: types with a learning rate and an update rule. A rule is a value of
/// update_rule, which executors implement.
template <class O>
concept optimizer = requires(O const& o) {
  { o.learning_rate } -> std::convertible_to<double>;
  { o.rule() } -> std::convertible_to<update_rule>;
};

}  // namespace dsl::TYPENET_MODE

#ifdef TYPENET_DEFINITIONS
#include <dsl/training/optimizers_inl.hpp>
#endif
