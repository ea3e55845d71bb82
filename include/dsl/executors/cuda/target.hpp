// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/cuda/kernels/spec.hpp>
#include <dsl/plan/plan.hpp>

namespace dsl::cu::TYPENET_MODE {

/// How a GPU wants its tensors: channels last, in the storage type; state in float. Convolutions of 16-bit numbers are
/// compiled by cuDNN, for a slice of a concat's buffer as for a whole one. Of those of floats only the plainest write
/// slices; all others make a packed output in their workspace and copy it, which we can do as well.
constexpr target target_for(storage t) {
  return {.channel_block = channels_last,
          .alignment = 256,
          .element_bytes = bytes_of(t),
          .state_bytes = 4,
          .library_writes_slices = t == storage::bf16};
}

}  // namespace dsl::cu::TYPENET_MODE
