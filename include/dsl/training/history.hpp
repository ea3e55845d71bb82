// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>

#include <string>
#include <vector>

namespace dsl::TYPENET_MODE {

/// The scores of one of several outputs: the mean loss before it is multiplied by its weight, and the share of correct
/// predictions.
struct output_scores {
  std::string name;  // that of named_output<...>; "main" for the network's result
  double loss = 0;
  double acc = 0;
};

/// The value of one of fit's .metrics.
struct named_score {
  std::string name;
  double value = 0;
};

/// The mean loss per sample, and the share of correct predictions, from 0 to 1. The share is NaN if the targets are
/// values, since no prediction is exactly correct then. If the network has several outputs, `loss` is the weighted sum
/// of their losses, and `acc` is the share for the network's result.
struct scores {
  double loss = 0;
  double acc = 0;
  std::vector<output_scores> outputs{};  // of several: the network's result first, then each named_output
  std::vector<named_score> metrics{};    // fit's .metrics, of validation alone

  /// Whether there is an accuracy, that is, whether `acc` is not NaN.
  constexpr bool has_acc() const { return acc == acc; }
};

/// The result of one epoch. Training metrics are means over the epoch's batches, computed in training mode while the
/// weights changed. Validation metrics cover the whole validation set and are computed after the epoch, in inference
/// mode.
struct epoch_record {
  int epoch = 0;  // from 0
  scores train{};
  scores validation{};
  bool validated = false;
  double learning_rate = 0;
  double seconds = 0;            // training and validation
  double images_per_second = 0;  // training only
};

/// The result of fit(): a record per epoch, in order, including epochs before a restart.
struct history {
  std::vector<epoch_record> epochs{};
};

}  // namespace dsl::TYPENET_MODE
