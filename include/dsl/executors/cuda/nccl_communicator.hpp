// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/cuda/nccl_aside.hpp>
#include <dsl/executors/cuda/nccl_api.hpp>
#include <dsl/executors/cuda/nccl_deadlines.hpp>

#include <chrono>
#include <exception>
#include <memory>
#include <string>

namespace dsl::cu::TYPENET_MODE {

/// One rank of several, on its own GPU, which is the current device when the object is made. Ranks are processes, as
/// NCCL recommends, or threads of one process. Only one thread at a time may use the object. All ranks must call the
/// same collectives in the same order, and record the same graphs. Destroy the graphs that recorded its collectives
/// before the communicator: NCCL keeps it alive as long as one of them exists. So declare members in the order streams,
/// communicator, graphs. After an error the communicator aborts itself, which ends kernels that wait for other ranks,
/// so that streams and graphs can be destroyed; it cannot be used again.
class nccl_communicator final : public device_communicator {
 public:
  /// Connects this rank with the other ranks, and waits for them. If this rank gives up later, it informs `group`,
  /// which may be null. Throws option_error for an invalid rank, and executor_error if NCCL fails or not all ranks
  /// arrive in time.
  nccl_communicator(api const& a, nccl_api const& n, nccl_id const& id, int rank, int ranks,
                    nccl_deadlines const& d = {}, communicator* group = nullptr);
  /// Ends the communicator. Waits until all ranks end theirs, at most twice the limit `close`; if an exception causes
  /// the destruction, aborts at once. A call that hangs even then remains until the process ends.
  ~nccl_communicator() override;

  int rank() const { return rank_; }
  int ranks() const { return ranks_; }
  /// Whether nothing has failed on this rank and, as far as NCCL or the group has reported, on any other rank.
  bool usable() const override { return comm_ != nullptr; }

  /// Sums `count` numbers over all ranks in place, in an order that NCCL chooses, with the same result on all ranks.
  /// The call is queued on s, or recorded if s is recording. Throws option_error for invalid arguments, and
  /// executor_error for other failures.
  void all_reduce(float* data, long long count, cudaStream_t s) override;
  /// Gathers the numbers of all ranks on every rank, in rank order. The call is queued or recorded like all_reduce, and
  /// throws the same errors.
  void all_gather(float const* data, long long count, float* all, cudaStream_t s) override;
  /// Waits until all work queued on s is done. Throws executor_error if this takes longer than deadlines.wait, or if
  /// NCCL reports an error; cudaStreamSynchronize would wait forever for a rank that has died. `what` describes the
  /// work in the message.
  void wait(cudaStream_t s, char const* what = "queued collectives") override;

  /// Starts to cancel the work on this rank's GPU that waits for other ranks, and returns at once. NCCL informs other
  /// ranks only over networks. In one process and on one machine they are informed by the group, or fail when a time
  /// limit expires.
  void abort() noexcept override;
  /// Waits at most `deadlines.close` for the work on s, and returns whether it has ended.
  bool ended(cudaStream_t s) noexcept override;

 private:
  void require(char const* what, float const* data, long long count, cudaStream_t s) const;
  void require_usable(char const* call) const;
  template <class... P>
  void enqueue(entry<ncclResult_t(P...)> const& e, std::type_identity_t<P>... arguments) {
    require_usable(e.name);
    settle(e.function(arguments...), e.name, "its launch", deadlines_.start);
  }
  /// Waits for a non-blocking call to complete in the background; until then nothing is queued or recorded.
  void settle(ncclResult_t r, char const* call, char const* what, std::chrono::milliseconds longest);
  ncclResult_t progress(char const* what);
  std::string who() const { return detail::message({"nccl: rank ", rank_, " of ", ranks_, ": "}); }
  [[gnu::cold, noreturn]] void out_of_time(char const* call, char const* what, std::chrono::milliseconds longest);
  [[gnu::cold, noreturn]] void fail(char const* call, std::string const& why, bool is_another_s = false);

  /// Ends the communicator without aborting it. This is a collective, too: all ranks must call it.
  void finish() noexcept;
  void end_with(entry<ncclResult_t(ncclComm_t)> const& e) noexcept;

  api const& api_;
  nccl_api const& nccl_;
  communicator* group_;
  // NCCL starts a communicator in the background, even if the start has been given up, and stores its address here once
  // more when that is done. The call that ends the communicator waits for this.
  std::unique_ptr<ncclComm_t> place_ = std::make_unique<ncclComm_t>(nullptr);
  ncclComm_t comm_ = nullptr;
  int rank_, ranks_;
  nccl_deadlines deadlines_;
  int unwinding_ = std::uncaught_exceptions();
  call_aside ending_{};
};

}  // namespace dsl::cu::TYPENET_MODE

#ifdef TYPENET_DEFINITIONS
#include <dsl/executors/cuda/nccl_communicator_inl.hpp>
#endif
