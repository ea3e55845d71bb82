// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>

#include <string>

namespace dsl::TYPENET_MODE {

/// The factor of one output's loss in the sum that training minimises, as in Keras's loss_weights.
struct output_weight {
  std::string output;  // the name of a named_output<...>, or "main" for the network's result
  double weight = 1;
};

}  // namespace dsl::TYPENET_MODE
