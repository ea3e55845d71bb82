// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/executors/cuda/nccl.hpp>

#include <chrono>

#include "cuda/tower_failures.hpp"
#include "support/simulated_device/nccl.hpp"

namespace dsl_test {

using namespace std::chrono_literals;
using cu::nccl_collectives;
using cu::nccl_deadlines;

inline constexpr nccl_deadlines in_time{20s, 20s, 20s};
inline constexpr nccl_deadlines soon{2s, 400ms, 20s};

/// Simulated devices that are connected to each other.
struct connected {
  simulated_device device;
  simulated_nccl library;
  nccl_collectives collectives;
  explicit connected(device_options o, nccl_deadlines d = in_time, nccl_options n = {})
      : device(std::move(o)), library(device, n), collectives(d, &library.nccl()) {}
  cu::api const& api() const { return library.api(); }
};
inline double seconds_since(std::chrono::steady_clock::time_point t) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - t).count();
}

}  // namespace dsl_test
