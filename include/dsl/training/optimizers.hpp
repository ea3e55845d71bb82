// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/detail/option_check.hpp>
#include <dsl/executors/update_rule.hpp>

#include <concepts>

namespace dsl::detail::TYPENET_MODE {

/// Checks the numbers of optimizers. Throws option_error: "adam: beta_1 must be ...; found 2".
struct optimizer_check : option_check {
  [[gnu::cold]] void numbers(double learning_rate, double weight_decay, gradient_clip const& clip) const;
  [[gnu::cold]] void epsilon(double e) const;
  [[gnu::cold]] void decay(double d, char const* must) const { need(d >= 0 && d < 1, must, d); }

 private:
  [[gnu::cold]] void size(char const* must, double x) const { need(x >= 0 && x < 1e30, must, x); }
};

/// Returns the rule of Adam, with or without decoupled decay.
[[gnu::cold]] update_rule adam_rule(char const* name, double beta_1, double beta_2, double epsilon, bool corrects_root,
                                    double weight_decay, gradient_clip const& clip);

}  // namespace dsl::detail::TYPENET_MODE

namespace dsl::TYPENET_MODE {

/// Stochastic gradient descent. With momentum it follows Keras's rule: v = momentum * v - rate * gradient, p += v.
/// In PyTorch the velocity does not include the rate, which makes a difference once the rate changes: .rate_in_velocity
/// = false. weight_decay is L2, a part of the gradient, as in PyTorch; Keras 3 removes rate * weight_decay of each
/// parameter: .decoupled_decay = true.
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
  [[gnu::cold]] update_rule rule() const;
};

/// Adam (Kingma, Ba 2015): m = beta_1 m + (1 - beta_1) g, v = beta_2 v + (1 - beta_2) g^2, both bias-corrected, p -=
/// rate m / (sqrt(v) + epsilon). Keras adds epsilon to the root of the uncorrected v; PyTorch adds it after the
/// correction, and its default is 1e-8: .corrected_epsilon = true. weight_decay is L2, as in PyTorch; for that of Keras
/// 3, see adamw.
struct adam {
  double learning_rate = 1e-3;
  double beta_1 = 0.9;
  double beta_2 = 0.999;
  double epsilon = 1e-7;
  bool corrected_epsilon = false;
  double weight_decay = 0;
  gradient_clip clip{};

  static constexpr int slots() { return 2; }
  [[gnu::cold]] update_rule rule() const;
};

/// Adam that first removes rate * weight_decay of each parameter, independent of its gradient (Loshchilov, Hutter
/// 2019). The rule is the same in Keras, whose weight_decay is 0.004, and in PyTorch, whose is 0.01. See adam for
/// epsilon.
struct adamw {
  double learning_rate = 1e-3;
  double beta_1 = 0.9;
  double beta_2 = 0.999;
  double epsilon = 1e-7;
  bool corrected_epsilon = false;
  double weight_decay = 0.004;
  gradient_clip clip{};

  static constexpr int slots() { return 2; }
  [[gnu::cold]] update_rule rule() const;
};

/// RMSprop (Tieleman, Hinton 2012) as in Keras 2: v = rho v + (1 - rho) g^2, p -= rate g / (sqrt(v) + epsilon). Keras 3
/// has epsilon inside the root: .epsilon_in_root = true. PyTorch's rate is 0.01, its rho (alpha) 0.99, its epsilon
/// 1e-8. With momentum, steps go into a velocity, in Keras including the rate, in PyTorch without: .rate_in_velocity =
/// false. `centered` uses the variance of gradients. For weight_decay see sgd.
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
  [[gnu::cold]] update_rule rule() const;
};

/// Satisfied by sgd, adam, adamw, rmsprop: a learning rate and a rule. Rules are values of update_rule, which executors
/// implement.
template <class O>
concept optimizer = requires(O const& o) {
  { o.learning_rate } -> std::convertible_to<double>;
  { o.rule() } -> std::convertible_to<update_rule>;
};

}  // namespace dsl::TYPENET_MODE

#ifndef TYPENET_COMPILED
#include <dsl/training/optimizers_inl.hpp>
#endif
