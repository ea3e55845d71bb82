// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "support/simulated_device/copies.hpp"
#include "support/simulated_device/events.hpp"
#include "support/simulated_device/nccl_collectives.hpp"

// CUDA's calls that wait for a device: with collectives queued they may wait for another rank's thread. On a GPU they
// would then wait without end; here only for `patience`, after which it is a misuse.

namespace dsl_test::simulated {

inline cudaError_t finish_with_others(state& s, std::vector<std::shared_ptr<node>> const& targets, char const* call) {
  bool const over = wait_for_others(s, [&] {
    s.finish(targets);
    for (auto const& t : targets)
      if (t && !t->done) return s.sticky != cudaSuccess;
    return true;
  });
  if (over) return s.sticky;
  s.misuse(std::string(call) + ": hangs: " + stalled());
  return cudaErrorLaunchTimeout;
}

inline cudaError_t stream_synchronize_with_others(state& s, cudaStream_t handle) {
  std::shared_ptr<stream> q;
  cudaError_t const error = look_at_stream(s, handle, "cudaStreamSynchronize", q);
  if (error != cudaErrorNotReady) return error;
  return finish_with_others(s, {q->last}, "cudaStreamSynchronize");
}
inline cudaError_t event_synchronize_with_others(state& s, cudaEvent_t handle) {
  std::shared_ptr<event> e;
  cudaError_t const error = look_at_event(s, handle, "cudaEventSynchronize", e);
  if (error != cudaErrorNotReady) return error;
  return finish_with_others(s, {e->at}, "cudaEventSynchronize");
}
/// Frees memory; waits only for this device, since another rank may be waiting for this one.
template <bool Pinned>
cudaError_t give_memory_back_with_others(state& s, void* p) {
  if (refused_by_capture(s)) return cudaErrorStreamCaptureUnsupported;
  if (!p) return cudaSuccess;
  std::vector<std::shared_ptr<node>> own;
  for (auto const& q : s.all<stream>())
    if (q->device == state::current_device) own.push_back(q->last);
  cudaError_t const waited = finish_with_others(s, own, Pinned ? "cudaFreeHost" : "cudaFree");
  cudaError_t const freed = give_memory_back<Pinned>(s, p);
  return waited == cudaSuccess ? freed : waited;
}
inline cudaError_t memcpy_async_with_others(state& s, void* to, void const* from, std::size_t bytes,
                                            cudaMemcpyKind kind, cudaStream_t in) {
  cudaError_t const error = memcpy_async(s, to, from, bytes, kind, in);
  if (error != cudaSuccess || bytes == 0 || find_place(s, to, bytes) != place::pageable) return error;
  cudaError_t found;
  auto const q = find_stream(s, in, "cudaMemcpyAsync", found);
  return finish_with_others(s, {q->last}, "cudaMemcpyAsync");
}

/// Does what graph_launch does, with recorded collectives that communicate with other ranks' launches.
inline cudaError_t graph_launch_with_others(state& s, cudaGraphExec_t handle, cudaStream_t in) {
  std::shared_ptr<stream> q;
  cudaError_t error;
  auto const e = find_exec(s, handle, in, "cudaGraphLaunch", q, error);
  if (!e) return error;
  bool meets = false;
  for (recorded_node const& n : *e->nodes) meets = meets || n.run.target<recorded_collective>();
  if (!meets) return graph_launch(s, handle, in);
  if (!e->loaded || !e->loaded->done)
    s.misuse(
        "cudaGraphLaunch: the launch loads the graph first, which may wait for what another rank's launch holds up");
  if (q->device != state::current_device) return cudaErrorInvalidResourceHandle;
  for (recorded_node const& n : *e->nodes)
    for (auto const& o : n.uses)
      if (!o->alive) {
        s.misuse(std::string("cudaGraphLaunch: the recorded ") + n.what + " needs a " + o->kind + " that is gone");
        return cudaErrorInvalidResourceHandle;
      }
  auto const start = s.work.add("cudaGraphLaunch", 0, {q->last, e->last}, nullptr);
  std::vector<std::shared_ptr<node>> copies, all{start};
  for (recorded_node const& n : *e->nodes) {
    std::vector<std::shared_ptr<node>> before{start};
    for (std::size_t const b : n.before) before.push_back(copies[b]);
    auto const* const c = n.run.target<recorded_collective>();
    copies.push_back(c ? join(s, *c->rank.lock(), c->c, std::move(before))
                       : s.work.add(n.what, n.milliseconds, std::move(before), n.run));
    all.push_back(copies.back());
  }
  q->last = e->last = s.work.add("cudaGraphLaunch", 0, std::move(all), nullptr);
  s.after_enqueue();
  return s.sticky;
}

inline void install_waits(installer& table) {
  using dsl::cu::api;
  table.set<&api::cudaStreamSynchronize, &stream_synchronize_with_others>();
  table.set<&api::cudaEventSynchronize, &event_synchronize_with_others>();
  table.set<&api::cudaFree, &give_memory_back_with_others<false>>();
  table.set<&api::cudaFreeHost, &give_memory_back_with_others<true>>();
  table.set<&api::cudaMemcpyAsync, &memcpy_async_with_others>();
  table.set<&api::cudaGraphLaunch, &graph_launch_with_others>();
}

}  // namespace dsl_test::simulated
