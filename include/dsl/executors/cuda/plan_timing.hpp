// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/executors/cuda/convolution_plan.hpp>

#include <algorithm>
#include <chrono>
#include <limits>
#include <utility>
#include <vector>

namespace dsl::cu {

struct timing_options {
  int warm_ups = 2;    // kernels are loaded at their first run
  int runs = 10;       // a sample is the mean of so many
  int rounds = 5;      // each plan has one sample a round, and its best one counts: a disturbance spoils one of five
  double seconds = 2;  // no plan is begun and no round repeated after that
};

namespace backend {

class timing_event {
 public:
  explicit timing_event(api const& a) : api_(&a) { a(a.cudaEventCreateWithFlags, &event_, cudaEventDefault); }
  timing_event(timing_event&& other) noexcept : api_(other.api_), event_(std::exchange(other.event_, nullptr)) {}
  timing_event& operator=(timing_event&&) = delete;
  ~timing_event() {
    if (event_) api_->cudaEventDestroy.function(event_);
  }
  cudaEvent_t get() const { return event_; }

 private:
  api const* api_;
  cudaEvent_t event_ = nullptr;
};

// Several runs of one plan as one launch. Plans of a few microseconds would otherwise measure how fast the CPU can
// enqueue them; and in a training step they run out of a graph, too.
class repeated_runs {
 public:
  repeated_runs(cudnn_handle const& h, cudaStream_t s, convolution_plan const& p, backend_descriptor const& pack,
                int runs)
      : api_(&h.calls()) {
    api const& a = *api_;
    struct recording {
      api const& calls;
      cudaStream_t stream;
      bool open = false;
      cudaGraph_t graph = nullptr;
      ~recording() {  // whatever failed, the stream is not left capturing
        if (open) calls.cudaStreamEndCapture.function(stream, &graph);
        if (graph) calls.cudaGraphDestroy.function(graph);
      }
    } recorded{a, s};
    a(a.cudaStreamBeginCapture, s, cudaStreamCaptureModeThreadLocal);
    recorded.open = true;
    for (int i = 0; i < runs; ++i) execute(h, p, pack);
    a(a.cudaStreamEndCapture, s, &recorded.graph);
    recorded.open = false;
    a(a.cudaGraphInstantiate, &graph_, recorded.graph, cudaGraphInstantiateFlagUseNodePriority);
  }
  repeated_runs(repeated_runs&& other) noexcept : api_(other.api_), graph_(std::exchange(other.graph_, nullptr)) {}
  repeated_runs& operator=(repeated_runs&&) = delete;
  ~repeated_runs() {
    if (graph_) api_->cudaGraphExecDestroy.function(graph_);
  }
  void launch(cudaStream_t s) const { (*api_)(api_->cudaGraphLaunch, graph_, s); }

 private:
  api const* api_;
  cudaGraphExec_t graph_ = nullptr;
};

}  // namespace backend

/// Microseconds that each plan takes with these tensors, which stay in the cache where they fit; infinity for plans
/// that this device refuses to run and those that time did not suffice for (never the first that runs). `workspace`
/// must suffice for every plan. What the written tensor held is lost. The stream must not be capturing. Throws
/// executor_error where a call fails.
inline std::vector<double> time_plans(cudnn_handle& h, cudaStream_t s, std::vector<convolution_plan> const& plans,
                                      convolution_tensors const& t, void* workspace, timing_options const& o = {}) {
  using clock = std::chrono::steady_clock;
  api const& a = h.calls();
  clock::time_point const begin = clock::now();
  auto const passed = [&](double share) {
    return std::chrono::duration<double>(clock::now() - begin).count() > share * o.seconds;
  };
  int const runs = std::max(o.runs, 1);
  h.set_stream(s);
  struct candidate {
    std::size_t plan;
    backend_descriptor pack;
    backend::repeated_runs graph;
    backend::timing_event before, behind;
  };
  std::vector<candidate> candidates;
  for (std::size_t i = 0; i < plans.size() && (candidates.empty() || !passed(0.5)); ++i) {
    backend_descriptor pack = bind_tensors(plans[i], t, workspace);
    if (!try_execute(h, plans[i], pack)) continue;
    for (int more = 1; more < o.warm_ups; ++more) execute(h, plans[i], pack);
    a(a.cudaStreamSynchronize, s);
    backend::repeated_runs graph(h, s, plans[i], pack, runs);
    candidates.push_back({i, std::move(pack), std::move(graph), backend::timing_event(a), backend::timing_event(a)});
  }
  std::vector<double> best(plans.size(), std::numeric_limits<double>::infinity());
  for (int round = 0; round < std::max(o.rounds, 1) && (round == 0 || !passed(1)); ++round) {
    for (candidate const& c : candidates) {
      a(a.cudaEventRecord, c.before.get(), s);
      c.graph.launch(s);
      a(a.cudaEventRecord, c.behind.get(), s);
    }
    a(a.cudaStreamSynchronize, s);
    for (candidate const& c : candidates) {
      float milliseconds = 0;
      a(a.cudaEventElapsedTime, &milliseconds, c.before.get(), c.behind.get());
      best[c.plan] = std::min(best[c.plan], 1e3 * static_cast<double>(milliseconds) / runs);
    }
  }
  return best;
}

}  // namespace dsl::cu
