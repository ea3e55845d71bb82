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
#include <pthread.h>

namespace dsl::TYPENET_MODE {

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
