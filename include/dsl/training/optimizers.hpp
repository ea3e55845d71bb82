// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/option_check.hpp>
#include <dsl/executors/engine.hpp>

#include <concepts>

namespace dsl {

namespace detail {

/// What all optimizers ask of their numbers. Throws option_error: "adam: beta_1 must be ...; found 2".
struct optimizer_check : option_check {
  [[gnu::cold]] void numbers(double learning_rate, double weight_decay, gradient_clip const& clip) const {
    size("learning_rate must be a number of at least 0", learning_rate);
    size("weight_decay must be a number of at least 0", weight_decay);
    size("clip.norm must be a number of at least 0, and 0 clips nothing", clip.norm);
    size("clip.value must be a number of at least 0, and 0 clips nothing", clip.value);
    size("clip.norm_epsilon must be a number of at least 0", clip.norm_epsilon);
  }
  [[gnu::cold]] void epsilon(double e) const {  // below, it may become 0 in float, and 0 / 0 where a gradient is 0
    need(e >= 1e-30 && e < 1e30, "epsilon must be a number of at least 1e-30", e);
  }
  [[gnu::cold]] void decay(double d, char const* must) const { need(d >= 0 && d < 1, must, d); }

 private:
  [[gnu::cold]] void size(char const* must, double x) const { need(x >= 0 && x < 1e30, must, x); }
};

/// Adam's numbers, with and without its decay decoupled.
[[gnu::cold]] inline update_rule adam_rule(char const* name, double beta_1, double beta_2, double epsilon,
                                           bool corrects_root, double weight_decay, gradient_clip const& clip) {
  optimizer_check const check{{name}};
  check.decay(beta_1, "beta_1 must be at least 0 and less than 1");
  check.decay(beta_2, "beta_2 must be at least 0 and less than 1");
  check.epsilon(epsilon);
  return {.weight_decay = weight_decay,
          .method = update_method::adam,
          .first_decay = beta_1,
          .second_decay = beta_2,
          .epsilon = epsilon,
          .where = corrects_root ? epsilon_place::beside_corrected_root : epsilon_place::beside_root,
          .clip = clip};
}

}  // namespace detail

/// Stochastic gradient descent. With momentum, Keras's rule: v = momentum * v - rate * gradient, p += v. PyTorch keeps
/// the rate out of the velocity, which differs once the rate changes: .rate_in_velocity = false. weight_decay is L2, a
/// part of the gradient, as in PyTorch; Keras 3's takes rate * weight_decay of each parameter: .decoupled_decay = true.
struct sgd {
  double learning_rate = 0.01;
  double momentum = 0;
  bool nesterov = false;
  double weight_decay = 0;
  bool decoupled_decay = false;
  bool rate_in_velocity = true;
  gradient_clip clip{};

  /// Numbers a parameter that training keeps: training_bytes(batch, {}, sgd{.momentum = 0.9}.slots()).
  constexpr int slots() const { return momentum != 0 ? 1 : 0; }
  [[gnu::cold]] update_rule rule() const {
    detail::optimizer_check const check{{"sgd"}};
    check.numbers(learning_rate, weight_decay, clip);
    check.decay(momentum, "momentum must be at least 0 and less than 1");
    check.need(!nesterov || momentum > 0, "nesterov needs a momentum", momentum);
    return {.momentum = momentum,
            .weight_decay = weight_decay,
            .nesterov = nesterov,
            .rate_in_velocity = rate_in_velocity,
            .decoupled = decoupled_decay,
            .clip = clip};
  }
};

/// Adam (Kingma, Ba 2015): m = beta_1 m + (1 - beta_1) g, v = beta_2 v + (1 - beta_2) g^2, both without their bias,
/// p -= rate m / (sqrt(v) + epsilon). Keras adds epsilon to the root of v as it is, PyTorch after its correction, and
/// with 1e-8: .corrected_epsilon = true. weight_decay is L2, as PyTorch's; Keras 3's is adamw's.
struct adam {
  double learning_rate = 1e-3;
  double beta_1 = 0.9;
  double beta_2 = 0.999;
  double epsilon = 1e-7;
  bool corrected_epsilon = false;
  double weight_decay = 0;
  gradient_clip clip{};

  static constexpr int slots() { return 2; }
  [[gnu::cold]] update_rule rule() const {
    detail::optimizer_check{{"adam"}}.numbers(learning_rate, weight_decay, clip);
    return detail::adam_rule("adam", beta_1, beta_2, epsilon, corrected_epsilon, weight_decay, clip);
  }
};

/// Adam that takes rate * weight_decay of each parameter first, whatever its gradient (Loshchilov, Hutter 2019); the
/// same in Keras, whose weight_decay is 0.004, and PyTorch, whose is 0.01. See adam for epsilon.
struct adamw {
  double learning_rate = 1e-3;
  double beta_1 = 0.9;
  double beta_2 = 0.999;
  double epsilon = 1e-7;
  bool corrected_epsilon = false;
  double weight_decay = 0.004;
  gradient_clip clip{};

  static constexpr int slots() { return 2; }
  [[gnu::cold]] update_rule rule() const {
    detail::optimizer_check{{"adamw"}}.numbers(learning_rate, weight_decay, clip);
    update_rule r = detail::adam_rule("adamw", beta_1, beta_2, epsilon, corrected_epsilon, weight_decay, clip);
    r.decoupled = true;
    return r;
  }
};

/// RMSprop (Tieleman, Hinton 2012): v = rho v + (1 - rho) g^2, p -= rate g / (sqrt(v) + epsilon), Keras 2's. Keras 3's
/// has epsilon in the root: .epsilon_in_root = true. PyTorch's rate is 0.01, its rho (alpha) 0.99, its epsilon 1e-8.
/// With momentum the steps go into a velocity, Keras's with the rate in it, PyTorch's without: .rate_in_velocity =
/// false. centered: by the variance of gradients. weight_decay as in sgd.
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
  [[gnu::cold]] update_rule rule() const {
    detail::optimizer_check const check{{"rmsprop"}};
    check.numbers(learning_rate, weight_decay, clip);
    check.decay(rho, "rho must be at least 0 and less than 1");
    check.decay(momentum, "momentum must be at least 0 and less than 1");
    check.epsilon(epsilon);
    return {.momentum = momentum,
            .weight_decay = weight_decay,
            .rate_in_velocity = rate_in_velocity,
            .method = update_method::rmsprop,
            .second_decay = rho,
            .epsilon = epsilon,
            .where = epsilon_in_root ? epsilon_place::in_root : epsilon_place::beside_root,
            .decoupled = decoupled_decay,
            .centered = centered,
            .clip = clip};
  }
};

/// sgd, adam, adamw, rmsprop: a rate and a rule. Rules are those that update_rule knows; executors implement these.
template <class O>
concept optimizer = requires(O const& o) {
  { o.learning_rate } -> std::convertible_to<double>;
  { o.rule() } -> std::convertible_to<update_rule>;
};

}  // namespace dsl
