// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/executors/cuda/api.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/simulated_device/fiber_launch.hpp"
#include "support/simulated_device/memory.hpp"
#include "support/simulated_device/work.hpp"

namespace dsl_test {

/// When queued work runs. All three are legal; `late` is the one that finds a missing wait.
enum class timing {
  late,   // only what a wait needs, when it needs it
  early,  // at once: finds buffers that the host fills after the copy was queued
  random  // each call decides at random
};

/// A made-up cuDNN engine (simulated_device/cudnn_engines.hpp) that the heuristics list and that then fails, each time,
/// or computes wrong numbers: its result's first quarter is its index.
struct engine_trouble {
  int engine = 0;
  enum { when_built, when_run, when_recorded, wrong_numbers } when = when_run;
  int status = CUDNN_STATUS_EXECUTION_FAILED;
};

struct device_options {
  std::uint64_t seed = 1;  // order of streams, of a graph's branches, of blocks and threads
  timing when = timing::late;
  int devices = 1;
  std::size_t memory_bytes = std::size_t{1} << 30;  // of each; past it, cudaErrorMemoryAllocation
  std::vector<std::size_t> memory_of{};             // device by device, where they differ
  int major = 9, minor = 0;
  std::string name = "Simulated GPU";
  std::size_t cudnn_version = CUDNN_VERSION;
  std::vector<engine_trouble> troubles{};
  bool cudnn_writes_slices = true;  // false: as a cuDNN that has no plan for them would be
  bool truncates_tf32 = false;      // tensor cores drop the bits that TF32 has no place for; else they are rounded
  int driver_version = CUDART_VERSION;
  int runtime_version = CUDART_VERSION;
};

namespace simulated {

/// The object behind an opaque handle.
struct object {
  char const* kind = "";
  std::uint64_t id = 0;
  bool alive = true;  // a recorded graph may still hold an object that was destroyed
  object() = default;
  object(object const&) = delete;
  object& operator=(object const&) = delete;
  virtual ~object() = default;
};

struct capture;

struct fault {
  std::string call;  // empty: any call
  long in;           // number of calls until it is injected
  int status;        // 0: the library's "something went wrong"
  int device = -1;   // of the thread that calls; -1: any
};

/// The state of the simulated device. Its functions are plain function pointers without context, so there is one at a
/// time.
struct state {
  explicit state(device_options o)
      : options(std::move(o)), work(options.seed, [this] { memory.open(); }), random(options.seed * 2 + 1) {}

  device_options const options;
  std::recursive_mutex mutex;  // a call at a time, whichever thread it comes from
  device_memory memory;
  scheduler work;
  int working = 0;  // calls of work_through() in progress
  std::uint64_t random;
  std::map<std::uintptr_t, std::shared_ptr<object>> handles;
  std::vector<std::shared_ptr<capture>> captures;  // in progress
  std::map<std::string, long, std::less<>> calls;
  std::deque<fault> faults;
  long faults_struck = 0;
  std::vector<std::string> misuses;
  bool failing = false;              // the call in progress will report an error, whatever it does
  cudaError_t sticky = cudaSuccess;  // a kernel went wrong: every later call reports it, as on a GPU
  std::string cudnn_message;
  std::uint64_t next_id = 1;
  long pageable_copies = 0;
  inline static thread_local int current_device = 0;
  inline static thread_local cudaError_t last_error = cudaSuccess;

  inline static state* active = nullptr;
  static state& now(char const* call) {
    if (!active) {
      std::fprintf(stderr, "simulated device: %s called when no simulated device exists\n", call);
      std::abort();
    }
    return *active;
  }

  std::size_t memory_bytes(int device) const {
    auto const d = static_cast<std::size_t>(device);
    return d < options.memory_of.size() ? options.memory_of[d] : options.memory_bytes;
  }

  /// Records what on a GPU would be undefined behaviour, or be accepted and sometimes go wrong.
  void misuse(std::string text) { misuses.push_back(std::move(text)); }

  /// Adds an object. Handles are numbers that are never reused, at addresses that no process can map.
  template <class H>
  H add(char const* kind, std::shared_ptr<object> o) {
    o->kind = kind;
    o->id = next_id++;
    std::uintptr_t const key = 0xD5100000'00000000u + o->id * 16;
    handles.emplace(key, std::move(o));
    return reinterpret_cast<H>(key);
  }
  /// Returns null if the handle is not of that type; then `call` has misused it.
  template <class T, class H>
  std::shared_ptr<T> find(H handle, char const* call) {
    auto const at = handles.find(reinterpret_cast<std::uintptr_t>(handle));
    if (at != handles.end())
      if (auto o = std::dynamic_pointer_cast<T>(at->second)) return o;
    misuse(std::string(call) + ": a handle that was destroyed or never made");
    return nullptr;
  }
  template <class H>
  void remove(H handle) {
    auto const at = handles.find(reinterpret_cast<std::uintptr_t>(handle));
    at->second->alive = false;
    handles.erase(at);
  }
  template <class T>
  std::vector<std::shared_ptr<T>> all() const {
    std::vector<std::shared_ptr<T>> found;
    for (auto const& [key, o] : handles)
      if (auto t = std::dynamic_pointer_cast<T>(o)) found.push_back(t);
    return found;
  }

  /// Runs what the nodes need, with the memory accessible.
  /// Runs what the nodes need. The memory becomes accessible when the first piece of work runs: that takes a system
  /// call for every allocation, and most polls run nothing.
  void finish(std::vector<std::shared_ptr<node>> const& targets) {
    work_through([&] { work.finish(targets, options.when == timing::random && random_below(random, 2) == 0); });
  }
  void finish_all() {
    if (!work.pending().empty()) finish(std::vector(work.pending()));
  }
  void poll(std::shared_ptr<node> const& target) {
    work_through([&] { work.poll(target); });
  }
  /// Runs f with the memory accessible.
  template <class F>
  void run(F f) {
    work_through([&] {
      memory.open();
      f();
    });
  }
  template <class F>
  void work_through(F f) {
    ++working;
    try {
      f();
    } catch (std::exception const& e) {
      misuse(std::string("on the device: ") + e.what());
      sticky = cudaErrorLaunchFailure;
      work.abandon();
    }
    if (--working > 0) return;  // a piece of work may wait for others
    for (auto& damage : memory.close()) misuse(std::move(damage));
  }
  void after_enqueue() {
    if (options.when == timing::early || (options.when == timing::random && random_below(random, 4) == 0)) finish_all();
  }

  /// Returns one line for each kind of object that was not released.
  std::string leaks() const {
    std::map<std::string, std::string> by_kind;
    for (auto const& [key, o] : handles) by_kind[o->kind] += " #" + std::to_string(o->id);
    std::string text;
    for (auto const& [kind, ids] : by_kind) text += "leak: " + kind + ids + "\n";
    return text + memory.leaks();
  }
};

}  // namespace simulated
}  // namespace dsl_test
