// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/training/optimizers.hpp>

namespace dsl::detail::TYPENET_MODE {

TYPENET_INLINE void optimizer_check::numbers(double learning_rate, double weight_decay,
                                             gradient_clip const& clip) const {
  size("learning_rate must be at least 0 and less than 1e30", learning_rate);
  size("weight_decay must be at least 0 and less than 1e30", weight_decay);
  size("clip.norm must be at least 0 (which clips nothing) and less than 1e30", clip.norm);
  size("clip.value must be at least 0 (which clips nothing) and less than 1e30", clip.value);
  size("clip.norm_epsilon must be at least 0 and less than 1e30", clip.norm_epsilon);
}

TYPENET_INLINE void optimizer_check::epsilon(
    double e) const {  // a smaller one may become 0 in float, and a gradient of 0 then 0 / 0
  need(e >= 1e-30 && e < 1e30, "epsilon must be at least 1e-30 and less than 1e30", e);
}

TYPENET_INLINE update_rule adam_rule(char const* name, double beta_1, double beta_2, double epsilon, bool corrects_root,
                                     double weight_decay, gradient_clip const& clip) {
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

}  // namespace dsl::detail::TYPENET_MODE

namespace dsl::TYPENET_MODE {

TYPENET_INLINE update_rule sgd::rule() const {
  detail::optimizer_check const check{{"sgd"}};
  check.numbers(learning_rate, weight_decay, clip);
  check.decay(momentum, "momentum must be at least 0 and less than 1");
  check.need(!nesterov || momentum > 0, "nesterov needs a momentum above 0", momentum, "try 0.9");
  return {.momentum = momentum,
          .weight_decay = weight_decay,
          .nesterov = nesterov,
          .rate_in_velocity = rate_in_velocity,
          .decoupled = decoupled_decay,
          .clip = clip};
}

TYPENET_INLINE update_rule adam::rule() const {
  detail::optimizer_check{{"adam"}}.numbers(learning_rate, weight_decay, clip);
  return detail::adam_rule("adam", beta_1, beta_2, epsilon, corrected_epsilon, weight_decay, clip);
}

TYPENET_INLINE update_rule adamw::rule() const {
  detail::optimizer_check{{"adamw"}}.numbers(learning_rate, weight_decay, clip);
  update_rule r = detail::adam_rule("adamw", beta_1, beta_2, epsilon, corrected_epsilon, weight_decay, clip);
  r.decoupled = true;
  return r;
}

TYPENET_INLINE update_rule rmsprop::rule() const {
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

}  // namespace dsl::TYPENET_MODE
