// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>

#include <memory>

namespace dsl::cu::TYPENET_MODE {

struct api;
class device_communicator;
class handshake;

/// Makes the device_communicator of each rank, on the rank's current device, as dsl::nccl does. The object must outlive
/// the executor's engines.
class device_collectives {
 public:
  virtual std::unique_ptr<device_communicator> join(api const&, handshake&) const = 0;

 protected:
  ~device_collectives() = default;  // objects are constants that are never deleted
};

}  // namespace dsl::cu::TYPENET_MODE
