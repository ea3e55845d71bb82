// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/cuda/precision.hpp>
#include <dsl/executors/cuda/program.hpp>
#include <dsl/executors/cuda/tower_link.hpp>
#include <dsl/executors/cuda/update_parts.hpp>

#include <cstddef>
#include <optional>
#include <type_traits>
#include <utility>

namespace dsl::cu::TYPENET_MODE {

constexpr convolution_precision factors_of(precision p) {
  return p == precision::bf16   ? convolution_precision::bf16
         : p == precision::tf32 ? convolution_precision::tf32
                                : convolution_precision::fp32_strict;
}

/// Returns the bytes of a step's state, with the rates of each part of the network.
inline long long step_state_bytes(update_parts const& parts) {
  return static_cast<long long>(sizeof(step_state) +
                                sizeof(kernels::part_rates) * static_cast<std::size_t>(parts.count()));
}

/// The parts of an engine that all of its programs share.
struct engine_parts {
  api const& calls;
  graph_view const& graph;
  engine_options const& options;
  cu::precision precision;
  bool deterministic;
  bool fill_batches;
  cudaStream_t stream;
  cu::arena& arena;
  kernel_library& library;
  cudnn_handle& cudnn;                      // on the engine's stream
  cudnn_handle* second_cudnn;               // on the second queue
  cudaStream_t second;                      // for steps that may run concurrently; null: there is one queue
  cudaStream_t copies;                      // for copying the next batch while a step runs; null: it is not used
  std::optional<product_handle>& products;  // made for the first product that needs it
  plan_target const& target;
  plan_cache const& plans;
  step_state* state;            // on the device
  step_state* host_state;       // the host's copy, which each run copies to the device
  update_parts const& parts;    // the rates of each part follow step_state, on the device and on the host
  bool time_queues;             // whether each program runs on one queue or on two, whichever is faster
  communicator* group;          // null if there is only one tower
  tower_link* link = nullptr;   // for communication between devices without the host; or null
  float const* keep = nullptr;  // for each running moment, the share that a step keeps

  kernels::part_rates* rates() const { return reinterpret_cast<kernels::part_rates*>(state + 1); }
  kernels::part_rates* host_rates() const { return reinterpret_cast<kernels::part_rates*>(host_state + 1); }
  /// Returns the bytes that each run copies to `state`.
  long long state_bytes() const { return step_state_bytes(parts); }
};

/// A point on one queue, in one segment of a program, for which the other queue can wait.
struct awaited {
  event const* done = nullptr;
  segment const* part = nullptr;
};

/// Records the work that a program under construction enqueues.
class recording {
 public:
  recording(engine_parts const& e, program& p)
      : parts(e), made(p), at(e.graph, p), type(storage_of(e.precision)), current_(&p.segments.emplace()) {}

  engine_parts const& parts;
  program& made;
  bound_operands at;
  storage type;

  detail::list<step> const& steps() const { return made.plan.steps; }
  int batch() const { return made.plan.options.batch; }
  bool training() const { return made.plan.options.mode == mode::training; }

  void enqueue(host::task t) { current_->launches.push_back(std::move(t)); }
  /// Returns the stream for the work that is recorded next.
  cudaStream_t stream() const { return queue_ == 0 ? parts.stream : parts.second; }
  int queue() const { return queue_; }
  cudnn_handle& cudnn() const { return queue_ == 0 ? parts.cudnn : *parts.second_cudnn; }

  /// Switches to queue `which`. Work recorded from now on runs after `what`, an event of the other queue, if that is
  /// not null.
  void turn_to(int which, awaited const* what) {
    queue_ = which;
    if (what && what->part == current_) {  // the host has waited for earlier segments
      enqueue([e = what->done, s = stream()] { e->hold(s); });
      joined_ = joined_ && which == 0;
    } else if (which == 1 && joined_) {
      order(parts.stream, parts.second);
      joined_ = false;
    }
  }
  /// Returns a point after all work that has been recorded on the current queue, for which the other queue can wait.
  awaited here() {
    event& e = made.events.emplace(parts.calls);
    enqueue([&e, s = stream()] { e.record(s); });
    return {&e, current_};
  }
  /// Switches to the engine's own stream. Work recorded from now on runs after all work on both queues.
  void join() {
    queue_ = 0;
    if (!joined_) order(parts.second, parts.stream);
    joined_ = true;
  }

  /// Records the launch of a kernel. Arguments are stored by value.
  template <class... A>
  void launch(kernel_spec<A...> const& spec, std::type_identity_t<A>... arguments) {
    launch_on(stream(), spec, arguments...);
  }
  /// Records the launch of a kernel whose blocks communicate, through memory of the current queue.
  template <class Partial, class... A>
  void launch(meeting_spec<Partial, A...> const& spec, std::type_identity_t<A>... arguments) {
    enqueue([&e = parts, &w = made.work[queue_], s = stream(), k = parts.library.add(spec), ... a = arguments] {
      e.library.launch(k, s, a..., w.scratch->as<Partial>(), w.counters->as<unsigned>());
    });
  }
  template <class... A>
  void launch_on(cudaStream_t s, kernel_spec<A...> const& spec, std::type_identity_t<A>... arguments) {
    enqueue([&e = parts, s, k = parts.library.add(spec), ... a = arguments] { e.library.launch(k, s, a...); });
  }

  void copy(void* to, void const* from, long long bytes, cudaMemcpyKind kind) { copy(to, from, bytes, kind, stream()); }
  void copy(void* to, void const* from, long long bytes, cudaMemcpyKind kind, cudaStream_t s) {
    enqueue([&e = parts, to, from, bytes, kind, s] {
      e.calls(e.calls.cudaMemcpyAsync, to, from, static_cast<std::size_t>(bytes), kind, s);
    });
  }
  void clear(void* data, long long bytes) {
    enqueue([&e = parts, data, bytes, s = stream()] {
      e.calls(e.calls.cudaMemsetAsync, data, 0, static_cast<std::size_t>(bytes), s);
    });
  }

  /// Ends a segment. The host calls `meeting` when the device has finished the segment; work recorded later belongs to
  /// another graph.
  void cut(host::task meeting) {
    join();
    current_->meeting = std::move(meeting);
    current_ = &made.segments.emplace();
  }

  /// Allocates `count` floats on the device, all 0, which the program owns, and returns their address.
  float* numbers(long long count) {
    return reinterpret_cast<float*>(made.numbers.emplace(parts.calls, 4 * count, parts.stream).data());
  }
  /// Writes a number to device memory immediately; this is not recorded.
  void write(float* to, float value) const {
    parts.calls(parts.calls.cudaMemcpyAsync, to, &value, sizeof value, cudaMemcpyHostToDevice, parts.stream);
    parts.calls(parts.calls.cudaStreamSynchronize, parts.stream);
  }

  [[noreturn, gnu::cold]] static void unknown() {
    throw executor_error("plan: it has a step whose operation this executor does not support");
  }

 private:
  void order(cudaStream_t first, cudaStream_t second) {
    event& e = made.events.emplace(parts.calls);
    enqueue([&e, first, second] { e.order(first, second); });
  }

  segment* current_;
  int queue_ = 0;
  bool joined_ = true;  // whether no work on the second queue is unfinished
};

}  // namespace dsl::cu::TYPENET_MODE
