// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/cuda/precision.hpp>
#include <dsl/plan/plan.hpp>

namespace dsl::cu::TYPENET_MODE {

/// Returns a GPU's memory layout: channels last, in the storage type, with state in float. If tensors have 16 bits,
/// cuDNN can compile any convolution so that it writes a slice of a concat's buffer. If tensors are floats, only the
/// simplest of cuDNN's convolutions write slices; all others write a packed output to their workspace and copy it,
/// which typenet can do itself.
constexpr target target_for(storage t) {
  return {.channel_block = channels_last,
          .alignment = 256,
          .element_bytes = bytes_of(t),
          .state_bytes = 4,
          .library_writes_slices = t == storage::bf16};
}

}  // namespace dsl::cu::TYPENET_MODE
