// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <memory>

#include "support/simulated_device/streams.hpp"

namespace dsl_test::simulated {

inline cudaError_t event_create(state& s, cudaEvent_t* handle, unsigned flags) {
  if (!handle || (flags & ~(cudaEventBlockingSync | cudaEventDisableTiming)) != 0) return cudaErrorInvalidValue;
  auto e = std::make_shared<event>();
  e->timed = (flags & cudaEventDisableTiming) == 0;
  *handle = s.add<cudaEvent_t>("event", e);
  return cudaSuccess;
}
inline cudaError_t event_destroy(state& s, cudaEvent_t handle) {
  if (!s.find<event>(handle, "cudaEventDestroy")) return cudaErrorInvalidResourceHandle;
  s.remove(handle);
  return cudaSuccess;
}

inline cudaError_t event_record(state& s, cudaEvent_t handle, cudaStream_t in) {
  cudaError_t error;
  auto const q = find_stream(s, in, "cudaEventRecord", error);
  if (!q) return error;
  auto const e = s.find<event>(handle, "cudaEventRecord");
  if (!e) return cudaErrorInvalidResourceHandle;
  if (q->capturing) {
    if (q->capturing->invalid) return cudaErrorStreamCaptureInvalidated;
    e->captured = q->capturing;
    e->captured_at = q->last_recorded;
    return cudaSuccess;
  }
  if (q->device != state::current_device) return cudaErrorInvalidResourceHandle;
  e->captured = nullptr;
  e->at = q->last = s.work.add("cudaEventRecord", 0, {q->last}, nullptr);
  s.after_enqueue();
  return s.sticky;
}

/// A capturing stream may only wait for events of the same capture; a stream that does not capture joins by waiting.
inline cudaError_t stream_wait_event(state& s, cudaStream_t stream_handle, cudaEvent_t handle, unsigned flags) {
  cudaError_t error;
  auto const q = find_stream(s, stream_handle, "cudaStreamWaitEvent", error);
  if (!q) return error;
  auto const e = s.find<event>(handle, "cudaStreamWaitEvent");
  if (!e) return cudaErrorInvalidResourceHandle;
  if (flags != cudaEventWaitDefault) return cudaErrorInvalidValue;
  if (e->captured) {
    auto const& c = e->captured;
    if (std::find(s.captures.begin(), s.captures.end(), c) == s.captures.end()) return cudaErrorCapturedEvent;
    if (c->invalid) return cudaErrorStreamCaptureInvalidated;
    if (!q->capturing) {
      q->capturing = c;
      q->last_recorded.clear();
    } else if (q->capturing != c) {
      q->capturing->invalid = c->invalid = true;
      return cudaErrorStreamCaptureMerge;
    }
    for (std::size_t n : e->captured_at)
      if (std::find(q->last_recorded.begin(), q->last_recorded.end(), n) == q->last_recorded.end())
        q->last_recorded.push_back(n);
    return cudaSuccess;
  }
  if (!e->at) return cudaSuccess;  // never recorded: nothing to wait for
  if (q->capturing) {
    q->capturing->invalid = true;
    return cudaErrorStreamCaptureIsolation;
  }
  q->last = s.work.add("cudaStreamWaitEvent", 0, {q->last, e->at}, nullptr);
  s.after_enqueue();
  return s.sticky;
}

inline cudaError_t look_at_event(state& s, cudaEvent_t handle, char const* call, std::shared_ptr<event>& e) {
  e = s.find<event>(handle, call);
  if (!e) return cudaErrorInvalidResourceHandle;
  if (e->captured) {
    e->captured->invalid = true;
    return cudaErrorCapturedEvent;
  }
  if (refused_by_capture(s)) return cudaErrorStreamCaptureUnsupported;
  return e->at && !e->at->done ? cudaErrorNotReady : cudaSuccess;
}
inline cudaError_t event_synchronize(state& s, cudaEvent_t handle) {
  std::shared_ptr<event> e;
  cudaError_t const error = look_at_event(s, handle, "cudaEventSynchronize", e);
  if (error != cudaErrorNotReady) return error;
  s.finish({e->at});
  return s.sticky;
}
inline cudaError_t event_query(state& s, cudaEvent_t handle) {
  std::shared_ptr<event> e;
  cudaError_t const error = look_at_event(s, handle, "cudaEventQuery", e);
  if (error == cudaErrorNotReady) s.poll(e->at);
  return error;
}
/// Returns the time by the claimed costs of the pieces of work: a made-up number that is the same in every run.
inline cudaError_t event_elapsed_time(state& s, float* milliseconds, cudaEvent_t from, cudaEvent_t to) {
  auto const a = s.find<event>(from, "cudaEventElapsedTime");
  auto const b = s.find<event>(to, "cudaEventElapsedTime");
  if (!a || !b) return cudaErrorInvalidResourceHandle;
  if (!milliseconds) return cudaErrorInvalidValue;
  if (a->captured || b->captured) return cudaErrorCapturedEvent;
  if (!a->timed || !b->timed || !a->at || !b->at) return cudaErrorInvalidResourceHandle;
  if (!a->at->done || !b->at->done) return cudaErrorNotReady;
  *milliseconds = static_cast<float>(b->at->finished_at - a->at->finished_at);
  return cudaSuccess;
}

inline void install_events(installer& table) {
  using dsl::cu::api;
  table.set<&api::cudaEventCreateWithFlags, &event_create>();
  table.set<&api::cudaEventDestroy, &event_destroy>();
  table.set<&api::cudaEventRecord, &event_record>();
  table.set<&api::cudaStreamWaitEvent, &stream_wait_event>();
  table.set<&api::cudaEventSynchronize, &event_synchronize>();
  table.set<&api::cudaEventQuery, &event_query>();
  table.set<&api::cudaEventElapsedTime, &event_elapsed_time>();
}

}  // namespace dsl_test::simulated
