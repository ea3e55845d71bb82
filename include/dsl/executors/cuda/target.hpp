// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/executors/cuda/kernels/spec.hpp>
#include <dsl/plan/plan.hpp>

namespace dsl::cu {

/// How a GPU wants its tensors: channels last, in the storage type; state in float.
constexpr target target_for(storage t) {
  return {.channel_block = channels_last, .alignment = 256, .element_bytes = bytes_of(t), .state_bytes = 4};
}

}  // namespace dsl::cu
