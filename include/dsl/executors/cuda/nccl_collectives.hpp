// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/executors/cuda/nccl_communicator.hpp>

#include <memory>

namespace dsl::cu {

/// NCCL for an executor's towers. The ranks' meeting on the host brings them rank 0's id.
class nccl_collectives final : public device_collectives {
 public:
  constexpr explicit nccl_collectives(nccl_deadlines const& d = {}, nccl_api const* library = nullptr)
      : deadlines_(d), library_(library) {}

  [[gnu::cold]] std::unique_ptr<device_communicator> join(api const& a, roll_call& all) const override {
    nccl_api const& n = library_ ? *library_ : linked();
    nccl_id const id = all.answer(all.rank() == 0 ? make_nccl_id(n) : nccl_id{});
    return std::make_unique<nccl_communicator>(a, n, id, all.rank(), all.ranks(), deadlines_, all.group());
  }

 private:
  static nccl_api const& linked() {
    static nccl_api const all;
    return all;
  }
  nccl_deadlines deadlines_;
  nccl_api const* library_;
};

}  // namespace dsl::cu
