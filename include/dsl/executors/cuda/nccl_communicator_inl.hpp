// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/cuda/nccl_api.hpp>
#include <dsl/executors/cuda/nccl_aside.hpp>
#include <dsl/executors/cuda/nccl_communicator.hpp>

#include <atomic>
#include <chrono>
#include <cstring>
#include <exception>
#include <string>
#include <utility>

namespace dsl::cu::TYPENET_MODE {

TYPENET_INLINE nccl_communicator::nccl_communicator(api const& a, nccl_api const& n, nccl_id const& id, int rank,
                                                    int ranks, nccl_deadlines const& d, communicator* group)
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
    comm_ = std::atomic_ref(*place_).load();  // NCCL may be writing it again in the background
    if (!comm_) fail(call, n.reason(status == ncclSuccess ? ncclInternalError : status));
    settle(status, call, "all ranks to join", deadlines_.start);
  } catch (...) {
    if (ending_) ending_.wait(deadlines_.close);
    throw;
  }
}

TYPENET_INLINE nccl_communicator::~nccl_communicator() {
  if (usable() && std::uncaught_exceptions() <= unwinding_) finish();
  abort();
  if (ending_) ending_.wait(deadlines_.close);
}

TYPENET_INLINE void nccl_communicator::all_reduce(float* data, long long count, cudaStream_t s) {
  require("all_reduce", data, count, s);
  enqueue(nccl_.ncclAllReduce, data, data, static_cast<std::size_t>(count), ncclFloat32, ncclSum, comm_, s);
}

TYPENET_INLINE void nccl_communicator::all_gather(float const* data, long long count, float* all, cudaStream_t s) {
  require("all_gather", data, count, s);
  if (!all) throw option_error("nccl: all_gather: the pointer to the result must not be null");
  enqueue(nccl_.ncclAllGather, data, all, static_cast<std::size_t>(count), ncclFloat32, comm_, s);
}

TYPENET_INLINE void nccl_communicator::wait(cudaStream_t s, char const* what) {
  char const* const call = api_.cudaStreamQuery.name;
  require_usable(call);
  bool asked_again = false;
  for (backoff p(deadlines_.wait);; p.pause()) {
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
  if (asked_again) api_.cudaGetLastError.function();  // "not ready" must not look like an error to the next caller
}

TYPENET_INLINE void nccl_communicator::abort() noexcept {
  if (!comm_) return;
  end_with(nccl_.ncclCommAbort);
}

TYPENET_INLINE bool nccl_communicator::ended(cudaStream_t s) noexcept {
  for (backoff p(deadlines_.close); api_.cudaStreamQuery.function(s) == cudaErrorNotReady; p.pause())
    if (p.over()) return false;
  return true;
}

TYPENET_INLINE void nccl_communicator::require(char const* what, float const* data, long long count,
                                               cudaStream_t s) const {
  if (!data) throw option_error(detail::message({"nccl: ", what, ": data must not be null"}));
  if (count < 1) throw option_error(detail::message({"nccl: ", what, ": count must be 1 or more; found ", count}));
  if (!s)
    throw option_error(detail::message({"nccl: ", what, ": the default stream cannot be recorded; create another"}));
}

TYPENET_INLINE void nccl_communicator::require_usable(char const* call) const {
  if (!usable()) throw executor_error(detail::message({who(), call, ": the communicator was aborted"}));
}

TYPENET_INLINE void nccl_communicator::settle(ncclResult_t r, char const* call, char const* what,
                                              std::chrono::milliseconds longest) {
  for (backoff p(longest); r == ncclInProgress; p.pause()) {
    r = progress(what);
    if (r == ncclInProgress && p.over()) out_of_time(call, what, longest);
  }
  if (r != ncclSuccess)
    fail(call, detail::message({"waiting for ", what, ": ", nccl_.reason(r)}), r == ncclRemoteError);
}

TYPENET_INLINE ncclResult_t nccl_communicator::progress(char const* what) {
  char const* const call = nccl_.ncclCommGetAsyncError.name;
  ncclResult_t state = ncclSuccess;
  ncclResult_t const asked = nccl_.ncclCommGetAsyncError.function(comm_, &state);
  if (asked != ncclSuccess) fail(call, detail::message({"waiting for ", what, ": ", nccl_.reason(asked)}));
  if (group_ && group_->broken())
    fail(call, detail::message({"waiting for ", what, ": another rank has given up"}), true);
  return state;
}

TYPENET_INLINE void nccl_communicator::out_of_time(char const* call, char const* what,
                                                   std::chrono::milliseconds longest) {
  fail(call,
       detail::message({"waited ", static_cast<long long>(longest.count()), " ms for ", what,
                        "; another rank has stopped or is making a different call"}),
       true);
}

TYPENET_INLINE void nccl_communicator::fail(char const* call, std::string const& why, bool is_another_s) {
  abort();
  std::string const text = detail::message({who(), call, ": ", why});
  if (is_another_s) throw peer_error(text);
  throw executor_error(text);
}

TYPENET_INLINE void nccl_communicator::finish() noexcept {
  ncclResult_t r = nccl_.ncclCommFinalize.function(comm_);
  for (backoff p(deadlines_.close); r == ncclInProgress && !p.over(); p.pause())
    if (nccl_.ncclCommGetAsyncError.function(comm_, &r) != ncclSuccess) return;
  if (r == ncclSuccess) end_with(nccl_.ncclCommDestroy);
}

TYPENET_INLINE void nccl_communicator::end_with(entry<ncclResult_t(ncclComm_t)> const& e) noexcept {
  ncclComm_t const last = std::exchange(comm_, nullptr);
  ncclComm_t* const place = place_.release();
  try {
    ending_ = call_aside([call = e.function, last, place] {
      call(last);  // it selects the device itself
      delete place;
    });
  } catch (...) {  // no thread could be started: a leak is better than a hang
  }
}

}  // namespace dsl::cu::TYPENET_MODE
