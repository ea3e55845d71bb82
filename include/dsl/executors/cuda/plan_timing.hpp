// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/cuda/convolution_plan.hpp>

#include <algorithm>
#include <chrono>
#include <functional>
#include <limits>
#include <list>
#include <optional>
#include <utility>
#include <vector>

namespace dsl::cu::TYPENET_MODE {

struct timing_options {
  int warm_ups = 2;    // runs before timing, since kernels are loaded at their first run
  int runs = 10;       // a sample is the mean of this number of runs
  int rounds = 5;      // each plan has one sample per round, and the best counts: a disturbance spoils only one
  double seconds = 2;  // after this time, first runs not counted, no other plan and no other round is begun
  double longest = 2;  // plans this many times slower than the quickest warm-up get no samples, if warm_ups > 1
};

/// Runs a plan for the first time by calling its second argument, and returns the result. If the function is empty, the
/// plan is run directly.
using first_run = std::function<bool(convolution_plan const&, std::function<bool()> const& run)>;

/// The measured times of plans.
struct plan_times {
  std::vector<double> microseconds{};  // infinity for plans that fail in any way, that are slow, or were not run
  bool complete = true;                // false if there was no time to run every plan
};

}  // namespace dsl::cu::TYPENET_MODE

namespace dsl::cu::backend::TYPENET_MODE {

class timing_event {
 public:
  explicit timing_event(api const& a) : api_(&a) { a(a.cudaEventCreateWithFlags, &event_, cudaEventDefault); }
  timing_event(timing_event const&) = delete;
  timing_event& operator=(timing_event const&) = delete;
  ~timing_event() { api_->ignore(api_->cudaEventDestroy.function(event_)); }
  cudaEvent_t get() const { return event_; }

 private:
  api const* api_;
  cudaEvent_t event_ = nullptr;
};

// Records several runs of one plan as a graph, which is one launch. Otherwise, for plans of a few microseconds, the
// time in which the CPU enqueues them would be measured. In a training step, plans are run from a graph, too.
class repeated_runs {
 public:
  // Records the runs; runs() is false if the plan cannot be recorded. Throws executor_error for failures that are not
  // due to the plan.
  repeated_runs(cudnn_handle const& h, cudaStream_t s, convolution_plan const& p, backend_descriptor const& pack,
                int runs)
      : api_(&h.calls()) {
    api const& a = *api_;
    a(a.cudaStreamBeginCapture, s, cudaStreamCaptureModeThreadLocal);
    bool fine = true;
    for (int i = 0; i < runs && fine; ++i) fine = try_execute(h, p, pack);
    cudaGraph_t graph = nullptr;
    fine = a.cudaStreamEndCapture.function(s, &graph) == cudaSuccess && fine && graph;  // ends the capture in any case
    cudaError_t made = cudaSuccess;
    if (fine) made = a.cudaGraphInstantiate.function(&graph_, graph, cudaGraphInstantiateFlagUseNodePriority);
    if (graph) a.cudaGraphDestroy.function(graph);
    if (made == cudaErrorMemoryAllocation) a.require(a.cudaGraphInstantiate, made);
    if (made != cudaSuccess) graph_ = nullptr;
    a.cudaGetLastError.function();
  }
  repeated_runs(repeated_runs const&) = delete;
  repeated_runs& operator=(repeated_runs const&) = delete;
  ~repeated_runs() { stop(); }

  bool runs() const { return graph_ != nullptr; }
  // Launches the graph. If that fails, runs() returns false from now on.
  void launch(cudaStream_t s) {
    if (graph_ && api_->cudaGraphLaunch.function(graph_, s) != cudaSuccess) stop();
  }

 private:
  void stop() {
    if (!graph_) return;
    api_->cudaGraphExecDestroy.function(std::exchange(graph_, nullptr));
    api_->cudaGetLastError.function();
  }

  api const* api_;
  cudaGraphExec_t graph_ = nullptr;
};

// A plan that is being timed.
struct timed_plan {
  std::size_t index;
  convolution_plan const& plan;
  backend_descriptor pack;
  timing_event before, behind;
  double warm = 0;  // milliseconds of its last warm-up, enqueued by the CPU
  std::optional<repeated_runs> graph{};

  timed_plan(api const& a, std::size_t i, convolution_plan const& p, backend_descriptor tensors)
      : index(i), plan(p), pack(std::move(tensors)), before(a), behind(a) {}

  // Returns the milliseconds between the events `before` and `behind`. Both must have occurred.
  double milliseconds(api const& a) const {
    float between = 0;
    a(a.cudaEventElapsedTime, &between, before.get(), behind.get());
    return static_cast<double>(between);
  }
  // Runs the plan once, and stores the time in `warm`. Returns false if the plan does not run. The stream is idle
  // afterwards. If waiting for it fails, the device has failed, and executor_error is thrown.
  bool warm_up(cudnn_handle const& h, cudaStream_t s) {
    api const& a = h.calls();
    a(a.cudaEventRecord, before.get(), s);
    bool const runs = try_execute(h, plan, pack);
    a(a.cudaEventRecord, behind.get(), s);
    a(a.cudaStreamSynchronize, s);
    if (runs) warm = milliseconds(a);
    return runs;
  }
};

// A warm-up begins on an idle stream. If it takes less time than this, a large part of it may be the time in which the
// CPU enqueues the plan.
inline constexpr double enqueuing_milliseconds = 0.05;

}  // namespace dsl::cu::backend::TYPENET_MODE

namespace dsl::cu::TYPENET_MODE {

/// Returns how long each plan takes with these tensors, which stay in the cache if they fit. The first plan that runs
/// is always timed, however little time there is. `workspace` must suffice for every plan. The content of the written
/// tensor is lost. The stream must not be capturing. Throws executor_error if the device fails, or if a call fails that
/// is not specific to a plan.
inline plan_times time_plans(cudnn_handle& h, cudaStream_t s, std::vector<convolution_plan> const& plans,
                             convolution_tensors const& t, void* workspace, timing_options const& o = {},
                             first_run const& first = {}) {
  using clock = std::chrono::steady_clock;
  api const& a = h.calls();
  // The end of the first plan's first run, later by every other first run: cuDNN loads libraries and kernels in them,
  // which says nothing about the plans.
  std::optional<clock::time_point> begin;
  auto const passed = [&](double share) {
    return begin && std::chrono::duration<double>(clock::now() - *begin).count() > share * o.seconds;
  };
  h.set_stream(s);
  std::list<backend::timed_plan> candidates;
  plan_times best{.microseconds = std::vector<double>(plans.size(), std::numeric_limits<double>::infinity())};
  for (std::size_t i = 0; i < plans.size(); ++i) {
    if (!candidates.empty() && passed(0.5)) {
      best.complete = false;
      break;
    }
    backend::timed_plan& c = candidates.emplace_back(a, i, plans[i], bind_tensors(plans[i], t, workspace));
    auto const warm_up = [&] { return c.warm_up(h, s); };
    clock::time_point const before = clock::now();
    bool runs = first ? first(c.plan, warm_up) : warm_up();
    if (begin)
      *begin += clock::now() - before;
    else if (runs)
      begin = clock::now();
    for (int more = 1; runs && more < o.warm_ups; ++more) runs = c.warm_up(h, s);
    if (!runs) candidates.pop_back();
  }

  int const runs = std::max(o.runs, 1);
  if (o.warm_ups > 1) candidates.sort([](auto const& x, auto const& y) { return x.warm < y.warm; });
  double longest = std::numeric_limits<double>::infinity();
  for (backend::timed_plan& c : candidates) {
    if (c.warm > longest) break;
    c.graph.emplace(h, s, c.plan, c.pack, runs);
    a(a.cudaStreamSynchronize, s);
    if (c.graph->runs() && o.warm_ups > 1)  // the plans are sorted, so this is the quickest one
      longest = std::min(longest, o.longest * c.warm + backend::enqueuing_milliseconds);
  }
  auto const drop_failed = [&] {
    std::erase_if(candidates, [](auto const& c) { return !c.graph || !c.graph->runs(); });
  };
  drop_failed();

  for (int round = 0; !candidates.empty() && round < std::max(o.rounds, 1) && (round == 0 || !passed(1)); ++round) {
    candidates.front().graph->launch(s);  // not counted, so that the first sample also follows other work
    for (backend::timed_plan& c : candidates) {
      a(a.cudaEventRecord, c.before.get(), s);
      c.graph->launch(s);
      a(a.cudaEventRecord, c.behind.get(), s);
    }
    a(a.cudaStreamSynchronize, s);
    for (backend::timed_plan const& c : candidates)
      best.microseconds[c.index] = c.graph->runs()
                                       ? std::min(best.microseconds[c.index], 1e3 * c.milliseconds(a) / runs)
                                       : std::numeric_limits<double>::infinity();
    drop_failed();
  }
  return best;
}

}  // namespace dsl::cu::TYPENET_MODE
