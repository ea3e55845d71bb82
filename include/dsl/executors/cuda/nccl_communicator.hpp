// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/executors/cuda/nccl_aside.hpp>
#include <dsl/executors/cuda/nccl_api.hpp>

#include <exception>
#include <utility>

namespace dsl::cu {

/// NCCL has no time limits of its own.
struct nccl_deadlines {
  std::chrono::milliseconds start{30'000};  // until all ranks have come
  std::chrono::milliseconds wait{30'000};   // for one collective to be queued, and for one wait()
  std::chrono::milliseconds close{10'000};  // for each of the two ways to end
};

/// One rank of several, one process and one GPU each; the current device is this rank's. Used by one thread at a time.
/// All ranks call the same collectives in the same order, and record the same graphs.
///
/// Destroy the graphs that recorded its collectives first: NCCL keeps a communicator as long as one of them exists. So
/// among an object's members: streams, communicator, graphs. After an error the communicator is being aborted already,
/// which ends kernels that wait for other ranks, so that streams and graphs can go; nothing else can be done with it.
class nccl_communicator final : public device_communicator {
 public:
  /// Waits for the other ranks. Throws option_error for a rank that can't be, executor_error where NCCL fails or not
  /// all ranks come in time.
  [[gnu::cold]] nccl_communicator(api const& a, nccl_api const& n, nccl_id const& id, int rank, int ranks,
                                  nccl_deadlines const& d = {})
      : api_(a), nccl_(n), rank_(rank), ranks_(ranks), deadlines_(d) {
    if (ranks < 1) throw option_error(detail::message({"nccl: there must be 1 rank or more; found ", ranks}));
    if (rank < 0 || rank >= ranks)
      throw option_error(detail::message({"nccl: rank must be 0 to ", ranks - 1, "; found ", rank}));
    require_nccl(n);
    a(a.cudaGetDevice, &device_);
    ncclUniqueId raw;
    std::memcpy(&raw, id.data(), sizeof raw);
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    char const* const call = n.ncclCommInitRankConfig.name;
    try {
      ncclResult_t const status = n.ncclCommInitRankConfig.function(&comm_, ranks, raw, rank, &config);
      if (!comm_) fail(call, n.reason(status == ncclSuccess ? ncclInternalError : status));
      settle(status, call, "all ranks to come", deadlines_.start);
    } catch (...) {
      if (ending_) ending_.wait(deadlines_.close);
      throw;
    }
  }
  /// Waits until all ranks end, at most twice `close`. When an exception ends it, aborts, so that the others hear of
  /// it at once. What then still hangs is left to the process's end.
  ~nccl_communicator() override {
    if (usable() && std::uncaught_exceptions() <= unwinding_) finish();
    abort();
    if (ending_) ending_.wait(deadlines_.close);
  }

  int rank() const { return rank_; }
  int ranks() const { return ranks_; }
  /// False once something failed, here or, where NCCL noticed, on another rank.
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
  /// Gives all ranks root's numbers; otherwise as all_reduce.
  void broadcast(float* data, long long count, int root, cudaStream_t s) {
    require("broadcast", data, count, s);
    if (root < 0 || root >= ranks_)
      throw option_error(detail::message({"nccl: broadcast: root must be 0 to ", ranks_ - 1, "; found ", root}));
    enqueue(nccl_.ncclBroadcast, data, data, static_cast<std::size_t>(count), ncclFloat32, root, comm_, s);
  }
  /// The collectives that f calls go as one launch: c.together([&] { c.broadcast(...); c.broadcast(...); }).
  template <class F>
  void together(F f) {
    require_usable(nccl_.ncclGroupStart.name);
    if (grouped_) return f();
    if (ncclResult_t const r = nccl_.ncclGroupStart.function(); r != ncclSuccess)
      fail(nccl_.ncclGroupStart.name, nccl_.reason(r));
    grouped_ = true;
    try {
      f();
    } catch (...) {
      grouped_ = false;
      nccl_.ncclGroupEnd.function();  // first: it still uses the communicator
      abort();                        // some collectives were queued, perhaps, and others not
      throw;
    }
    grouped_ = false;
    settle(nccl_.ncclGroupEnd.function(), nccl_.ncclGroupEnd.name, "its launch", deadlines_.wait);
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
        fail(nccl_.ncclCommGetAsyncError.name, detail::message({"waiting for ", what, ": ", nccl_.reason(r)}));
      if (work == cudaSuccess) break;
      asked_again = true;
      if (p.over()) out_of_time(call, what, deadlines_.wait);
    }
    if (asked_again) api_.cudaGetLastError.function();  // "not ready" is no error for whoever asks next
  }

  /// Begins to end what other ranks make hang; returns at once. For a rank that gives up for reasons of its own.
  void abort() noexcept override {
    if (!comm_) return;
    end_with(nccl_.ncclCommAbort);
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
    ncclResult_t const r = e.function(arguments...);
    if (r == ncclSuccess || (r == ncclInProgress && grouped_)) return;
    settle(r, e.name, "its launch", deadlines_.wait);
  }
  /// A call that doesn't block goes on in the background; until it has ended, nothing is queued or recorded.
  void settle(ncclResult_t r, char const* call, char const* what, std::chrono::milliseconds longest) {
    for (patience p(longest); r == ncclInProgress; p.pause()) {
      r = progress(what);
      if (r == ncclInProgress && p.over()) out_of_time(call, what, longest);
    }
    if (r != ncclSuccess) fail(call, detail::message({"waiting for ", what, ": ", nccl_.reason(r)}));
  }
  ncclResult_t progress(char const* what) {
    ncclResult_t state = ncclSuccess;
    ncclResult_t const asked = nccl_.ncclCommGetAsyncError.function(comm_, &state);
    if (asked != ncclSuccess)
      fail(nccl_.ncclCommGetAsyncError.name, detail::message({"waiting for ", what, ": ", nccl_.reason(asked)}));
    return state;
  }
  [[gnu::cold]] std::string who() const { return detail::message({"nccl: rank ", rank_, " of ", ranks_, ": "}); }
  [[gnu::cold, noreturn]] void out_of_time(char const* call, char const* what, std::chrono::milliseconds longest) {
    fail(call, detail::message({"waited ", static_cast<long long>(longest.count()), " ms for ", what,
                                "; another rank has stopped, or calls something else"}));
  }
  [[gnu::cold, noreturn]] void fail(char const* call, std::string const& why) {
    if (!grouped_) abort();  // a group is ended first, by together()
    throw executor_error(detail::message({who(), call, ": ", why}));
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
    try {
      ending_ = call_aside([call = e.function, set = api_.cudaSetDevice.function, device = device_, last] {
        set(device);
        call(last);
      });
    } catch (...) {  // no thread to be had: rather a leak than a hang
    }
  }

  api const& api_;
  nccl_api const& nccl_;
  ncclComm_t comm_ = nullptr;
  int rank_, ranks_, device_ = 0;
  nccl_deadlines deadlines_;
  bool grouped_ = false;
  int unwinding_ = std::uncaught_exceptions();
  call_aside ending_{};
};

}  // namespace dsl::cu
