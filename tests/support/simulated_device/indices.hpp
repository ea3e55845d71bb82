// SPDX-License-Identifier: MIT
#pragma once

#include <stdexcept>

/// What a kernel's text needs from its "device" when it is compiled as C++ (DSL_SIMULATED): its indices, and a barrier.
/// dsl_test::launch in fiber_launch.hpp sets both. It includes no CUDA header, as kernels do not either.
namespace dsl_simulated {

struct index3 {
  unsigned x, y, z;
};

inline thread_local constinit index3 thread_index{};
inline thread_local constinit index3 block_index{};
inline thread_local constinit index3 block_extent{};
inline thread_local constinit index3 grid_extent{};

/// Set while a launch runs.
using barrier_function = void (*)();
inline thread_local constinit barrier_function wait_for_block = nullptr;

/// __syncthreads(): returns when every thread of the block has called it.
inline void barrier() {
  if (!wait_for_block) throw std::logic_error("simulated device: barrier() outside of a launch");
  wait_for_block();
}

}  // namespace dsl_simulated
