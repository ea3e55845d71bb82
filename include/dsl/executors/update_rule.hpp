// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>

#include <cstdint>

namespace dsl::TYPENET_MODE {

/// How an optimizer's slots and a gradient become a new weight; adamw is adam whose decay is decoupled.
enum class update_method : unsigned char { sgd, adam, rmsprop };

/// What keeps a step finite where its gradients have been 0: root is that of the mean square.
enum class epsilon_place : unsigned char {
  beside_root,            // Keras's Adam and Keras 2's RMSprop, PyTorch's RMSprop: root + epsilon
  beside_corrected_root,  // PyTorch's Adam: the root without Adam's bias, + epsilon
  in_root,                // Keras 3's RMSprop: root of (mean square + epsilon)
};

/// What becomes of gradients, summed over all devices, before the optimizer sees them. 0: nothing.
struct gradient_clip {
  double norm = 0;          // all gradients together, as one vector, are scaled down to this length
  double value = 0;         // then each number is brought to -value ... value
  double norm_epsilon = 0;  // added to the length that is divided by; 1e-6: PyTorch's clip_grad_norm_
};

/// What one step makes of the rule's numbers, in double.
struct update_numbers {
  double rate = 0;     // Adam's with its bias corrections in it
  double shrink = 0;   // the part of a parameter that decoupled weight decay takes
  double epsilon = 0;  // to be added where the rule says, beside_root if it says beside_corrected_root
};

/// How parameters follow their gradients, as numbers an executor's update step understands. Slots hold, in this order:
/// sgd: the velocity; adam: the means of gradients and of their squares; rmsprop: the mean of squares, the velocity,
/// the mean of gradients. Those that a rule has no use for are not there.
struct update_rule {
  double momentum = 0;
  double weight_decay = 0;  // L2: added to the gradient as weight_decay * parameter; or see decoupled
  bool nesterov = false;
  bool rate_in_velocity = true;  // Keras: v = m v - lr g, p += v. Else PyTorch: v = m v + g, p -= lr v
  update_method method = update_method::sgd;
  double first_decay = 0;   // of the mean of gradients: Adam's beta_1
  double second_decay = 0;  // of the mean of squares: Adam's beta_2, RMSprop's rho
  double epsilon = 0;
  epsilon_place where = epsilon_place::beside_root;
  bool decoupled = false;  // weight decay takes rate * weight_decay of each parameter, whatever its gradient
  bool centered = false;   // RMSprop by the variance of gradients in place of their mean square
  gradient_clip clip{};

  constexpr int slots() const {
    if (method == update_method::adam) return 2;
    int const velocity = momentum != 0 ? 1 : 0;
    return method == update_method::sgd ? velocity : 1 + velocity + (centered ? 1 : 0);
  }

  /// For step `step` of the whole training, from 0. Powers are products: the same bits in every process, which a
  /// library's pow() does not promise.
  update_numbers at(double learning_rate, std::uint64_t step) const;
  /// What gradients are multiplied with whose squares add up to `squares`. Both are the same bits on all ranks.
  double scale_for(double squares) const;

 private:
  static constexpr double power(double x, std::uint64_t n) {
    double all = 1;
    for (; n > 0; n /= 2, x *= x)
      if (n % 2 == 1) all *= x;
    return all;
  }
};

}  // namespace dsl::TYPENET_MODE

#ifndef TYPENET_COMPILED
#include <dsl/executors/update_rule_inl.hpp>
#endif
