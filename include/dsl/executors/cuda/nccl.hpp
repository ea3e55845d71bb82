// SPDX-License-Identifier: MIT
#pragma once

#if defined(TYPENET_TARGETS) && !defined(TYPENET_HAS_NCCL)
#error "nccl: <dsl/executors/cuda/nccl.hpp> needs NCCL; link typenet::nccl or typenet::compiled_nccl"
#endif

// Collectives for several GPUs that sum their gradients directly. Link typenet::nccl.
#include <dsl/detail/mode.hpp>
#include <dsl/executors/cuda/nccl_collectives.hpp>

namespace dsl::TYPENET_MODE {

/// NCCL for dsl::cuda{.collectives = &dsl::nccl}. NCCL recommends one process per GPU, and warns that several GPUs in
/// one may deadlock if graphs contain its collectives; docs/cuda.md says how that is avoided. For deadlines other than
/// 30 s, make your own cu::nccl_collectives.
inline constexpr cu::nccl_collectives nccl{};

}  // namespace dsl::TYPENET_MODE
