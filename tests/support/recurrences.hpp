// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/training/optimizers.hpp>

#include <cmath>
#include <vector>

namespace dsl::test {

/// An optimizer's state for one parameter.
struct recurrence_state {
  double m = 0, v = 0, mean = 0, buffer = 0;
};

/// An optimizer's rule, and its original source's formulas in double: t counts steps from 1, lr is the rate.
struct recurrence {
  char const* name;
  update_rule rule;
  void (*step)(recurrence_state&, int t, double lr, double& p, double g);
};

inline std::vector<recurrence> recurrences() {
  return {
      // Keras 2, optimizers.py, Adam.get_updates; Keras 3 rounds differently, no more
      {"keras adam", adam{}.rule(),
       [](recurrence_state& s, int t, double lr, double& p, double g) {
         double const lr_t = lr * (std::sqrt(1 - std::pow(0.999, t)) / (1 - std::pow(0.9, t)));
         s.m = 0.9 * s.m + (1 - 0.9) * g;
         s.v = 0.999 * s.v + (1 - 0.999) * g * g;
         p -= lr_t * s.m / (std::sqrt(s.v) + 1e-7);
       }},
      // torch/optim/adam.py, _single_tensor_adam
      {"pytorch adam with decay",
       adam{.beta_1 = 0.8, .beta_2 = 0.99, .epsilon = 1e-3, .corrected_epsilon = true, .weight_decay = 0.02}.rule(),
       [](recurrence_state& s, int t, double lr, double& p, double g) {
         g += 0.02 * p;
         s.m = 0.8 * s.m + (1 - 0.8) * g;
         s.v = 0.99 * s.v + (1 - 0.99) * g * g;
         double const denominator = std::sqrt(s.v) / std::sqrt(1 - std::pow(0.99, t)) + 1e-3;
         p -= lr / (1 - std::pow(0.8, t)) * s.m / denominator;
       }},
      // torch/optim/adamw.py
      {"pytorch adamw", adamw{.epsilon = 1e-8, .corrected_epsilon = true, .weight_decay = 0.01}.rule(),
       [](recurrence_state& s, int t, double lr, double& p, double g) {
         p *= 1 - lr * 0.01;
         s.m = 0.9 * s.m + (1 - 0.9) * g;
         s.v = 0.999 * s.v + (1 - 0.999) * g * g;
         double const denominator = std::sqrt(s.v) / std::sqrt(1 - std::pow(0.999, t)) + 1e-8;
         p -= lr / (1 - std::pow(0.9, t)) * s.m / denominator;
       }},
      // Keras 3, base_optimizer.py, _apply_weight_decay, then adam.py
      {"keras adamw", adamw{}.rule(),
       [](recurrence_state& s, int t, double lr, double& p, double g) {
         p -= p * 0.004 * lr;
         double const alpha = lr * std::sqrt(1 - std::pow(0.999, t)) / (1 - std::pow(0.9, t));
         s.m += (g - s.m) * (1 - 0.9);
         s.v += (g * g - s.v) * (1 - 0.999);
         p -= s.m * alpha / (std::sqrt(s.v) + 1e-7);
       }},
      // Keras 2, RMSprop.get_updates
      {"keras 2 rmsprop", rmsprop{}.rule(),
       [](recurrence_state& s, int, double lr, double& p, double g) {
         s.v = 0.9 * s.v + (1 - 0.9) * g * g;
         p -= lr * g / (std::sqrt(s.v) + 1e-7);
       }},
      // Keras 3, rmsprop.py
      {"keras 3 rmsprop, centered, with momentum",
       rmsprop{.rho = 0.8, .momentum = 0.7, .epsilon = 1e-3, .centered = true, .epsilon_in_root = true}.rule(),
       [](recurrence_state& s, int, double lr, double& p, double g) {
         s.v = 0.8 * s.v + (1 - 0.8) * g * g;
         s.mean = 0.8 * s.mean + (1 - 0.8) * g;
         double const increment = lr * g / std::sqrt(s.v - s.mean * s.mean + 1e-3);
         s.buffer = 0.7 * s.buffer + increment;
         p -= s.buffer;
       }},
      // torch/optim/rmsprop.py
      {"pytorch rmsprop, centered, with momentum and decay",
       rmsprop{.rho = 0.99,
               .momentum = 0.9,
               .epsilon = 1e-2,
               .centered = true,
               .rate_in_velocity = false,
               .weight_decay = 0.03}
           .rule(),
       [](recurrence_state& s, int, double lr, double& p, double g) {
         g += 0.03 * p;
         s.v = 0.99 * s.v + (1 - 0.99) * g * g;
         s.mean = 0.99 * s.mean + (1 - 0.99) * g;
         double const average = std::sqrt(s.v - s.mean * s.mean) + 1e-2;
         s.buffer = 0.9 * s.buffer + g / average;
         p -= lr * s.buffer;
       }},
      {"rmsprop, centered", rmsprop{.epsilon = 1e-2, .centered = true}.rule(),
       [](recurrence_state& s, int, double lr, double& p, double g) {
         s.v = 0.9 * s.v + (1 - 0.9) * g * g;
         s.mean = 0.9 * s.mean + (1 - 0.9) * g;
         p -= lr * g / (std::sqrt(s.v - s.mean * s.mean) + 1e-2);
       }},
      // Keras 3, base_optimizer.py, _apply_weight_decay, then sgd.py
      {"keras 3 sgd, nesterov, with decay",
       sgd{.momentum = 0.9, .nesterov = true, .weight_decay = 0.2, .decoupled_decay = true}.rule(),
       [](recurrence_state& s, int, double lr, double& p, double g) {
         p -= p * 0.2 * lr;
         s.buffer = 0.9 * s.buffer - g * lr;
         p += s.buffer * 0.9 - g * lr;
       }},
      {"sgd, nesterov, clipped to a value", sgd{.momentum = 0.9, .nesterov = true, .clip = {.value = 0.8}}.rule(),
       [](recurrence_state& s, int, double lr, double& p, double g) {
         g = std::fmin(0.8, std::fmax(-0.8, g));
         s.buffer = 0.9 * s.buffer - lr * g;
         p += 0.9 * s.buffer - lr * g;
       }},
      // torch.nn.utils.clip_grad_value_, then torch/optim/sgd.py: what decay adds is not clipped
      {"pytorch sgd with decay, clipped to a value", sgd{.weight_decay = 0.1, .clip = {.value = 0.02}}.rule(),
       [](recurrence_state&, int, double lr, double& p, double g) {
         g = std::fmin(0.02, std::fmax(-0.02, g));
         g += 0.1 * p;
         p -= lr * g;
       }},
  };
}

}  // namespace dsl::test
