// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/engine.hpp>
#include <dsl/training/any_loss.hpp>
#include <dsl/training/loss_of_output.hpp>
#include <dsl/training/output_weight.hpp>

#include <cstdint>
#include <vector>

namespace dsl::TYPENET_MODE {

/// The loss, and other options that do not belong to a single run of fit.
struct compile_options {
  /// The loss: one of dsl::loss, or your own loss, which is a type with the members value and derivative (see
  /// loss_of_outputs).
  any_loss loss = dsl::loss::categorical_crossentropy;
  std::vector<loss_of_output> losses{};       // of the outputs whose loss is not `loss`
  std::uint64_t seed = 0;                     // for weights, order, augmentation and dropout
  double batch_norm_momentum = -1;            // replaces every layer's own unless -1
  bool unbiased_running_variance = false;     // as in PyTorch; Keras's is biased
  double label_smoothing = 0;                 // in [0, 1): the share of a target that all classes share
  std::vector<float> class_weights{};         // factors of the losses of each class in training; empty: all are 1
  std::vector<output_weight> loss_weights{};  // of outputs whose loss is multiplied by a factor other than 1
  plan_checker verify = nullptr;              // &dsl::verify: also checks every plan at run time
};

}  // namespace dsl::TYPENET_MODE
