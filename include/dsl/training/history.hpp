// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>

#include <vector>

namespace dsl::TYPENET_MODE {

/// Mean loss per sample and share of right answers, 0 to 1; NaN where the network learns values, of which none is
/// right.
struct scores {
  double loss = 0;
  double acc = 0;

  constexpr bool has_acc() const { return acc == acc; }
};

/// What one epoch came to. Training scores are means over the epoch's batches while the weights changed, in training
/// mode; validation's over the whole validation set afterwards, in inference mode.
struct epoch_record {
  int epoch = 0;  // from 0
  scores train{};
  scores validation{};
  bool validated = false;
  double learning_rate = 0;
  double seconds = 0;            // training and validation
  double images_per_second = 0;  // training alone
};

/// What fit() returns: a record an epoch, in order, those before a resumed one among them.
struct history {
  std::vector<epoch_record> epochs{};
};

}  // namespace dsl::TYPENET_MODE
