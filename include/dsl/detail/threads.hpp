// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/list.hpp>
#include <dsl/detail/message.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/error.hpp>

#include <cstring>

#include <pthread.h>

namespace dsl::detail::TYPENET_MODE {

// Thin wrappers of POSIX threads: <thread>, <mutex> and <condition_variable> would cost every including file 250 ms.

class mutex {
 public:
  mutex() = default;
  mutex(mutex const&) = delete;
  mutex& operator=(mutex const&) = delete;
  ~mutex() { pthread_mutex_destroy(&handle_); }
  void lock() { pthread_mutex_lock(&handle_); }
  void unlock() { pthread_mutex_unlock(&handle_); }

 private:
  friend class condition;
  pthread_mutex_t handle_ = PTHREAD_MUTEX_INITIALIZER;
};

/// Holds a mutex for a scope.
class lock {
 public:
  explicit lock(mutex& m) : mutex_(m) { mutex_.lock(); }
  lock(lock const&) = delete;
  lock& operator=(lock const&) = delete;
  ~lock() { mutex_.unlock(); }

 private:
  mutex& mutex_;
};

/// A condition variable: `while (!ready) c.wait(m);`
class condition {
 public:
  condition() = default;
  condition(condition const&) = delete;
  condition& operator=(condition const&) = delete;
  ~condition() { pthread_cond_destroy(&handle_); }
  void wait(mutex& held) { pthread_cond_wait(&handle_, &held.handle_); }
  void notify_one() { pthread_cond_signal(&handle_); }
  void notify_all() { pthread_cond_broadcast(&handle_); }

 private:
  pthread_cond_t handle_ = PTHREAD_COND_INITIALIZER;
};

/// Pauses a spinning thread between two polls of a variable that another thread will write.
inline void relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// A group of threads that are joined together.
class thread_group {
 public:
  thread_group() = default;
  thread_group(thread_group const&) = delete;
  thread_group& operator=(thread_group const&) = delete;
  ~thread_group() { join(); }

  /// Starts a thread that runs body(context). Throws option_error if the system cannot create one.
  void start(void* (*body)(void*), void* context) {
    threads_.reserve(threads_.size() + 1);  // a started thread must be joined, so nothing may fail in between
    pthread_t made{};
    if (int const code = pthread_create(&made, nullptr, body, context); code != 0)
      throw_error<option_error>({"threads: the system cannot start another thread: ", std::strerror(code), "; ",
                                 threads_.size(), " of this group are running; use fewer, or raise the limits of ",
                                 "processes and memory"});
    threads_.push(made);
  }
  void join() {
    for (pthread_t t : threads_) pthread_join(t, nullptr);
    threads_ = {};
  }
  int size() const { return threads_.size(); }

 private:
  list<pthread_t> threads_;
};

}  // namespace dsl::detail::TYPENET_MODE
