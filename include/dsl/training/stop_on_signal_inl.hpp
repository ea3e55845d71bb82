// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/error.hpp>
#include <dsl/training/callback.hpp>
#include <dsl/training/stop_on_signal.hpp>

#include <csignal>
#include <cstdint>
#include <ctime>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <vector>
#include <pthread.h>
#include <unistd.h>

namespace dsl::TYPENET_MODE {

/// The handlers of the process, which concurrent runs share.
class stop_on_signal::handlers {
 public:
  explicit handlers(std::vector<int> const& signals) {
    std::scoped_lock const held(guard);
    if (runs++ == 0) {
      __atomic_store_n(&pending, 0, __ATOMIC_RELAXED);
      __atomic_store_n(&first, 0, __ATOMIC_RELAXED);
    }
    for (int const s : signals) set(s);
  }
  handlers(handlers const&) = delete;
  handlers& operator=(handlers const&) = delete;
  ~handlers() {
    std::scoped_lock const held(guard);
    if (--runs > 0) return;
    for (int s = 1; s < NSIG; ++s)
      if (ours[s]) ::sigaction(s, &before[s], nullptr), ours[s] = false;
  }

 private:
  static void set(int s) {
    struct sigaction found{};
    if (ours[s] || ::sigaction(s, nullptr, &found) != 0) return;
    if ((found.sa_flags & SA_SIGINFO) == 0 && found.sa_handler == SIG_IGN) return;
    before[s] = found;
    struct sigaction mine{};
    mine.sa_handler = &stop_on_signal::handle;
    mine.sa_flags = SA_RESTART;  // does not interrupt a write
    ::sigemptyset(&mine.sa_mask);
    ours[s] = ::sigaction(s, &mine, nullptr) == 0;
  }
  static inline std::mutex guard;
  static inline int runs = 0;
  static inline bool ours[NSIG] = {};  // NOLINT(modernize-avoid-c-arrays)
};

TYPENET_INLINE stop_on_signal::stop_on_signal(std::initializer_list<int> signals) : signals_(signals) {
  for (int const s : signals)
    if (s < 1 || s >= NSIG || s == SIGKILL || s == SIGSTOP)
      detail::throw_error<option_error>({"stop_on_signal: it must be a signal that a process may handle; found ", s});
}

TYPENET_INLINE void stop_on_signal::on_train_begin(fit_run& run) {
  run.held.push_back(std::make_shared<handlers>(signals_));
  run.interrupt = &pending;
}

TYPENET_INLINE void stop_on_signal::handle(int signal) {
  std::timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  std::int64_t const now = std::int64_t{time.tv_sec} * 1000 + time.tv_nsec / 1'000'000;
  std::int64_t before_it = 0;
  if (__atomic_compare_exchange_n(&first, &before_it, now << 8 | signal, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    __atomic_store_n(&pending, signal, __ATOMIC_RELAXED);
    return;
  }
  if ((before_it & 0xff) == signal && now - (before_it >> 8) < 1000) return;
  ::sigaction(signal, &before[signal], nullptr);
  ::raise(signal);  // it comes when this handler returns
}

TYPENET_INLINE void end_by_signal(int signal) {
  std::signal(signal, SIG_DFL);
  sigset_t only{};
  ::sigemptyset(&only);
  ::sigaddset(&only, signal);
  ::pthread_sigmask(SIG_UNBLOCK, &only, nullptr);
  ::raise(signal);
  ::_exit(128 + signal);  // for a signal that ends no process
}

}  // namespace dsl::TYPENET_MODE
