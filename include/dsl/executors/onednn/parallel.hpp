// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/error.hpp>

// Our kernels run on the threads that oneDNN's OpenMP runtime keeps: a pool of our own would fight with its spinning
// workers for the cores. Calling libgomp's entry points needs no -fopenmp, and Clang, which would bring a second
// runtime, shares the one that libdnnl links.
extern "C" {
void GOMP_parallel(void (*body)(void*), void* data, unsigned threads, unsigned flags);
void GOMP_barrier();
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

namespace dsl::dnn {

/// This thread's share of `count` pieces of work: [begin, end).
struct share {
  int begin;
  int end;
  share(int count, int thread, int threads)
      : begin(static_cast<int>(1LL * count * thread / threads)),
        end(static_cast<int>(1LL * count * (thread + 1) / threads)) {}
};

/// What every thread of the pool runs at once, and with what. It must not throw.
struct team_work {
  void (*body)(void const* call, int thread, int threads) = nullptr;
  void const* call = nullptr;
};

inline void run_on_all_threads(team_work work) {
  if (omp_get_max_threads() == 1) return work.body(work.call, 0, 1);
  GOMP_parallel(
      [](void* data) {
        auto const& w = *static_cast<team_work const*>(data);
        w.body(w.call, omp_get_thread_num(), omp_get_num_threads());
      },
      &work, 0, 0);
}

/// Inside run_on_all_threads(): waits for all threads of it.
inline void barrier(int threads) {
  if (threads > 1) GOMP_barrier();
}

/// Sets the number of threads that this thread's parallel regions have, oneDNN's among them, and puts it back. Fewer,
/// which OpenMP may give with OMP_DYNAMIC=true, would wait for the others for ever: oneDNN's kernels meet at barriers.
class thread_count {
 public:
  explicit thread_count(int threads) : before_(omp_get_max_threads()), dynamic_(omp_get_dynamic()) { set(threads); }
  ~thread_count() {
    omp_set_num_threads(before_);
    omp_set_dynamic(dynamic_);
  }
  /// Sets it for good. 0: as many as there are already.
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

}  // namespace dsl::dnn
