// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>

#include <chrono>

namespace dsl::cu::TYPENET_MODE {

/// The time limits of a communicator. NCCL itself has none.
struct nccl_deadlines {
  /// The limit for the arrival of all ranks, and for queuing a collective: the first collective of a kind connects the
  /// ranks, so all ranks must reach it, whether it is recorded or not.
  std::chrono::milliseconds start{30'000};
  std::chrono::milliseconds wait{30'000};   // the limit of one wait()
  std::chrono::milliseconds close{10'000};  // the limit of each of the two ways to end a communicator
};

}  // namespace dsl::cu::TYPENET_MODE
