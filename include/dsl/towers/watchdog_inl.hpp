// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/towers/watchdog.hpp>

#include <chrono>
#include <cstdio>
#include <mutex>
#include <string>
#include <unistd.h>

namespace dsl::detail::TYPENET_MODE {

TYPENET_INLINE watchdog::watchdog(double seconds, std::string (*why)(void const*), void const* context)
    : seconds_(seconds), why_(why), context_(context) {
  thread_.start([this] { watch(); });
}

TYPENET_INLINE watchdog::~watchdog() {
  {
    std::scoped_lock const held(mutex_);
    done_ = true;
  }
  over_.notify_one();
  thread_.join();
}

TYPENET_INLINE void watchdog::watch() {
  {
    std::unique_lock held(mutex_);
    if (over_.wait_for(held, std::chrono::duration<double>(seconds_), [this] { return done_; })) return;
  }
  std::fprintf(stderr, "error: %s\n", why_(context_).c_str());
  _exit(1);  // without exit handlers, which may need what the hanging thread holds
}

TYPENET_INLINE last_words::last_words(double seconds, std::string const& reason)
    : why(reason), after(seconds, [](void const* self) { return static_cast<last_words const*>(self)->why; }, this) {}

}  // namespace dsl::detail::TYPENET_MODE
