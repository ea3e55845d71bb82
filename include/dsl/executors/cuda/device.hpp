// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/message.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/executors/cuda/api.hpp>

#include <cstddef>
#include <string>
#include <utility>

// Resources of a device, each owned by an object. Destructors ignore errors, since the first error has already been
// thrown by then.

namespace dsl::cu::TYPENET_MODE {

/// The current device of this thread, and its properties.
struct device_facts {
  int number = 0;
  std::string name{};
  std::string architecture{};  // NVRTC's name: "sm_90a"
  long long bytes = 0;         // size of its memory
};

/// Selects a device. Throws executor_error if there is no driver, no device or none with that number.
inline device_facts select_device(api const& a, int number) {
  int count = 0;
  if (cudaError_t const s = a.cudaGetDeviceCount.function(&count); s != cudaSuccess || count == 0)
    throw executor_error(
        detail::message({"cuda: no device: ", s == cudaSuccess ? "none is installed" : a.cudaGetErrorString.function(s),
                         "; install NVIDIA's driver, or choose another executor"}));
  if (number < 0 || number >= count)
    throw executor_error(
        detail::message({"cuda: device must be 0", count > 1 ? detail::message({" to ", count - 1}) : std::string(),
                         count > 1 ? "; found " : ", the only one that CUDA finds; found ", number}));
  a(a.cudaSetDevice, number);
  cudaDeviceProp p{};
  a(a.cudaGetDeviceProperties, &p, number);
  p.name[sizeof p.name - 1] = 0;
  if (p.major < 8)
    throw executor_error(detail::message({"cuda: ", p.name, " has compute capability ", p.major, ".", p.minor,
                                          "; 8.0 or later is needed; choose another executor"}));
  // The letter adds instructions of 9.0 and 10.0 that later devices lack.
  bool const special = (p.major == 9 || p.major == 10) && p.minor == 0;
  return {number, p.name, detail::message({"sm_", 10 * p.major + p.minor, special ? "a" : ""}),
          static_cast<long long>(p.totalGlobalMem)};
}

/// Owns device memory, aligned to 256 bytes and zeroed.
class device_memory {
 public:
  device_memory(api const& a, long long bytes, cudaStream_t s) : api_(&a), bytes_(bytes) {
    if (bytes == 0) return;
    a(a.cudaMalloc, &data_, static_cast<std::size_t>(bytes));
    try {
      a(a.cudaMemsetAsync, data_, 0, static_cast<std::size_t>(bytes), s);
    } catch (...) {
      a.ignore(a.cudaFree.function(data_));
      throw;
    }
  }
  device_memory(device_memory const&) = delete;
  device_memory& operator=(device_memory const&) = delete;
  ~device_memory() {
    if (data_) api_->ignore(api_->cudaFree.function(data_));
  }
  std::byte* data() const { return static_cast<std::byte*>(data_); }
  template <class T>
  T* as() const {
    return static_cast<T*>(data_);
  }
  long long bytes() const { return bytes_; }

 private:
  api const* api_;
  void* data_ = nullptr;
  long long bytes_;
};

/// Owns pinned host memory, which a device can access without the CPU.
class pinned_memory {
 public:
  pinned_memory(api const& a, long long bytes) : api_(&a), bytes_(bytes) {
    a(a.cudaMallocHost, &data_, static_cast<std::size_t>(bytes));
  }
  pinned_memory(pinned_memory const&) = delete;
  pinned_memory& operator=(pinned_memory const&) = delete;
  ~pinned_memory() { api_->ignore(api_->cudaFreeHost.function(data_)); }
  template <class T>
  T* as() const {
    return static_cast<T*>(data_);
  }
  long long bytes() const { return bytes_; }

 private:
  api const* api_;
  void* data_ = nullptr;
  long long bytes_;
};

/// Owns a stream of work on the current device, independent of all other streams.
class stream {
 public:
  explicit stream(api const& a) : api_(&a) { a(a.cudaStreamCreateWithFlags, &handle_, cudaStreamNonBlocking); }
  /// Makes a stream with a priority. Streams with lower numbers run first, even in graphs recorded here; see
  /// first_in_line().
  stream(api const& a, int priority) : api_(&a) {
    a(a.cudaStreamCreateWithPriority, &handle_, cudaStreamNonBlocking, priority);
  }
  stream(stream const&) = delete;
  stream& operator=(stream const&) = delete;
  ~stream() {
    api_->ignore(api_->cudaStreamSynchronize.function(handle_));  // running work may use memory about to be released
    api_->ignore(api_->cudaStreamDestroy.function(handle_));
  }
  cudaStream_t get() const { return handle_; }
  void wait() const { (*api_)(api_->cudaStreamSynchronize, handle_); }

 private:
  api const* api_;
  cudaStream_t handle_ = nullptr;
};

/// Returns the priority of work that runs before all other work on the current device.
inline int first_in_line(api const& a) {
  int least = 0, greatest = 0;
  a(a.cudaDeviceGetStreamPriorityRange, &least, &greatest);
  return greatest;
}

/// A point in a stream's work for which other streams can wait.
class event {
 public:
  explicit event(api const& a) : api_(&a) { a(a.cudaEventCreateWithFlags, &handle_, unsigned{cudaEventDisableTiming}); }
  event(event const&) = delete;
  event& operator=(event const&) = delete;
  ~event() { api_->ignore(api_->cudaEventDestroy.function(handle_)); }
  /// Records the point after all work that has been queued on s so far.
  void record(cudaStream_t s) const { (*api_)(api_->cudaEventRecord, handle_, s); }
  /// Makes later work on s wait for the point that was last recorded.
  void hold(cudaStream_t s) const { (*api_)(api_->cudaStreamWaitEvent, s, handle_, 0U); }
  /// Makes later work on `second` wait for all work that has been queued on `first`.
  void order(cudaStream_t first, cudaStream_t second) const {
    record(first);
    hold(second);
  }

 private:
  api const* api_;
  cudaEvent_t handle_ = nullptr;
};

/// Work that is recorded once and replayed with one call: the work that `record` enqueues on s is not executed now. The
/// graph is uploaded to the device at once, because its first launch must not wait for an upload that a launch on
/// another device blocks.
class replay {
 public:
  template <class F>
  replay(api const& a, cudaStream_t s, F record) : api_(&a) {
    cudaGraph_t graph = nullptr;
    a(a.cudaStreamBeginCapture, s, cudaStreamCaptureModeThreadLocal);
    try {
      record();
    } catch (...) {
      if (a.cudaStreamEndCapture.function(s, &graph) == cudaSuccess && graph) a.cudaGraphDestroy.function(graph);
      a.cudaGetLastError.function();
      throw;
    }
    a(a.cudaStreamEndCapture, s, &graph);
    // Without the flag the whole graph has the priority of the stream that it is launched on.
    cudaError_t const made = a.cudaGraphInstantiate.function(&graph_, graph, cudaGraphInstantiateFlagUseNodePriority);
    a.ignore(a.cudaGraphDestroy.function(graph));
    a.require(a.cudaGraphInstantiate, made);
    try {
      a(a.cudaGraphUpload, graph_, s);
      a(a.cudaStreamSynchronize, s);
    } catch (...) {
      a.ignore(a.cudaGraphExecDestroy.function(graph_));
      throw;
    }
  }
  replay(replay const&) = delete;
  replay& operator=(replay const&) = delete;
  ~replay() { api_->ignore(api_->cudaGraphExecDestroy.function(graph_)); }
  void launch(cudaStream_t s) const { (*api_)(api_->cudaGraphLaunch, graph_, s); }

 private:
  api const* api_;
  cudaGraphExec_t graph_ = nullptr;
};

}  // namespace dsl::cu::TYPENET_MODE
