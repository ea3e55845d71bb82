// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#ifdef TYPENET_EMBEDDED
#include <dsl/executors/native/embedded_device.hpp>
#else
#include <dsl/detail/owner.hpp>
#include <dsl/executors/host/memory.hpp>
#include <dsl/executors/host/vector_kernels.hpp>
#include <dsl/executors/native/kernels.hpp>
#include <dsl/executors/native/thread_pool.hpp>

namespace dsl::native_cpu::TYPENET_MODE {

/// The kernels, threads and scratch memory of one device, which its steps use one after the other. The memory is as
/// large as the most demanding step needs. Its address is known only when a step runs, because a step that is built
/// later may need more.
class cpu_device {
 public:
  cpu_device(instructions set, int threads) : cpu_device(kernels_of(set), host::vector_kernels_of(set), threads) {}
  cpu_device(native_cpu::kernels const& k, host::vector_kernels const& m, int threads)
      : kernels_(k), vectors_(m), pool_(threads) {}

  native_cpu::kernels const& kernels() const { return kernels_; }
  host::vector_kernels const& vectors() const { return vectors_; }
  int lanes() const { return kernels_.lanes; }
  thread_pool& pool() { return pool_; }
  int threads() const { return pool_.threads(); }
  /// Calls f(item) for all items, divided among the threads.
  template <class F>
  void run(int items, F const& f) {
    pool_.run(items, [&f](int item, int) { f(item); });
  }

  /// Ensures that each thread has at least `of_each_thread` floats for itself, and that all share at least `of_all`.
  void need(long long of_each_thread, long long of_all) {
    long long const each = rounded(of_each_thread);
    // The memory first: if there is none, a later step must ask for it again.
    if (each > each_) scratch_ = make(each * pool_.threads()), each_ = each;
    if (of_all > shared_floats_) shared_ = make(of_all), shared_floats_ = of_all;
  }
  void need_shared(long long floats) { need(0, floats); }
  float* scratch(int thread) const { return data(scratch_) + thread * each_; }
  float* shared() const { return data(shared_); }
  long long bytes() const { return 4 * (each_ * pool_.threads() + shared_floats_); }

  /// Rounds up to whole cache lines, so that no two threads write to the same one.
  static long long rounded(long long floats) { return (floats + 15) / 16 * 16; }

 private:
  using block = detail::owner<host::memory_block>;
  static block make(long long floats) { return detail::make_owner<host::memory_block>(4 * floats); }
  static float* data(block const& m) { return m ? reinterpret_cast<float*>(m->data()) : nullptr; }

  native_cpu::kernels const& kernels_;
  host::vector_kernels const& vectors_;
  thread_pool pool_;
  block scratch_{};
  block shared_{};
  long long each_ = 0;
  long long shared_floats_ = 0;
};

}  // namespace dsl::native_cpu::TYPENET_MODE
#endif
