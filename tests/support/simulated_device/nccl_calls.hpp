// SPDX-License-Identifier: MIT
#pragma once

#include <cstring>
#include <string>
#include <utility>

#include "support/simulated_device/nccl_collectives.hpp"

namespace dsl_test::simulated {

inline ncclResult_t nccl_error(ncclResult_t r, std::string text) {
  world().last_error = std::move(text);
  return r;
}

// ---- communicators -------------------------------------------------------------------------------------------------
inline ncclResult_t nccl_get_version(state&, int* version) {
  if (!version) return ncclInvalidArgument;
  *version = world().options.version;
  return ncclSuccess;
}
inline char const* nccl_get_error_string(state&, ncclResult_t r) { return ::ncclGetErrorString(r); }
inline char const* nccl_get_last_error(state&, ncclComm_t) { return world().last_error.c_str(); }

inline ncclResult_t nccl_get_unique_id(state& s, ncclUniqueId* id) {
  if (!id) return ncclInvalidArgument;
  std::uint64_t const number = s.next_id++;
  std::memset(id, 0x5A, sizeof *id);
  std::memcpy(id, &number, sizeof number);
  world().cliques[number] = std::make_shared<nccl_clique>();
  return ncclSuccess;
}

/// Called when the last rank comes: two ranks on one GPU are refused, as by every NCCL before 2.30, and the others are
/// told.
inline void look_for_duplicates(nccl_clique& clique) {
  bool found = false;
  for (auto const& a : clique.members)
    for (auto const& b : clique.members)
      if (a != b && a->device == b->device) {
        a->result = nccl_error(ncclInvalidUsage, "Duplicate GPU detected : rank " + std::to_string(a->rank) +
                                                     " and rank " + std::to_string(b->rank) + " both on CUDA device " +
                                                     std::to_string(a->device));
        found = true;
      }
  for (auto const& m : clique.members)
    if (found && m->result == ncclInProgress) m->result = ncclRemoteError;
}

inline ncclResult_t nccl_init(state& s, ncclComm_t* comm, int ranks, ncclUniqueId id, int rank, ncclConfig_t* config) {
  if (!comm) return ncclInvalidArgument;
  *comm = nullptr;
  if (refused_by_capture(s)) return nccl_error(ncclUnhandledCudaError, "operation not permitted when capturing");
  if (!config || config->size != sizeof *config || config->magic != 0xcafebeef)
    return nccl_error(ncclInvalidArgument, "ncclConfig_t argument not initialized via NCCL_CONFIG_INITIALIZER");
  if (ranks < 1 || rank < 0 || rank >= ranks) return nccl_error(ncclInvalidArgument, "Invalid rank requested");
  if (config->blocking != 0) {
    s.misuse("ncclCommInitRankConfig: only communicators that don't block are simulated");
    return ncclInvalidUsage;
  }
  auto me = std::make_shared<nccl_rank>();
  me->rank = rank;
  me->device = state::current_device;
  me->polls = world().options.polls;
  std::uint64_t number;
  std::memcpy(&number, &id, sizeof number);
  auto& clique = world().cliques[number];
  if (!clique) {
    clique = std::make_shared<nccl_clique>();
    clique->spoiled = true;
    me->result = nccl_error(ncclRemoteError, "nobody listens at this id");
  }
  me->clique = clique;
  nccl_clique& c = *me->clique;
  if (c.members.empty()) c.members.resize(static_cast<std::size_t>(ranks));
  me->place = comm;
  *comm = s.add<ncclComm_t>("communicator", me);
  // The real root writes a warning and gives up, and the ranks wait without end.
  if (c.members.size() != static_cast<std::size_t>(ranks) || c.members[static_cast<std::size_t>(rank)]) {
    c.spoiled = true;
    return me->result;
  }
  c.members[static_cast<std::size_t>(rank)] = me;
  if (c.complete()) look_for_duplicates(c);
  return me->result;
}

inline ncclResult_t nccl_get_async_error(state& s, ncclComm_t comm, ncclResult_t* result) {
  auto const me = s.find<nccl_rank>(comm, "ncclCommGetAsyncError");
  if (!me || !result) return ncclInvalidArgument;
  progress(s, *me);
  *result = me->result;
  return ncclSuccess;
}

/// Does what ncclCommEnsureReady does.
inline ncclResult_t ensure_ready(nccl_rank& me) {
  if (me.result == ncclInProgress)
    me.result = nccl_error(ncclInvalidArgument,
                           "Attempt to use communicator before the previous operation returned ncclSuccess");
  return me.result;
}
inline ncclResult_t nccl_finalize(state& s, ncclComm_t comm) {
  auto const me = s.find<nccl_rank>(comm, "ncclCommFinalize");
  if (!me) return ncclInvalidArgument;
  if (ncclResult_t const r = ensure_ready(*me); r != ncclSuccess) return r;
  if (me->doing == nccl_rank::finalizing) return me->result = ncclInvalidArgument;
  me->doing = nccl_rank::finalizing;
  me->polls = world().options.polls;
  return me->result = ncclInProgress;
}
/// Both ways to end block, even for a non-blocking communicator, until no graph has its collectives any more.
inline ncclResult_t end_communicator(state& s, ncclComm_t comm, nccl_rank& me, char const* call) {
  bool const over = wait_for_others(s, [&] { return work_is_done(s, me) && !recorded_in_a_graph(s, me); });
  if (!over) {
    s.misuse(std::string(call) +
             ": hangs: " + (recorded_in_a_graph(s, me) ? "a graph has its collectives" : stalled()));
    return ncclInternalError;
  }
  me.gone = true;
  s.remove(comm);
  return ncclSuccess;
}
inline ncclResult_t nccl_destroy(state& s, ncclComm_t comm) {
  auto const me = s.find<nccl_rank>(comm, "ncclCommDestroy");
  if (!me) return ncclInvalidArgument;
  if (ncclResult_t const r = ensure_ready(*me); r != ncclSuccess) return r;
  return end_communicator(s, comm, *me, "ncclCommDestroy");
}
inline ncclResult_t nccl_abort(state& s, ncclComm_t comm) {
  auto const me = s.find<nccl_rank>(comm, "ncclCommAbort");
  if (!me) return ncclInvalidArgument;
  me->queued.clear();
  me->result = ncclRemoteError;
  me->gone = true;
  release(s, *me);
  auto const finalized = [](nccl_rank const& r) { return r.doing == nccl_rank::finalizing && r.result == ncclSuccess; };
  ++world().aborts;
  if (world().options.aborts_last) wait_for_others(s, [] { return world().aborts_may_end; });
  if (ncclComm_t* const place = std::exchange(me->place, nullptr)) *place = comm;
  if (world().options.aborts_are_heard)
    for (auto const& other : me->clique->members)
      if (other && other != me && !other->gone && !finalized(*other)) other->result = ncclRemoteError;
  return end_communicator(s, comm, *me, "ncclCommAbort");
}

// ---- collectives ---------------------------------------------------------------------------------------------------
inline ncclResult_t check_collective(state& s, nccl_rank& me, collective& c) {
  if (ncclResult_t const r = ensure_ready(me); r != ncclSuccess) return r;
  cudaError_t error;
  auto const q = find_stream(s, c.stream, c.name, error);
  if (!q || q->device != me.device) return nccl_error(ncclUnhandledCudaError, "Cuda failure 'invalid resource handle'");
  auto const has = [&](void const* p, std::size_t floats) {
    auto const* const b = s.memory.find(p, floats * sizeof(float));
    return b && b->device == me.device;
  };
  if (!has(c.send, c.count) || !has(c.receive, c.received(me.clique->members.size())))
    return nccl_error(ncclInvalidArgument, std::string(c.name) + " : no memory of this rank's GPU");
  c.recording = q->capturing;
  c.recorded = q->capturing != nullptr;
  return ncclSuccess;
}
inline ncclResult_t enqueue_collective(state& s, ncclComm_t comm, collective c, ncclDataType_t type) {
  auto const me = s.find<nccl_rank>(comm, c.name);
  if (!me) return ncclInvalidArgument;
  ncclResult_t r = check_collective(s, *me, c);
  if (r == ncclSuccess && type != ncclFloat32) {
    s.misuse(std::string(c.name) + ": only float is simulated");
    r = ncclInvalidArgument;
  }
  if (r != ncclSuccess) return me->result = r;
  if (c.count == 0) return ncclSuccess;
  begin(s, *me, {std::move(c)});
  return me->result;
}
inline ncclResult_t nccl_all_reduce(state& s, void const* send, void* receive, std::size_t count, ncclDataType_t type,
                                    ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream) {
  if (op != ncclSum) {
    s.misuse("ncclAllReduce: only sums are simulated");
    return ncclInvalidArgument;
  }
  return enqueue_collective(s, comm, {"ncclAllReduce", send, receive, count, false, stream}, type);
}
inline ncclResult_t nccl_all_gather(state& s, void const* send, void* receive, std::size_t count, ncclDataType_t type,
                                    ncclComm_t comm, cudaStream_t stream) {
  return enqueue_collective(s, comm, {"ncclAllGather", send, receive, count, true, stream}, type);
}

}  // namespace dsl_test::simulated
