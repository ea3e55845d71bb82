// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/detail/threads.hpp>
#include <dsl/towers/watchdog.hpp>

#include <cstdio>
#include <string>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

namespace dsl::detail::TYPENET_MODE {

TYPENET_INLINE watchdog::watchdog(double seconds, std::string (*why)(void const*), void const* context)
    : seconds_(seconds), why_(why), context_(context) {
  pthread_condattr_t monotonic{};
  pthread_condattr_init(&monotonic);
  pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
  pthread_cond_init(&over_, &monotonic);
  pthread_condattr_destroy(&monotonic);
  thread_.start(&watchdog::watch, this);
}

TYPENET_INLINE watchdog::~watchdog() {
  pthread_mutex_lock(&mutex_);
  done_ = true;
  pthread_cond_signal(&over_);
  pthread_mutex_unlock(&mutex_);
  thread_.join();
  pthread_cond_destroy(&over_);
  pthread_mutex_destroy(&mutex_);
}

TYPENET_INLINE void* watchdog::watch(void* self) {
  static_cast<watchdog*>(self)->watch();
  return nullptr;
}

TYPENET_INLINE void watchdog::watch() {
  timespec end{};
  clock_gettime(CLOCK_MONOTONIC, &end);
  auto const whole = static_cast<time_t>(seconds_);
  end.tv_sec += whole;
  end.tv_nsec += static_cast<long>((seconds_ - static_cast<double>(whole)) * 1e9);
  if (end.tv_nsec >= 1'000'000'000) end.tv_nsec -= 1'000'000'000, ++end.tv_sec;
  pthread_mutex_lock(&mutex_);
  bool late = false;
  while (!done_ && !late) late = pthread_cond_timedwait(&over_, &mutex_, &end) != 0;
  bool const ends = late && !done_;
  pthread_mutex_unlock(&mutex_);
  if (!ends) return;
  std::fprintf(stderr, "error: %s\n", why_(context_).c_str());
  _exit(1);  // without exit handlers, which may need what the hanging thread holds
}

TYPENET_INLINE last_words::last_words(double seconds, std::string const& reason)
    : why(reason), after(seconds, [](void const* self) { return static_cast<last_words const*>(self)->why; }, this) {}

}  // namespace dsl::detail::TYPENET_MODE
