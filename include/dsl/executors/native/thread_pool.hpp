// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/list.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/detail/threads.hpp>
#include <dsl/error.hpp>

#include <condition_variable>
#include <ctime>
#include <mutex>
#include <unistd.h>

namespace dsl::native_cpu::TYPENET_MODE {

/// Threads that share the items of a loop; the calling thread is the first of them. A free thread takes the next item,
/// so items must not depend on each other. On a busy machine, a thread that gets no processor delays no other: a loop
/// ends without the threads that have not begun. Threads without work spin for 50 microseconds, then sleep.
///
/// A loop inside a loop of the same pool runs on its thread alone. If several threads start loops in one pool, the
/// loops run one after the other. Different pools are independent: their loops may be nested, but not in a circle. If a
/// process forks while no loop runs, the pool works in both processes.
class thread_pool {
 public:
  /// Throws option_error if `threads` is less than 1, and executor_error if the system cannot start that many threads.
  explicit thread_pool(int threads) : threads_(threads) {
    if (threads < 1) detail::throw_error<option_error>({"threads: there must be at least 1; found ", threads});
    start();
  }
  thread_pool(thread_pool const&) = delete;
  thread_pool& operator=(thread_pool const&) = delete;
  ~thread_pool() { stop(); }

  int threads() const { return threads_; }

  /// Calls f(item, thread) for the items 0 ... items - 1, and returns when all are done. f must not throw. `thread` is
  /// one of 0 ... threads() - 1; two calls with the same number never run at once.
  template <class F>
  void run(int items, F const& f) {
    run_loop({[](void const* g, int item, int thread) { (*static_cast<F const*>(g))(item, thread); }, &f, items});
  }

 private:
  struct loop {
    void (*body)(void const* f, int item, int thread) = nullptr;
    void const* f = nullptr;
    int items = 0;
  };
  struct worker {
    thread_pool* pool = nullptr;
    int thread = 0;
  };
  /// A loop that a thread is running, and the one around it.
  struct frame {
    thread_pool const* pool;
    int thread;
    frame const* outer;

    frame(thread_pool const* p, int t) : pool(p), thread(t), outer(innermost()) { innermost() = this; }
    frame(frame const&) = delete;
    frame& operator=(frame const&) = delete;
    ~frame() { innermost() = outer; }
    static frame const*& innermost() {
      static thread_local frame const* one = nullptr;
      return one;
    }
  };
  /// The state that the threads of one process share.
  struct meeting {
    std::mutex mutex{};
    std::condition_variable begun{};
    std::condition_variable ended{};
    int sleepers = 0;
    bool caller_sleeps = false;
    bool stopping = false;
    unsigned loops = 0;    // that have begun
    int at_work = closed;  // threads in the loop, plus `closed` when no other may join
    int next = 0;          // item
    loop now{};
    detail::thread_group threads{};
    meeting* before = nullptr;  // of the process that forked
  };
  static constexpr int closed = 1 << 30;

  frame const* own_frame() const {
    frame const* f = frame::innermost();
    while (f && f->pool != this) f = f->outer;
    return f;
  }

  void start() {
    meeting* const made = new meeting;
    made->before = meeting_;  // locks held when the process forked stay held, so it must not be used
    meeting_ = made;
    process_ = getpid();
    workers_ = detail::list<worker>(threads_ - 1);
    try {
      for (int i = 1; i < threads_; ++i) {
        workers_[i - 1] = {this, i};
        made->threads.start([w = &workers_[i - 1]] { serve(*w); });
      }
    } catch (...) {
      stop();
      throw;
    }
  }
  void stop() {
    if (process_ != getpid()) return;
    {
      std::scoped_lock const held(meeting_->mutex);
      meeting_->stopping = true;
      meeting_->begun.notify_all();
    }
    meeting_->threads.join();
    delete meeting_;
  }

  [[gnu::noinline]] void run_loop(loop const& what) {
    frame const* const around = own_frame();
    if (!around && threads_ > 1 && what.items > 1) return share_out(what);
    if (around) {
      for (int i = 0; i < what.items; ++i) what.body(what.f, i, around->thread);
      return;
    }
    std::scoped_lock const one_at_a_time(callers_);
    frame const mine(this, 0);
    for (int i = 0; i < what.items; ++i) what.body(what.f, i, 0);
  }
  void share_out(loop const& what) {
    std::scoped_lock const one_at_a_time(callers_);
    if (process_ != getpid()) start();
    meeting& m = *meeting_;
    m.now = what;
    __atomic_store_n(&m.next, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&m.at_work, 0, __ATOMIC_RELEASE);
    __atomic_add_fetch(&m.loops, 1, __ATOMIC_RELEASE);
    {
      std::scoped_lock const held(m.mutex);
      if (m.sleepers > 0) m.begun.notify_all();
    }
    work(m, 0);
    __atomic_or_fetch(&m.at_work, closed, __ATOMIC_ACQ_REL);
    auto const done = [&] { return __atomic_load_n(&m.at_work, __ATOMIC_ACQUIRE) == closed; };
    if (spin_until(done)) return;
    std::unique_lock held(m.mutex);
    m.caller_sleeps = true;
    m.ended.wait(held, done);
    m.caller_sleeps = false;
  }

  void work(meeting& m, int thread) const {
    frame const mine(this, thread);
    for (int i; (i = __atomic_fetch_add(&m.next, 1, __ATOMIC_RELAXED)) < m.now.items;) m.now.body(m.now.f, i, thread);
  }

  static void serve(worker const& mine) {
    meeting& m = *mine.pool->meeting_;
    for (unsigned seen = 0; wait_for_loop(m, seen);) {
      seen = __atomic_load_n(&m.loops, __ATOMIC_ACQUIRE);
      if (!begin(m)) continue;
      mine.pool->work(m, mine.thread);
      if (__atomic_sub_fetch(&m.at_work, 1, __ATOMIC_ACQ_REL) != closed) continue;
      std::scoped_lock const held(m.mutex);
      if (m.caller_sleeps) m.ended.notify_one();
    }
  }
  /// Joins the loop if it has not ended. Returns whether this thread takes part.
  static bool begin(meeting& m) {
    int at_work = __atomic_load_n(&m.at_work, __ATOMIC_RELAXED);
    while (at_work < closed)
      if (__atomic_compare_exchange_n(&m.at_work, &at_work, at_work + 1, true, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
        return true;
    return false;
  }
  static bool wait_for_loop(meeting& m, unsigned seen) {
    auto const begun = [&] { return __atomic_load_n(&m.loops, __ATOMIC_ACQUIRE) != seen; };
    if (spin_until(begun)) return true;
    std::unique_lock held(m.mutex);
    ++m.sleepers;
    m.begun.wait(held, [&] { return begun() || m.stopping; });
    --m.sleepers;
    return begun();
  }

  /// Returns whether `ready` became true within 50 microseconds.
  template <class F>
  static bool spin_until(F ready) {
    timespec begin{}, now{};
    clock_gettime(CLOCK_MONOTONIC, &begin);
    do {
      for (int i = 0; i < 16; ++i) {
        if (ready()) return true;
        detail::relax();
      }
      clock_gettime(CLOCK_MONOTONIC, &now);
    } while ((now.tv_sec - begin.tv_sec) * 1'000'000'000LL + now.tv_nsec - begin.tv_nsec < 50'000);
    return ready();
  }

  int threads_;
  pid_t process_ = 0;
  meeting* meeting_ = nullptr;
  std::mutex callers_;
  detail::list<worker> workers_;
};

}  // namespace dsl::native_cpu::TYPENET_MODE
