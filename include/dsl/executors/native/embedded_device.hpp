// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/embedded_mode.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/detail/static_memory.hpp>
#include <dsl/executors/host/vector_kernels.hpp>
#include <dsl/executors/native/kernels.hpp>

#include <cstddef>

namespace dsl::native_cpu::TYPENET_MODE {

/// Runs loops on the calling thread, for programs without threads.
class one_thread {
 public:
  static int threads() { return 1; }
  template <class F>
  void run(int items, F const& f) const {
    for (int i = 0; i < items; ++i) f(i, 0);
  }
};

/// The cpu_device of an embedded program: one thread, and memory that is allocated after all steps have stated their
/// needs.
class cpu_device {
 public:
  cpu_device(native_cpu::kernels const& k, host::vector_kernels const& m) : kernels_(k), vectors_(m) {}

  native_cpu::kernels const& kernels() const { return kernels_; }
  host::vector_kernels const& vectors() const { return vectors_; }
  int lanes() const { return kernels_.lanes; }
  one_thread& pool() { return pool_; }
  static int threads() { return 1; }
  template <class F>
  void run(int items, F const& f) const {
    for (int i = 0; i < items; ++i) f(i);
  }

  void need(long long of_each_thread, long long of_all) {
    if (rounded(of_each_thread) > scratch_floats_) scratch_floats_ = rounded(of_each_thread);
    if (of_all > shared_floats_) shared_floats_ = of_all;
  }
  void need_shared(long long floats) { need(0, floats); }
  /// Takes the memory. No step may need more afterwards.
  void reserve() {
    scratch_ = static_cast<float*>(detail::static_memory::take(4 * scratch_floats_, 64));
    shared_ = static_cast<float*>(detail::static_memory::take(4 * shared_floats_, 64));
  }
  float* scratch(int) const { return scratch_; }
  float* shared() const { return shared_; }

  /// Rounds up to whole cache lines.
  static long long rounded(long long floats) { return (floats + 15) / 16 * 16; }

 private:
  native_cpu::kernels const& kernels_;
  host::vector_kernels const& vectors_;
  one_thread pool_;
  long long scratch_floats_ = 0;
  long long shared_floats_ = 0;
  float* scratch_ = nullptr;
  float* shared_ = nullptr;
};

}  // namespace dsl::native_cpu::TYPENET_MODE
