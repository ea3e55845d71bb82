// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>

#include <cstdint>

namespace dsl::TYPENET_MODE {

/// The method by which an optimizer computes a new weight from the gradient and the optimizer's slots. adamw is adam
/// with decoupled decay.
enum class update_method : unsigned char { sgd, adam, rmsprop };

/// The place in the rule where epsilon is added. Epsilon keeps a step finite if its gradients have been 0. "root" means
/// the root of the mean square.
enum class epsilon_place : unsigned char {
  beside_root,            // Keras's Adam and Keras 2's RMSprop, PyTorch's RMSprop: root + epsilon
  beside_corrected_root,  // PyTorch's Adam: the root, corrected for Adam's bias, + epsilon
  in_root,                // Keras 3's RMSprop: root of (mean square + epsilon)
};

/// The limits to which gradients are clipped after they have been summed over all devices and before the update. 0
/// means no limit.
struct gradient_clip {
  double norm = 0;          // all gradients together, as one vector, are scaled down to this norm
  double value = 0;         // then each number is clamped to -value ... value
  double norm_epsilon = 0;  // added to the norm in the divisor; PyTorch's clip_grad_norm_ has 1e-6
};

/// The numbers of an update rule for one step, in double.
struct update_numbers {
  double rate = 0;     // the learning rate; for Adam, multiplied by its bias corrections
  double shrink = 0;   // the share of a parameter that decoupled weight decay removes
  double epsilon = 0;  // added where the rule says; beside_corrected_root is converted to beside_root
};

/// An optimizer's rule, as numbers that an executor's update step reads. Slots hold, in this order: for sgd the
/// velocity; for adam the means of gradients and of their squares; for rmsprop the mean of squares, the velocity and
/// the mean of gradients. Slots that a rule does not need do not exist.
struct update_rule {
  double momentum = 0;
  double weight_decay = 0;  // L2: adds weight_decay * parameter to the gradient, unless decoupled
  bool nesterov = false;
  bool rate_in_velocity = true;  // Keras: v = m v - lr g, p += v; otherwise PyTorch: v = m v + g, p -= lr v
  update_method method = update_method::sgd;
  double first_decay = 0;   // factor of the old mean of gradients: Adam's beta_1
  double second_decay = 0;  // factor of the old mean of squares: Adam's beta_2, RMSprop's rho
  double epsilon = 0;
  epsilon_place where = epsilon_place::beside_root;
  bool decoupled = false;  // weight decay removes rate * weight_decay of each parameter, independent of its gradient
  bool centered = false;   // RMSprop with the variance of gradients instead of their mean square
  gradient_clip clip{};

  constexpr int slots() const {
    if (method == update_method::adam) return 2;
    int const velocity = momentum != 0 ? 1 : 0;
    return method == update_method::sgd ? velocity : 1 + velocity + (centered ? 1 : 0);
  }

  /// Returns the numbers for step `step` of the whole training, from 0. Powers are computed as repeated products, which
  /// give the same bits in every process; the pow() of a mathematical library need not do so.
  update_numbers at(double learning_rate, std::uint64_t step) const;
  /// Returns the factor by which gradients are multiplied if the sum of their squares is `squares`. It has the same
  /// bits in all ranks.
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

#ifdef TYPENET_DEFINITIONS
#include <dsl/executors/update_rule_inl.hpp>
#endif
