// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "support/simulated_device/streams.hpp"

namespace dsl_test::simulated {

using recorded_nodes = std::shared_ptr<std::vector<recorded_node> const>;

struct graph : object {
  recorded_nodes nodes;
};
struct graph_exec : object {
  recorded_nodes nodes;
  std::shared_ptr<node> last;    // a graph never runs beside itself
  std::shared_ptr<node> loaded;  // onto the device, by an upload or the first launch
};

inline cudaError_t stream_end_capture(state& s, cudaStream_t handle, cudaGraph_t* result) {
  cudaError_t error;
  if (result) *result = nullptr;
  auto const c = end_capture(s, handle, error);
  if (!c) return error;
  if (!result) return cudaErrorInvalidValue;
  auto g = std::make_shared<graph>();
  g->nodes = std::make_shared<std::vector<recorded_node> const>(std::move(c->nodes));
  *result = s.add<cudaGraph_t>("graph", g);
  return cudaSuccess;
}
inline cudaError_t graph_instantiate(state& s, cudaGraphExec_t* result, cudaGraph_t handle, unsigned long long flags) {
  auto const g = s.find<graph>(handle, "cudaGraphInstantiate");
  if (!g) return cudaErrorInvalidResourceHandle;
  // With other flags, or none, it would ignore the priorities of the recorded streams.
  if (!result || flags != cudaGraphInstantiateFlagUseNodePriority) return cudaErrorInvalidValue;
  auto e = std::make_shared<graph_exec>();
  e->nodes = g->nodes;
  *result = s.add<cudaGraphExec_t>("executable graph", e);
  return cudaSuccess;
}
inline cudaError_t graph_destroy(state& s, cudaGraph_t handle) {
  if (!s.find<graph>(handle, "cudaGraphDestroy")) return cudaErrorInvalidResourceHandle;
  s.remove(handle);
  return cudaSuccess;
}
/// A launch that has not ended keeps the work alive.
inline cudaError_t graph_exec_destroy(state& s, cudaGraphExec_t handle) {
  if (!s.find<graph_exec>(handle, "cudaGraphExecDestroy")) return cudaErrorInvalidResourceHandle;
  s.remove(handle);
  return cudaSuccess;
}

inline std::shared_ptr<graph_exec> find_exec(state& s, cudaGraphExec_t handle, cudaStream_t in, char const* call,
                                             std::shared_ptr<stream>& q, cudaError_t& error) {
  q = find_stream(s, in, call, error);
  if (!q) return nullptr;
  auto e = s.find<graph_exec>(handle, call);
  if (!e) error = cudaErrorInvalidResourceHandle;
  if (e && q->capturing) {
    q->capturing->invalid = true;
    error = cudaErrorStreamCaptureUnsupported;
  }
  return error == cudaSuccess ? e : nullptr;
}
inline cudaError_t graph_upload(state& s, cudaGraphExec_t handle, cudaStream_t in) {
  std::shared_ptr<stream> q;
  cudaError_t error;
  auto const e = find_exec(s, handle, in, "cudaGraphUpload", q, error);
  if (!e) return error;
  e->loaded = q->last = s.work.add("cudaGraphUpload", 0.1, {q->last, e->last}, nullptr);
  s.after_enqueue();
  return s.sticky;
}

/// Queues the recorded work, with the recorded pointers, after the stream and the graph's last launch.
inline cudaError_t graph_launch(state& s, cudaGraphExec_t handle, cudaStream_t in) {
  std::shared_ptr<stream> q;
  cudaError_t error;
  auto const e = find_exec(s, handle, in, "cudaGraphLaunch", q, error);
  if (!e) return error;
  if (q->device != state::current_device) return cudaErrorInvalidResourceHandle;
  for (auto const& n : *e->nodes)
    for (auto const& o : n.uses)
      if (!o->alive) {
        s.misuse(std::string("cudaGraphLaunch: the recorded ") + n.what + " needs a " + o->kind + " that is gone");
        return cudaErrorInvalidResourceHandle;
      }
  auto const start = s.work.add("cudaGraphLaunch", 0, {q->last, e->last}, nullptr);
  std::vector<std::shared_ptr<node>> copies, all{start};
  for (auto const& n : *e->nodes) {
    std::vector<std::shared_ptr<node>> before{start};
    for (std::size_t b : n.before) before.push_back(copies[b]);
    copies.push_back(s.work.add(n.what, n.milliseconds, std::move(before), n.run));
    all.push_back(copies.back());
  }
  q->last = e->last = s.work.add("cudaGraphLaunch", 0, std::move(all), nullptr);
  s.after_enqueue();
  return s.sticky;
}

inline void install_graphs(installer& table) {
  using dsl::cu::api;
  table.set<&api::cudaStreamEndCapture, &stream_end_capture>();
  table.set<&api::cudaGraphInstantiate, &graph_instantiate>();
  table.set<&api::cudaGraphDestroy, &graph_destroy>();
  table.set<&api::cudaGraphExecDestroy, &graph_exec_destroy>();
  table.set<&api::cudaGraphUpload, &graph_upload>();
  table.set<&api::cudaGraphLaunch, &graph_launch>();
}

}  // namespace dsl_test::simulated
