// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/executors/cuda/nccl_aside.hpp>
#include <dsl/executors/cuda/nccl_api.hpp>

#include <atomic>
#include <chrono>
#include <cstring>
#include <exception>
#include <memory>
#include <string>
#include <utility>

namespace dsl::cu {

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
                                  nccl_deadlines const& d = {}, communicator* group = nullptr)
      : api_(a), nccl_(n), group_(group), rank_(rank), ranks_(ranks), deadlines_(d) {
    if (ranks < 1) throw option_error(detail::message({"nccl: there must be 1 rank or more; found ", ranks}));
    if (rank < 0 || rank >= ranks)
      throw option_error(detail::message({"nccl: rank must be 0 to ", ranks - 1, "; found ", rank}));
    require_nccl(n);
    ncclUniqueId raw;
    std::memcpy(&raw, id.data(), sizeof raw);
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    char const* const call = n.ncclCommInitRankConfig.name;
    try {
      ncclResult_t const status = n.ncclCommInitRankConfig.function(place_.get(), ranks, raw, rank, &config);
      comm_ = std::atomic_ref(*place_).load();  // which the background may be writing again
      if (!comm_) fail(call, n.reason(status == ncclSuccess ? ncclInternalError : status));
      settle(status, call, "all ranks to come", deadlines_.start);
    } catch (...) {
      if (ending_) ending_.wait(deadlines_.close);
      throw;
    }
  }
  /// Waits until all ranks end, at most twice `close`; when an exception ends it, aborts at once. What then still hangs
  /// is left to the process's end.
  ~nccl_communicator() override {
    if (usable() && std::uncaught_exceptions() <= unwinding_) finish();
    abort();
    if (ending_) ending_.wait(deadlines_.close);
  }

  int rank() const { return rank_; }
  int ranks() const { return ranks_; }
  /// False once something failed, here or, where NCCL or the group told, on another rank.
  bool usable() const override { return comm_ != nullptr; }

  /// Sums `count` numbers over all ranks, in place, in an order of NCCL's choice that is the same for all ranks. Queued
  /// on s, or recorded where s is recording. Throws option_error for arguments, executor_error for the rest.
  void all_reduce(float* data, long long count, cudaStream_t s) override {
    require("all_reduce", data, count, s);
    enqueue(nccl_.ncclAllReduce, data, data, static_cast<std::size_t>(count), ncclFloat32, ncclSum, comm_, s);
  }
  /// Gives all ranks every rank's numbers, in rank order; otherwise as all_reduce.
  void all_gather(float const* data, long long count, float* all, cudaStream_t s) override {
    require("all_gather", data, count, s);
    if (!all) throw option_error("nccl: all_gather: the place for the result must not be null");
    enqueue(nccl_.ncclAllGather, data, all, static_cast<std::size_t>(count), ncclFloat32, comm_, s);
  }
  /// Until all work queued on s is done. Throws executor_error where that takes too long, or NCCL reports an error
  /// meanwhile; cudaStreamSynchronize would wait for ever for a rank that has died. `what`: of the message.
  void wait(cudaStream_t s, char const* what = "queued collectives") override {
    char const* const call = api_.cudaStreamQuery.name;
    require_usable(call);
    bool asked_again = false;
    for (patience p(deadlines_.wait);; p.pause()) {
      cudaError_t const work = api_.cudaStreamQuery.function(s);
      if (work != cudaSuccess && work != cudaErrorNotReady)
        fail(call, detail::message({"waiting for ", what, ": ", api_.cudaGetErrorString.function(work)}));
      if (ncclResult_t const r = progress(what); r != ncclSuccess && r != ncclInProgress)
        fail(nccl_.ncclCommGetAsyncError.name, detail::message({"waiting for ", what, ": ", nccl_.reason(r)}),
             r == ncclRemoteError);
      if (work == cudaSuccess) break;
      asked_again = true;
      if (p.over()) out_of_time(call, what, deadlines_.wait);
    }
    if (asked_again) api_.cudaGetLastError.function();  // "not ready" is no error for whoever asks next
  }

  /// Begins to end what other ranks make hang on this one's GPU; returns at once. NCCL tells other ranks over networks
  /// only: in one process and on one machine they learn of it from the group, or by a deadline.
  void abort() noexcept override {
    if (!comm_) return;
    end_with(nccl_.ncclCommAbort);
  }
  /// Waits for `close` at most.
  bool ended(cudaStream_t s) noexcept override {
    for (patience p(deadlines_.close); api_.cudaStreamQuery.function(s) == cudaErrorNotReady; p.pause())
      if (p.over()) return false;
    return true;
  }

 private:
  void require(char const* what, float const* data, long long count, cudaStream_t s) const {
    if (!data) throw option_error(detail::message({"nccl: ", what, ": data must not be null"}));
    if (count < 1) throw option_error(detail::message({"nccl: ", what, ": count must be 1 or more; found ", count}));
    if (!s) throw option_error(detail::message({"nccl: ", what, ": the default stream can't be recorded; make one"}));
  }
  void require_usable(char const* call) const {
    if (!usable()) throw executor_error(detail::message({who(), call, ": the communicator was aborted"}));
  }
  template <class... P>
  void enqueue(entry<ncclResult_t(P...)> const& e, std::type_identity_t<P>... arguments) {
    require_usable(e.name);
    settle(e.function(arguments...), e.name, "its launch", deadlines_.start);
  }
  /// A call that doesn't block goes on in the background; until it has ended, nothing is queued or recorded.
  void settle(ncclResult_t r, char const* call, char const* what, std::chrono::milliseconds longest) {
    for (patience p(longest); r == ncclInProgress; p.pause()) {
      r = progress(what);
      if (r == ncclInProgress && p.over()) out_of_time(call, what, longest);
    }
    if (r != ncclSuccess)
      fail(call, detail::message({"waiting for ", what, ": ", nccl_.reason(r)}), r == ncclRemoteError);
  }
  ncclResult_t progress(char const* what) {
    char const* const call = nccl_.ncclCommGetAsyncError.name;
    ncclResult_t state = ncclSuccess;
    ncclResult_t const asked = nccl_.ncclCommGetAsyncError.function(comm_, &state);
    if (asked != ncclSuccess) fail(call, detail::message({"waiting for ", what, ": ", nccl_.reason(asked)}));
    if (group_ && group_->broken())
      fail(call, detail::message({"waiting for ", what, ": another rank has given up"}), true);
    return state;
  }
  [[gnu::cold]] std::string who() const { return detail::message({"nccl: rank ", rank_, " of ", ranks_, ": "}); }
  [[gnu::cold, noreturn]] void out_of_time(char const* call, char const* what, std::chrono::milliseconds longest) {
    fail(call,
         detail::message({"waited ", static_cast<long long>(longest.count()), " ms for ", what,
                          "; another rank has stopped, or calls something else"}),
         true);
  }
  [[gnu::cold, noreturn]] void fail(char const* call, std::string const& why, bool is_another_s = false) {
    abort();
    std::string const text = detail::message({who(), call, ": ", why});
    if (is_another_s) throw peer_error(text);
    throw executor_error(text);
  }

  /// The orderly end: a collective, too.
  void finish() noexcept {
    ncclResult_t r = nccl_.ncclCommFinalize.function(comm_);
    for (patience p(deadlines_.close); r == ncclInProgress && !p.over(); p.pause())
      if (nccl_.ncclCommGetAsyncError.function(comm_, &r) != ncclSuccess) return;
    if (r == ncclSuccess) end_with(nccl_.ncclCommDestroy);
  }
  void end_with(entry<ncclResult_t(ncclComm_t)> const& e) noexcept {
    ncclComm_t const last = std::exchange(comm_, nullptr);
    ncclComm_t* const place = place_.release();
    try {
      ending_ = call_aside([call = e.function, last, place] {
        call(last);  // it selects the device itself
        delete place;
      });
    } catch (...) {  // no thread to be had: rather a leak than a hang
    }
  }

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

}  // namespace dsl::cu
