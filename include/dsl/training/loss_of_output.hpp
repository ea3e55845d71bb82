// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/training/any_loss.hpp>

#include <string>

namespace dsl::TYPENET_MODE {

/// The loss of one output, if it differs from the option `loss` of compile().
struct loss_of_output {
  std::string output;  // the name of a named_output<...>, or "main" for the network's result
  any_loss loss;
};

}  // namespace dsl::TYPENET_MODE
