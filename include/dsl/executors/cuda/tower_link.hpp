// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/cuda/collectives.hpp>
#include <dsl/executors/cuda/device.hpp>

#include <memory>

namespace dsl::cu::TYPENET_MODE {

/// What a device needs to meet others without the host: a stream beside the steps' own, on which sums travel while the
/// backward pass goes on: few blocks, which others' devices wait for, so they go before that pass's. The communicator
/// goes first, before the stream of what it has queued.
struct tower_link {
  stream aside;
  event turn;  // between the two streams, either way
  std::unique_ptr<device_communicator> communicator;

  [[gnu::cold]] tower_link(api const& a, device_collectives const& how, roll_call& all)
      : aside(a, first_in_line(a)), turn(a), communicator(how.join(a, all)) {}
};

}  // namespace dsl::cu::TYPENET_MODE
