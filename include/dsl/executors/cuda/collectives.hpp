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

/// One rank's end of a communicator that moves data directly between devices (one per rank), not through host memory.
/// All ranks queue the same calls with the same counts in the same order, and record the same graphs. Throws
/// executor_error.
class device_communicator {
 public:
  virtual ~device_communicator() = default;
  device_communicator(device_communicator const&) = delete;
  device_communicator& operator=(device_communicator const&) = delete;

  /// Sums `count` numbers over all ranks in place, to the same bits on all. Queued on s, or recorded if s records.
  virtual void all_reduce(float* data, long long count, cudaStream_t s) = 0;
  /// Sets all[0 ... ranks * count) to rank 0's `count` numbers, rank 1's, and so on; otherwise like all_reduce.
  virtual void all_gather(float const* data, long long count, float* all, cudaStream_t s) = 0;
  /// Waits until all work queued on s is done. Throws if another rank has failed or does not arrive in time.
  virtual void wait(cudaStream_t s, char const* what) = 0;
  /// Whether nothing has failed; otherwise every later call throws.
  virtual bool usable() const = 0;
  /// Gives up: cancels the queued work of its own device that waits for other ranks, and returns at once. Other ranks
  /// learn of this only over networks, if at all.
  virtual void abort() noexcept = 0;
  /// Waits a limited time for the work on s to end, in a rank that has given up, and returns whether it has ended. If
  /// not, it may never end, and every call that waits for the device may hang.
  virtual bool ended(cudaStream_t s) noexcept = 0;

 protected:
  device_communicator() = default;
};

/// Synchronises the ranks on the host before their devices communicate, and exchanges the data that these need. If a
/// rank fails before that, the destructor of its handshake reports it, so that no rank waits for it; the others throw
/// peer_error.
class handshake {
 public:
  using note = std::array<std::byte, 128>;

  /// A null group means that there are no other ranks. `what` is for the message "rank 1 of 2 failed before <what>".
  explicit handshake(communicator* group, char const* what = "the devices synchronised") : group_(group), what_(what) {}
  handshake(handshake const&) = delete;
  handshake& operator=(handshake const&) = delete;
  [[gnu::cold]] ~handshake();

  int rank() const { return group_->rank(); }
  int ranks() const { return group_->ranks(); }
  communicator* group() const { return group_; }
  /// Waits until all ranks have arrived; does nothing if answer() has already waited. Throws what answer() throws.
  [[gnu::cold]] void pass();
  /// Waits until all ranks have arrived, and returns rank 0's note. Throws peer_error if one of them has failed.
  [[gnu::cold]] note answer(note const& mine);

 private:
  static constexpr std::size_t length = 1 + std::tuple_size_v<note>;

  [[gnu::cold]] std::vector<double> exchange(bool here, note const& mine);

  communicator* group_;
  char const* what_;
  bool answered_ = false;
};

/// Makes device_communicators, on each rank's current device: dsl::nccl. It must outlive the executor's engines.
class device_collectives {
 public:
  virtual std::unique_ptr<device_communicator> join(api const&, handshake&) const = 0;

 protected:
  ~device_collectives() = default;  // objects are constants that are never deleted
};

}  // namespace dsl::cu::TYPENET_MODE

#ifndef TYPENET_COMPILED
#include <dsl/executors/cuda/collectives_inl.hpp>
#endif
