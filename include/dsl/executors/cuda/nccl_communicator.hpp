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

/// NCCL has no time limits of its own.
struct nccl_deadlines {
  std::chrono::milliseconds start{30'000};  // until all ranks have come, and for one collective to be queued: the first
                                            // of a kind connects the ranks, so all must come to it, recorded or not
  std::chrono::milliseconds wait{30'000};   // for one wait()
  std::chrono::milliseconds close{10'000};  // for each of the two ways to end
};

/// One rank of several, with a GPU of its own: the current device when it is made. Ranks are processes, as NCCL
/// recommends, or threads of one. Used by one thread at a time.
/// All ranks call the same collectives in the same order, and record the same graphs.
///
/// Destroy the graphs that recorded its collectives first: NCCL keeps a communicator as long as one of them exists. So
/// among an object's members: streams, communicator, graphs. After an error the communicator is being aborted already,
/// which ends kernels that wait for other ranks, so that streams and graphs can go; nothing else can be done with it.
class nccl_communicator final : public device_communicator {
 public:
  /// Waits for the other ranks. group: where they hear of one that gives up, or null. Throws option_error for a rank
  /// that can't be, executor_error where NCCL fails or not all ranks come in time.
  [[gnu::cold]] nccl_communicator(api const& a, nccl_api const& n, nccl_id const& id, int rank, int ranks,
                                  nccl_deadlines const& d = {}, communicator* group = nullptr);
  /// Waits until all ranks end, at most twice `close`; when an exception ends it, aborts at once. What then still hangs
  /// is left to the process's end.
  ~nccl_communicator() override;

  int rank() const { return rank_; }
  int ranks() const { return ranks_; }
  /// False once something failed, here or, where NCCL or the group told, on another rank.
  bool usable() const override { return comm_ != nullptr; }

  /// Sums `count` numbers over all ranks, in place, in an order of NCCL's choice that is the same for all ranks. Queued
  /// on s, or recorded where s is recording. Throws option_error for arguments, executor_error for the rest.
  void all_reduce(float* data, long long count, cudaStream_t s) override;
  /// Gives all ranks every rank's numbers, in rank order; otherwise as all_reduce.
  void all_gather(float const* data, long long count, float* all, cudaStream_t s) override;
  /// Until all work queued on s is done. Throws executor_error where that takes too long, or NCCL reports an error
  /// meanwhile; cudaStreamSynchronize would wait for ever for a rank that has died. `what`: of the message.
  void wait(cudaStream_t s, char const* what = "queued collectives") override;

  /// Begins to end what other ranks make hang on this one's GPU; returns at once. NCCL tells other ranks over networks
  /// only: in one process and on one machine they learn of it from the group, or by a deadline.
  void abort() noexcept override;
  /// Waits for `close` at most.
  bool ended(cudaStream_t s) noexcept override;

 private:
  void require(char const* what, float const* data, long long count, cudaStream_t s) const;
  void require_usable(char const* call) const;
  template <class... P>
  void enqueue(entry<ncclResult_t(P...)> const& e, std::type_identity_t<P>... arguments) {
    require_usable(e.name);
    settle(e.function(arguments...), e.name, "its launch", deadlines_.start);
  }
  /// A call that doesn't block goes on in the background; until it has ended, nothing is queued or recorded.
  void settle(ncclResult_t r, char const* call, char const* what, std::chrono::milliseconds longest);
  ncclResult_t progress(char const* what);
  [[gnu::cold]] std::string who() const { return detail::message({"nccl: rank ", rank_, " of ", ranks_, ": "}); }
  [[gnu::cold, noreturn]] void out_of_time(char const* call, char const* what, std::chrono::milliseconds longest);
  [[gnu::cold, noreturn]] void fail(char const* call, std::string const& why, bool is_another_s = false);

  /// The orderly end: a collective, too.
  void finish() noexcept;
  void end_with(entry<ncclResult_t(ncclComm_t)> const& e) noexcept;

  api const& api_;
  nccl_api const& nccl_;
  communicator* group_;
  // Its start goes on in the background, also of one that is given up, and stores the communicator once more at its
  // end: until that has come, which the call that ends it waits for.
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
