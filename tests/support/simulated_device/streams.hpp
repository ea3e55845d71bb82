// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "support/simulated_device/calls.hpp"
#include "support/simulated_device/state.hpp"

namespace dsl_test::simulated {

/// A piece of work recorded by a capture; `before` are indices in the graph.
struct recorded_node {
  char const* what = "";
  double milliseconds = 0;
  std::function<void()> run;
  std::vector<std::size_t> before;
  std::vector<std::shared_ptr<object>> uses;  // must be alive whenever the graph is launched
};

struct stream;

/// A capture in progress: the stream where it began, and what was recorded in it and in streams that joined it by
/// events.
struct capture {
  stream* origin = nullptr;
  cudaStreamCaptureMode mode = cudaStreamCaptureModeThreadLocal;
  std::thread::id thread;
  bool invalid = false;
  std::vector<recorded_node> nodes;
};

inline constexpr int greatest_priority = -5;  // the lowest number; the least is 0

struct stream : object {
  int device = 0;
  int priority = 0;
  std::shared_ptr<node> last;
  std::shared_ptr<capture> capturing;
  std::vector<std::size_t> last_recorded;  // what the next recorded node comes after
};

struct event : object {
  bool timed = true;
  std::shared_ptr<node> at;
  std::shared_ptr<capture> captured;  // recorded in a capture, perhaps one that has ended
  std::vector<std::size_t> captured_at;
};

/// Whether a call that may wait for the device, or allocate, is refused, because a capture is in progress, which it
/// also invalidates. This is the rule of cudaThreadExchangeStreamCaptureMode for a thread in its default mode.
inline bool refused_by_capture(state& s) {
  bool refused = false;
  for (auto const& c : s.captures)
    if (c->mode == cudaStreamCaptureModeGlobal ||
        (c->mode == cudaStreamCaptureModeThreadLocal && c->thread == std::this_thread::get_id()))
      refused = c->invalid = true;
  return refused;
}

/// Returns null, and the reason in `error`, if the handle cannot be used. The legacy and the per-thread default stream
/// are refused: their order relative to other streams is special, and a capture forbids the first.
inline std::shared_ptr<stream> find_stream(state& s, cudaStream_t handle, char const* call, cudaError_t& error) {
  error = cudaErrorInvalidResourceHandle;
  if (reinterpret_cast<std::uintptr_t>(handle) <= 2) {
    s.misuse(std::string(call) + ": the default stream");
    return nullptr;
  }
  auto q = s.find<stream>(handle, call);
  if (q) error = cudaSuccess;
  return q;
}

/// Queues work, or records it if the stream captures.
inline cudaError_t enqueue(state& s, stream& q, char const* what, double milliseconds, std::function<void()> run,
                           std::vector<std::shared_ptr<object>> uses = {}) {
  if (!q.capturing) {
    if (q.device != state::current_device) return cudaErrorInvalidResourceHandle;
    q.last = s.work.add(what, milliseconds, {q.last}, std::move(run));
    s.after_enqueue();
    return s.sticky;
  }
  if (q.capturing->invalid) return cudaErrorStreamCaptureInvalidated;
  q.capturing->nodes.push_back({what, milliseconds, std::move(run), q.last_recorded, std::move(uses)});
  q.last_recorded = {q.capturing->nodes.size() - 1};
  return cudaSuccess;
}

inline cudaError_t stream_priority_range(state&, int* least, int* greatest) {
  if (least) *least = 0;
  if (greatest) *greatest = greatest_priority;
  return cudaSuccess;
}
/// A priority out of range is no error, as on a GPU.
inline cudaError_t stream_create_with_priority(state& s, cudaStream_t* handle, unsigned flags, int priority) {
  if (!handle || flags > cudaStreamNonBlocking) return cudaErrorInvalidValue;
  auto q = std::make_shared<stream>();
  q->device = state::current_device;
  q->priority = std::clamp(priority, greatest_priority, 0);
  *handle = s.add<cudaStream_t>("stream", q);
  return cudaSuccess;
}
inline cudaError_t stream_create(state& s, cudaStream_t* handle, unsigned flags) {
  return stream_create_with_priority(s, handle, flags, 0);
}
/// Queued work still runs.
inline cudaError_t stream_destroy(state& s, cudaStream_t handle) {
  cudaError_t error;
  auto const q = find_stream(s, handle, "cudaStreamDestroy", error);
  if (!q) return error;
  if (q->capturing) {
    s.misuse("cudaStreamDestroy: the stream is capturing");
    q->capturing->invalid = true;
  }
  s.remove(handle);
  return cudaSuccess;
}
/// The common part of both stream queries; cudaErrorNotReady means that there is work.
inline cudaError_t look_at_stream(state& s, cudaStream_t handle, char const* call, std::shared_ptr<stream>& q) {
  cudaError_t error;
  q = find_stream(s, handle, call, error);
  if (!q) return error;
  if (q->capturing) {
    q->capturing->invalid = true;
    return cudaErrorStreamCaptureUnsupported;
  }
  if (refused_by_capture(s)) return cudaErrorStreamCaptureUnsupported;
  return q->last && !q->last->done ? cudaErrorNotReady : cudaSuccess;
}
inline cudaError_t stream_synchronize(state& s, cudaStream_t handle) {
  std::shared_ptr<stream> q;
  cudaError_t const error = look_at_stream(s, handle, "cudaStreamSynchronize", q);
  if (error != cudaErrorNotReady) return error;
  s.finish({q->last});
  return s.sticky;
}
/// Every query lets the device do one piece of work, so that a polling loop ends.
inline cudaError_t stream_query(state& s, cudaStream_t handle) {
  std::shared_ptr<stream> q;
  cudaError_t const error = look_at_stream(s, handle, "cudaStreamQuery", q);
  if (error == cudaErrorNotReady) s.poll(q->last);
  return error;
}

inline bool joined(capture const& c, std::vector<std::size_t> const& from, std::vector<std::size_t> const& wanted) {
  std::vector<bool> seen(c.nodes.size(), false);
  std::vector<std::size_t> open = from;
  while (!open.empty()) {
    std::size_t const n = open.back();
    open.pop_back();
    if (seen[n]) continue;
    seen[n] = true;
    open.insert(open.end(), c.nodes[n].before.begin(), c.nodes[n].before.end());
  }
  return std::all_of(wanted.begin(), wanted.end(), [&](std::size_t n) { return seen[n]; });
}

inline cudaError_t stream_begin_capture(state& s, cudaStream_t handle, cudaStreamCaptureMode mode) {
  cudaError_t error;
  auto const q = find_stream(s, handle, "cudaStreamBeginCapture", error);
  if (!q) return error;
  if (q->capturing) return cudaErrorIllegalState;
  auto c = std::make_shared<capture>();
  c->origin = q.get();
  c->mode = mode;
  c->thread = std::this_thread::get_id();
  s.captures.push_back(c);
  q->capturing = c;
  q->last_recorded.clear();
  return cudaSuccess;
}

/// Ends the capture for every stream that takes part; returns null and the reason if the capture is invalid.
inline std::shared_ptr<capture> end_capture(state& s, cudaStream_t handle, cudaError_t& error) {
  auto const q = find_stream(s, handle, "cudaStreamEndCapture", error);
  if (!q) return nullptr;
  auto const c = q->capturing;
  error = !c                     ? cudaErrorIllegalState
          : c->origin != q.get() ? cudaErrorStreamCaptureUnmatched
          : c->mode != cudaStreamCaptureModeRelaxed && c->thread != std::this_thread::get_id()
              ? cudaErrorStreamCaptureWrongThread
              : cudaSuccess;
  if (error != cudaSuccess) return nullptr;
  if (c->invalid || s.failing) error = cudaErrorStreamCaptureInvalidated;
  for (auto const& other : s.all<stream>()) {
    if (other->capturing != c) continue;
    if (error == cudaSuccess && !joined(*c, q->last_recorded, other->last_recorded))
      error = cudaErrorStreamCaptureUnjoined;
    other->capturing = nullptr;
  }
  std::erase(s.captures, c);
  return error == cudaSuccess ? c : nullptr;
}

inline void install_streams(installer& table) {
  using dsl::cu::api;
  table.set<&api::cudaStreamCreateWithFlags, &stream_create>();
  table.set<&api::cudaStreamCreateWithPriority, &stream_create_with_priority>();
  table.set<&api::cudaDeviceGetStreamPriorityRange, &stream_priority_range>();
  table.set<&api::cudaStreamDestroy, &stream_destroy>();
  table.set<&api::cudaStreamSynchronize, &stream_synchronize>();
  table.set<&api::cudaStreamQuery, &stream_query>();
  table.set<&api::cudaStreamBeginCapture, &stream_begin_capture>();
}

}  // namespace dsl_test::simulated
