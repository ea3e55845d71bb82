// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/cuda/collectives.hpp>
#include <dsl/executors/cuda/device.hpp>

#include <memory>

namespace dsl::cu::TYPENET_MODE {

/// The objects with which a device communicates with other devices without the host. Sums that run during the backward
/// pass are on comm_stream. They have priority over that pass, since they have few blocks, for which other devices
/// wait. The communicator is destroyed before the stream on which it has queued work.
struct tower_link {
  stream comm_stream;
  event fence;  // for waiting between the two streams, in both directions
  std::unique_ptr<device_communicator> communicator;

  tower_link(api const& a, device_collectives const& how, handshake& all)
      : comm_stream(a, first_in_line(a)), fence(a), communicator(how.join(a, all)) {}
};

}  // namespace dsl::cu::TYPENET_MODE
