// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/executors/cuda/api.hpp>

#include <string_view>
#include <vector>

namespace dsl::test {

/// A table of vendor calls that forwards to another one, counts, and records the graph that was launched last, so that
/// a step can be replayed without the engine. One at a time, since the functions have no context.
///   watched_calls calls(dsl::cu::api{});
///   dsl::cu::engine e(calls.api(), ...);
class watched_calls {
 public:
  /// What one recorded step enqueues.
  struct recorded_step {
    long kernels = 0;       // typenet's own
    long convolutions = 0;  // cuDNN plans, of one or more kernels each
    long copies = 0;
    long products = 0;       // of cublasLt
    long nodes = -1;         // of the graph, as the runtime counts; -1 if not counted
    long kernel_nodes = -1;  // of those, the nodes that run a kernel
  };
  using counting = void (*)(cudaGraph_t, recorded_step&);
  /// Called during a recording, after each call that enqueues work, with the stream on which the recording began.
  using marking = void (*)(cudaStream_t);

  /// `count_nodes` is called with each graph as it is recorded, `mark` while it is; null unless the table is a real
  /// device's.
  explicit watched_calls(cu::api const& real, counting count_nodes = nullptr, marking mark = nullptr) : api_(real) {
    state() = {};
    state().count_nodes = count_nodes;
    state().mark = mark;
    watch<&cu::api::cudaMalloc>();
    watch<&cu::api::cudaMallocHost>();
    watch<&cu::api::cudaFree>();
    watch<&cu::api::cudaStreamSynchronize>();
    watch<&cu::api::cudaEventSynchronize>();
    watch<&cu::api::cudaMemsetAsync>();
    watch<&cu::api::cudaMemcpyAsync>();
    watch<&cu::api::cudaLaunchKernel>();
    watch<&cu::api::cudnnBackendExecute>();
    watch<&cu::api::cublasLtMatmul>();
    watch<&cu::api::cudaStreamBeginCapture>();
    watch<&cu::api::cudaStreamEndCapture>();
    watch<&cu::api::cudaGraphInstantiate>();
    watch<&cu::api::cudaGraphLaunch>();
  }

  cu::api const& api() const { return api_; }
  /// Returns the count of all watched calls, or of one. cudaSetDevice, which costs nothing on the same device, is not
  /// watched.
  static long count(std::string_view name = {}) {
    long all = 0;
    for (counter const& c : state().counters) all += name.empty() || name == c.name ? *c.calls : 0;
    return all;
  }
  static void reset() {
    for (counter const& c : state().counters) *c.calls = 0;
  }

  static recorded_step const& last_recorded() { return state().step; }
  static cudaGraphExec_t last_graph() { return state().graph; }
  static cudaStream_t last_stream() { return state().stream; }

 private:
  struct counter {
    char const* name;
    long* calls;
  };
  struct watching {
    std::vector<counter> counters{};
    counting count_nodes = nullptr;
    marking mark = nullptr;
    cudaStream_t recording = nullptr;  // the stream on which the recording began; null: there is none
    recorded_step before{};            // the counts when it began
    recorded_step step{};
    cudaGraphExec_t graph = nullptr;
    cudaStream_t stream = nullptr;
  };
  static watching& state() {
    static watching one;
    return one;
  }

  template <auto Entry>
  struct passing;
  template <class R, class... P, cu::entry<R(P...)> cu::api::* Entry>
  struct passing<Entry> {
    static inline R (*real)(P...) = nullptr;
    static inline long calls = 0;
    static R call(P... arguments) {
      ++calls;
      R const result = real(arguments...);
      note(arguments...);
      return result;
    }
  };
  template <auto Entry>
  void watch() {
    passing<Entry>::real = (api_.*Entry).function;
    passing<Entry>::calls = 0;
    state().counters.push_back({(api_.*Entry).name, &passing<Entry>::calls});
    (api_.*Entry).function = &passing<Entry>::call;
  }

  static recorded_step enqueued() {
    return {count("cudaLaunchKernel"), count("cudnnBackendExecute"), count("cudaMemcpyAsync"), count("cublasLtMatmul")};
  }
  template <class... P>
  static void note(P...) {}
  static void note(void const*, dim3, dim3, void**, std::size_t, cudaStream_t) { launched(); }
  static void note(void*, void const*, std::size_t, cudaMemcpyKind, cudaStream_t) { launched(); }
  static void note(void*, int, std::size_t, cudaStream_t) { launched(); }
  static void note(cudnnHandle_t, cudnnBackendDescriptor_t, cudnnBackendDescriptor_t) { launched(); }
  template <class... P>
  static void note(cublasLtHandle_t, cublasLtMatmulDesc_t, void const*, P...) {
    launched();
  }
  static void launched() {
    if (state().mark && state().recording) state().mark(state().recording);
  }
  static void note(cudaStream_t s, cudaStreamCaptureMode) {
    state().before = enqueued();
    state().recording = s;
  }
  static void note(cudaStream_t, cudaGraph_t* graph) {
    state().recording = nullptr;
    recorded_step const now = enqueued(), then = state().before;
    state().step = {now.kernels - then.kernels, now.convolutions - then.convolutions, now.copies - then.copies,
                    now.products - then.products};
    if (state().count_nodes && *graph) state().count_nodes(*graph, state().step);
  }
  static void note(cudaGraphExec_t graph, cudaStream_t stream) {
    state().graph = graph;
    state().stream = stream;
  }

  cu::api api_;
};

}  // namespace dsl::test
