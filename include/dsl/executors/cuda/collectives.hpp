// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/communicator.hpp>
#include <dsl/executors/cuda/api.hpp>
#include <dsl/executors/cuda/device_collectives.hpp>

#include <array>
#include <cstddef>
#include <vector>

namespace dsl::cu::TYPENET_MODE {

/// A rank of a communicator that moves data directly between devices, one per rank, and not through host memory. All
/// ranks must queue the same calls with the same counts in the same order, and record the same graphs. A call that
/// fails throws executor_error.
class device_communicator {
 public:
  virtual ~device_communicator() = default;
  device_communicator(device_communicator const&) = delete;
  device_communicator& operator=(device_communicator const&) = delete;

  /// Sums `count` numbers over all ranks in place, with the same bits on all of them. The call is queued on s, or
  /// recorded if s is recording.
  virtual void all_reduce(float* data, long long count, cudaStream_t s) = 0;
  /// Sets all[0 ... ranks * count) to the `count` numbers of rank 0, of rank 1, and so on. The call is queued or
  /// recorded like all_reduce.
  virtual void all_gather(float const* data, long long count, float* all, cudaStream_t s) = 0;
  /// Waits until all work queued on s is done. Throws if another rank has failed or does not arrive in time.
  virtual void wait(cudaStream_t s, char const* what) = 0;
  /// Whether nothing has failed; otherwise every later call throws.
  virtual bool usable() const = 0;
  /// Gives up: cancels the queued work of this rank's device that waits for other ranks, and returns at once. Other
  /// ranks are informed only over networks, if at all.
  virtual void abort() noexcept = 0;
  /// Waits a limited time, in a rank that has given up, for the work on s to end, and returns whether it has ended. If
  /// it has not, it may never end, and every call that waits for the device may hang.
  virtual bool ended(cudaStream_t s) noexcept = 0;

 protected:
  device_communicator() = default;
};

/// Synchronises the ranks on the host before their devices communicate, and exchanges the data that the devices need
/// for that. If a rank fails before it has arrived, the destructor of its handshake reports this; the other ranks then
/// throw peer_error instead of waiting.
class handshake {
 public:
  using note = std::array<std::byte, 128>;

  /// Prepares for meeting the other ranks of `group`; null means that there are none. `what` is for the message "rank 1
  /// of 2 failed before <what>".
  explicit handshake(communicator* group, char const* what = "the devices synchronised") : group_(group), what_(what) {}
  handshake(handshake const&) = delete;
  handshake& operator=(handshake const&) = delete;
  ~handshake();

  int rank() const { return group_->rank(); }
  int ranks() const { return group_->ranks(); }
  communicator* group() const { return group_; }
  /// Waits until all ranks have arrived; does nothing if answer() has already waited. Throws the same errors as
  /// answer().
  void pass();
  /// Waits until all ranks have arrived, and returns rank 0's note. Throws peer_error if one of them has failed.
  note answer(note const& mine);

 private:
  static constexpr std::size_t length = 1 + std::tuple_size_v<note>;

  std::vector<double> exchange(bool here, note const& mine);

  communicator* group_;
  char const* what_;
  bool answered_ = false;
};

}  // namespace dsl::cu::TYPENET_MODE

#ifdef TYPENET_DEFINITIONS
#include <dsl/executors/cuda/collectives_inl.hpp>
#endif
