// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/cuda/nccl_api.hpp>
#include <dsl/executors/cuda/nccl_collectives.hpp>
#include <dsl/executors/cuda/nccl_communicator.hpp>

#include <memory>

namespace dsl::cu::TYPENET_MODE {

TYPENET_INLINE std::unique_ptr<device_communicator> nccl_collectives::join(api const& a, handshake& all) const {
  nccl_api const& n = library_ ? *library_ : linked();
  nccl_id const id = all.answer(all.rank() == 0 ? make_nccl_id(n) : nccl_id{});
  return std::make_unique<nccl_communicator>(a, n, id, all.rank(), all.ranks(), deadlines_, all.group());
}

TYPENET_INLINE nccl_api const& nccl_collectives::linked() {
  static nccl_api const all;
  return all;
}

}  // namespace dsl::cu::TYPENET_MODE
