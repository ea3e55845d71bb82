// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/cuda/device_collectives.hpp>
#include <dsl/executors/cuda/nccl_deadlines.hpp>

#include <memory>

namespace dsl::cu::TYPENET_MODE {

struct nccl_api;

/// NCCL for an executor's towers. The handshake on the host distributes rank 0's id.
class nccl_collectives final : public device_collectives {
 public:
  constexpr explicit nccl_collectives(nccl_deadlines const& d = {}, nccl_api const* library = nullptr)
      : deadlines_(d), library_(library) {}

  std::unique_ptr<device_communicator> join(api const& a, handshake& all) const override;

 private:
  static nccl_api const& linked();
  nccl_deadlines deadlines_;
  nccl_api const* library_;
};

}  // namespace dsl::cu::TYPENET_MODE

#ifdef TYPENET_DEFINITIONS
#include <dsl/executors/cuda/nccl_collectives_inl.hpp>
#endif
