// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/error.hpp>
#include <dsl/executors/host/blocks.hpp>

// typenet's kernels run on the threads of oneDNN's OpenMP runtime: a second pool would compete with its spinning
// workers for the cores. Calling libgomp's entry points needs no -fopenmp, and Clang, which would add a second runtime,
// uses the one that libdnnl links.
extern "C" {
void GOMP_parallel(void (*body)(void*), void* data, unsigned threads, unsigned flags);
int omp_get_thread_num() noexcept;
int omp_get_num_threads() noexcept;
int omp_get_max_threads() noexcept;
int omp_get_num_procs() noexcept;
void omp_set_num_threads(int threads) noexcept;
int omp_get_thread_limit() noexcept;
int omp_get_dynamic() noexcept;
void omp_set_dynamic(int may_give_fewer) noexcept;
int omp_get_active_level() noexcept;
int omp_get_max_active_levels() noexcept;
}

namespace dsl::dnn::TYPENET_MODE {

/// Calls f(item) for the items 0 ... items - 1, split evenly among the threads of the pool. f must not throw.
template <class F>
void share_out(int items, F const& f) {
  struct work {
    F const& f;
    int items;
    void run(int thread, int threads) const {
      host::share const mine(items, thread, threads);
      for (int i = mine.begin; i < mine.end; ++i) f(i);
    }
  } all{f, items};
  if (omp_get_max_threads() == 1) return all.run(0, 1);
  GOMP_parallel([](void* w) { static_cast<work const*>(w)->run(omp_get_thread_num(), omp_get_num_threads()); }, &all, 0,
                0);
}

/// Sets the number of threads of this thread's parallel regions, including oneDNN's, and restores it. It turns
/// OMP_DYNAMIC off: with fewer threads, oneDNN's kernels would wait at their barriers forever.
class thread_count {
 public:
  explicit thread_count(int threads) : before_(omp_get_max_threads()), dynamic_(omp_get_dynamic()) { set(threads); }
  ~thread_count() {
    omp_set_num_threads(before_);
    omp_set_dynamic(dynamic_);
  }
  /// Sets the number of threads without restoring it. 0 keeps the current one.
  static void set(int threads) {
    omp_set_dynamic(0);
    if (threads > 0) omp_set_num_threads(threads);
  }
  thread_count(thread_count const&) = delete;
  thread_count& operator=(thread_count const&) = delete;

 private:
  int before_;
  int dynamic_;
};

}  // namespace dsl::dnn::TYPENET_MODE
