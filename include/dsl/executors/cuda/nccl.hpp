// SPDX-License-Identifier: MIT
#pragma once

// Several GPUs that add up their gradients among themselves: target typenet::nccl.
#include <dsl/detail/mode.hpp>
#include <dsl/executors/cuda/nccl_aside.hpp>
#include <dsl/executors/cuda/nccl_api.hpp>
#include <dsl/executors/cuda/nccl_communicator.hpp>
#include <dsl/executors/cuda/nccl_collectives.hpp>

namespace dsl::TYPENET_MODE {

/// dsl::cuda{.collectives = &dsl::nccl}. NCCL recommends one process a GPU and warns that several in one may deadlock
/// where graphs hold its collectives; what is done about that is in docs/cuda.md. Other deadlines than 30 s: a
/// cu::nccl_collectives of your own.
inline constexpr cu::nccl_collectives nccl{};

}  // namespace dsl::TYPENET_MODE
