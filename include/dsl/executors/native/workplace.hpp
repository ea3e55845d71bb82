// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/owner.hpp>
#include <dsl/executors/host/memory.hpp>
#include <dsl/executors/native/kernels.hpp>
#include <dsl/executors/native/thread_pool.hpp>
#include <dsl/view.hpp>

namespace dsl::cpu {

/// What the steps of one device use one after the other: kernels, threads, and memory beside the plan's, as much as the
/// step that needs most. Addresses are only known when a step runs, since a later one may need more.
class workplace {
 public:
  [[gnu::cold]] workplace(instructions set, int threads) : kernels_(kernels_of(set)), pool_(threads) {}

  cpu::kernels const& kernels() const { return kernels_; }
  int lanes() const { return kernels_.lanes; }
  thread_pool& pool() { return pool_; }

  /// Sees to it that each thread has so many floats for itself, and all together so many.
  [[gnu::cold]] void need(long long of_each_thread, long long of_all) {
    long long const each = rounded(of_each_thread);
    if (each > each_) each_ = each, scratch_ = make(each * pool_.threads());
    if (of_all > shared_floats_) shared_floats_ = of_all, shared_ = make(of_all);
  }
  float* scratch(int thread) const { return data(scratch_) + thread * each_; }
  float* shared() const { return data(shared_); }
  long long bytes() const { return 4 * (each_ * pool_.threads() + shared_floats_); }

  /// Whole lines of the cache, so that no two threads write to one.
  static long long rounded(long long floats) { return (floats + 15) / 16 * 16; }

 private:
  using memory = detail::owner<host::memory_block>;
  [[gnu::cold]] static memory make(long long floats) { return detail::make_owner<host::memory_block>(4 * floats); }
  static float* data(memory const& m) { return m ? reinterpret_cast<float*>(m->data()) : nullptr; }

  cpu::kernels const& kernels_;
  thread_pool pool_;
  memory scratch_{};
  memory shared_{};
  long long each_ = 0;
  long long shared_floats_ = 0;
};

/// The numbers of sample n that a view is of. With channel blocks it begins at a whole one.
template <class T>
T* sample_of(view<T> const& v, int n) {
  return v.data + (1LL * n * v.buffer_channels + v.channel) * v.shape.area();
}

}  // namespace dsl::cpu
