// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/chain.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/detail/owner.hpp>
#include <dsl/executors/host/memory.hpp>
#include <dsl/executors/shared_weights.hpp>
#include <dsl/plan/plan.hpp>

#include <cstdint>
#include <mutex>

namespace dsl::host::TYPENET_MODE {

/// Kernels that an executor has packed from shared weights. Executors derive their own class.
struct packed_weights {
  packed_weights() = default;
  packed_weights(packed_weights const&) = delete;
  packed_weights& operator=(packed_weights const&) = delete;
  virtual ~packed_weights() = default;
  virtual long long bytes() const = 0;
};

/// Parameters and running statistics in host memory, for one engine or several. They change only while they have a
/// single owner, so several engines can read numbers and versions without a lock; `guard` protects the packed kernels.
struct weights final : shared_weights {
  weights(node const* first, plan const& layout)
      : graph(first),
        number_bytes(layout.options.target.state_bytes),
        alignment(layout.options.target.alignment),
        numbers(layout.region_bytes[static_cast<int>(region::parameters)] +
                layout.region_bytes[static_cast<int>(region::statistics)] +
                layout.region_bytes[static_cast<int>(region::frozen)]) {}

  long long bytes() const override {
    std::scoped_lock const lock(guard);
    return numbers.bytes() + (packed ? packed->bytes() : 0);
  }
  bool written() const override { return version > 1; }

  node const* graph;  // the first node of the network
  int number_bytes, alignment;
  memory_block numbers;
  std::uint64_t version = 1;          // counts changes
  std::uint64_t written_version = 1;  // counts calls of write_parameter
  mutable std::mutex guard{};
  detail::owner<packed_weights> packed{};  // null until an executor packs
};

}  // namespace dsl::host::TYPENET_MODE
