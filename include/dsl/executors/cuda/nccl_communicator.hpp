// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/cuda/nccl_aside.hpp>
#include <dsl/executors/cuda/nccl_api.hpp>

#include <chrono>
#include <exception>
#include <memory>
#include <string>

namespace dsl::cu::TYPENET_MODE {

/// Time limits, of which NCCL has none.
struct nccl_deadlines {
  /// The time until all ranks have arrived, and until a collective is queued: the first collective of a kind connects
  /// the ranks, so all must reach it, recorded or not.
  std::chrono::milliseconds start{30'000};
  std::chrono::milliseconds wait{30'000};   // for one wait()
  std::chrono::milliseconds close{10'000};  // for each of the two ways to end
};

/// One rank of several, on its own GPU: the device that is current when it is made. Ranks are processes, as NCCL
/// recommends, or threads of one process. Only one thread at a time may use it. All ranks call the same collectives in
/// the same order, and record the same graphs.
///
/// Destroy the graphs that recorded its collectives first: NCCL keeps a communicator alive as long as one of them
/// exists. So declare members in the order streams, communicator, graphs. After an error the communicator aborts
/// itself, which ends kernels that wait for other ranks, so that streams and graphs can be destroyed; it cannot be used
/// again.
class nccl_communicator final : public device_communicator {
 public:
  /// Waits for the other ranks. If this rank gives up, it tells `group`, which may be null. Throws option_error for an
  /// invalid rank, and executor_error if NCCL fails or not all ranks come in time.
  [[gnu::cold]] nccl_communicator(api const& a, nccl_api const& n, nccl_id const& id, int rank, int ranks,
                                  nccl_deadlines const& d = {}, communicator* group = nullptr);
  /// Waits until all ranks end, at most twice `close`; if an exception destroys it, aborts at once. What hangs even
  /// then ends with the process.
  ~nccl_communicator() override;

  int rank() const { return rank_; }
  int ranks() const { return ranks_; }
  /// Whether nothing has failed here or, as far as NCCL or the group has told, on another rank.
  bool usable() const override { return comm_ != nullptr; }

  /// Sums `count` numbers over all ranks in place, in an order that NCCL chooses, with the same result on all ranks.
  /// Queued on s, or recorded if s is recording. Throws option_error for invalid arguments, and executor_error for
  /// other failures.
  void all_reduce(float* data, long long count, cudaStream_t s) override;
  /// Gathers every rank's numbers on all ranks, in rank order; otherwise like all_reduce.
  void all_gather(float const* data, long long count, float* all, cudaStream_t s) override;
  /// Waits until all work queued on s is done. Throws executor_error if that takes too long, or if NCCL reports an
  /// error; cudaStreamSynchronize would wait forever for a rank that has died. `what` is for the message.
  void wait(cudaStream_t s, char const* what = "queued collectives") override;

  /// Starts to cancel the work on this rank's GPU that waits for other ranks, and returns at once. NCCL informs other
  /// ranks only over networks: in one process and on one machine they learn of it from the group, or by a deadline.
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
  [[gnu::cold]] std::string who() const { return detail::message({"nccl: rank ", rank_, " of ", ranks_, ": "}); }
  [[gnu::cold, noreturn]] void out_of_time(char const* call, char const* what, std::chrono::milliseconds longest);
  [[gnu::cold, noreturn]] void fail(char const* call, std::string const& why, bool is_another_s = false);

  /// Ends the communicator in an orderly way; that is a collective, too.
  void finish() noexcept;
  void end_with(entry<ncclResult_t(ncclComm_t)> const& e) noexcept;

  api const& api_;
  nccl_api const& nccl_;
  communicator* group_;
  // NCCL starts a communicator in the background, even after the start has been given up, and then stores the
  // communicator once more; the call that ends the communicator waits for that.
  std::unique_ptr<ncclComm_t> place_ = std::make_unique<ncclComm_t>(nullptr);
  ncclComm_t comm_ = nullptr;
  int rank_, ranks_;
  nccl_deadlines deadlines_;
  int unwinding_ = std::uncaught_exceptions();
  call_aside ending_{};
};

}  // namespace dsl::cu::TYPENET_MODE

#ifndef TYPENET_COMPILED
#include <dsl/executors/cuda/nccl_communicator_inl.hpp>
#endif
