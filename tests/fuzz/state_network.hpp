// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/callbacks.hpp>
#include <dsl/dsl.hpp>

#include <vector>

namespace dsl::fuzz {

using small_network = network<image<1, 2, 2>, flatten, dense<2>>;

/// Returns the trainer whose states the target reads: a state has a few hundred bytes.
inline trainer& small_trainer() {
  static trainer t = compile<small_network>(reference{}, sgd{.learning_rate = 0.02, .momentum = 0.9},
                                            {.loss = loss::mean_squared_error, .seed = 1});
  return t;
}
inline std::vector<callback_handle> small_callbacks() {
  return {early_stopping<val_loss>{{.patience = 3, .restore_best_weights = true}}, early_stopping<val_loss>{}};
}

}  // namespace dsl::fuzz
