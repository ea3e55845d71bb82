// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/communicator.hpp>
#include <dsl/executors/cuda/api.hpp>

#include <array>
#include <cstddef>
#include <memory>
#include <vector>

namespace dsl::cu::TYPENET_MODE {

/// One rank's end of what adds up numbers between devices, without the host: one device each. All ranks queue the same
/// calls with the same counts in the same order, and record the same graphs. Throws executor_error.
class device_communicator {
 public:
  virtual ~device_communicator() = default;
  device_communicator(device_communicator const&) = delete;
  device_communicator& operator=(device_communicator const&) = delete;

  /// Sums `count` numbers over all ranks, in place, to the same bits on all. Queued on s, or recorded where s records.
  virtual void all_reduce(float* data, long long count, cudaStream_t s) = 0;
  /// all[0 ... ranks * count) become rank 0's `count` numbers, rank 1's, and so on; otherwise as all_reduce.
  virtual void all_gather(float const* data, long long count, float* all, cudaStream_t s) = 0;
  /// Until all work queued on s is done. Never for ever: throws where another rank failed, or does not come in time.
  virtual void wait(cudaStream_t s, char const* what) = 0;
  /// False once something failed; every later call throws.
  virtual bool usable() const = 0;
  /// For a rank that gives up: ends what its own device waits for, and returns at once. Others hear of it only by ways
  /// that go to other machines, if at all.
  virtual void abort() noexcept = 0;
  /// For a rank that has given up: has all work on s ended, at last after so long as it can take? If not it may never,
  /// and every call that waits for the device may hang.
  virtual bool ended(cudaStream_t s) noexcept = 0;

 protected:
  device_communicator() = default;
};

/// Ranks meet on the host before their devices do, to exchange what those need. A rank that fails on the way there says
/// so by its roll_call's destructor, so that no rank waits for it; the others throw peer_error.
class roll_call {
 public:
  using note = std::array<std::byte, 128>;

  /// group null: there is nobody else. what: of the message, "rank 1 of 2 failed before <what>".
  explicit roll_call(communicator* group, char const* what = "the devices met") : group_(group), what_(what) {}
  roll_call(roll_call const&) = delete;
  roll_call& operator=(roll_call const&) = delete;
  [[gnu::cold]] ~roll_call();

  int rank() const { return group_->rank(); }
  int ranks() const { return group_->ranks(); }
  communicator* group() const { return group_; }
  /// Once, until all ranks have come. Throws as answer.
  [[gnu::cold]] void pass();
  /// Once all ranks have come: rank 0's note. Throws peer_error where one of them has failed.
  [[gnu::cold]] note answer(note const& mine);

 private:
  static constexpr std::size_t length = 1 + std::tuple_size_v<note>;

  [[gnu::cold]] std::vector<double> exchange(bool here, note const& mine);

  communicator* group_;
  char const* what_;
  bool answered_ = false;
};

/// What makes them, on each rank's current device: dsl::nccl. It must outlive the executor's engines.
class device_collectives {
 public:
  virtual std::unique_ptr<device_communicator> join(api const&, roll_call&) const = 0;

 protected:
  ~device_collectives() = default;  // nobody owns one: they are constants
};

}  // namespace dsl::cu::TYPENET_MODE

#ifndef TYPENET_COMPILED
#include <dsl/executors/cuda/collectives_inl.hpp>
#endif
