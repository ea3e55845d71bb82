// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/cuda/collectives.hpp>

#include <nccl.h>

#include <cstring>
#include <string>

namespace dsl::cu::TYPENET_MODE {

/// The table of all NCCL functions that the executor calls. It is separate from `api`, so that a program for one GPU
/// does not link the library.
struct nccl_api {
  entry<ncclResult_t(int*)> ncclGetVersion{"ncclGetVersion", ::ncclGetVersion};
  entry<char const*(ncclResult_t)> ncclGetErrorString{"ncclGetErrorString", ::ncclGetErrorString};
  entry<char const*(ncclComm_t)> ncclGetLastError{"ncclGetLastError", ::ncclGetLastError};
  // communicators
  entry<ncclResult_t(ncclUniqueId*)> ncclGetUniqueId{"ncclGetUniqueId", ::ncclGetUniqueId};
  entry<ncclResult_t(ncclComm_t*, int, ncclUniqueId, int, ncclConfig_t*)> ncclCommInitRankConfig{
      "ncclCommInitRankConfig", ::ncclCommInitRankConfig};
  entry<ncclResult_t(ncclComm_t, ncclResult_t*)> ncclCommGetAsyncError{"ncclCommGetAsyncError",
                                                                       ::ncclCommGetAsyncError};
  entry<ncclResult_t(ncclComm_t)> ncclCommFinalize{"ncclCommFinalize", ::ncclCommFinalize};
  entry<ncclResult_t(ncclComm_t)> ncclCommDestroy{"ncclCommDestroy", ::ncclCommDestroy};
  entry<ncclResult_t(ncclComm_t)> ncclCommAbort{"ncclCommAbort", ::ncclCommAbort};
  // collectives
  entry<ncclResult_t(void const*, void*, std::size_t, ncclDataType_t, ncclRedOp_t, ncclComm_t, cudaStream_t)>
      ncclAllReduce{"ncclAllReduce", ::ncclAllReduce};
  entry<ncclResult_t(void const*, void*, std::size_t, ncclDataType_t, ncclComm_t, cudaStream_t)> ncclAllGather{
      "ncclAllGather", ::ncclAllGather};

  /// Calls a function: n(n.ncclGetVersion, &v). Throws executor_error if it fails: "nccl: ncclGetVersion failed: ...".
  template <class... P>
  void operator()(entry<ncclResult_t(P...)> const& e, std::type_identity_t<P>... arguments) const {
    if (ncclResult_t const status = e.function(arguments...); status != ncclSuccess) fail(status, e.name);
  }
  /// Returns why a call failed: "remote process exited or there was a network error (the library's last message)".
  std::string reason(ncclResult_t status) const {
    std::string text = ncclGetErrorString.function(status);
    char const* const last = ncclGetLastError.function(nullptr);
    if (last && *last) text += detail::message({" (", last, ")"});
    return text;
  }

 private:
  [[gnu::cold, noreturn]] void fail(ncclResult_t s, char const* call) const {
    throw executor_error(detail::message({"nccl: ", call, " failed: ", reason(s)}));
  }
};

/// The id shared by the ranks of one communicator. One rank makes it, a handshake sends it to the others, and it is
/// used once.
using nccl_id = handshake::note;

/// Makes an id. This needs no GPU, but it needs a network interface; the loopback interface suffices. Throws
/// executor_error if NCCL fails.
inline nccl_id make_nccl_id(nccl_api const& n) {
  ncclUniqueId id{};
  n(n.ncclGetUniqueId, &id);
  nccl_id bytes;
  static_assert(sizeof bytes == sizeof id);
  std::memcpy(bytes.data(), &id, sizeof id);
  return bytes;
}

/// Throws executor_error if the loaded library is older than 2.28, because non-blocking communicators then had other
/// rules.
inline int require_nccl(nccl_api const& n) {
  int version = 0;
  n(n.ncclGetVersion, &version);
  if (version < NCCL_VERSION(2, 28, 0))
    throw executor_error(detail::message({"nccl: the library is ", version / 10000, ".", version / 100 % 100, ".",
                                          version % 100, "; 2.28 or later is needed"}));
  return version;
}

}  // namespace dsl::cu::TYPENET_MODE
