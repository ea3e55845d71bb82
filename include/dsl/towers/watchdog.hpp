// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/detail/threads.hpp>

#include <condition_variable>
#include <mutex>
#include <string>

namespace dsl::detail::TYPENET_MODE {

/// A watchdog. Unless it is destroyed in time, its thread prints a reason to standard error and ends this process with
/// exit code 1; the launcher then ends the other processes. It guards calls that have no deadline themselves and wait
/// for other processes.
class watchdog {
 public:
  /// Starts the thread, which calls why(context) for the reason after this number of seconds.
  watchdog(double seconds, std::string (*why)(void const*), void const* context);
  watchdog(watchdog const&) = delete;
  watchdog& operator=(watchdog const&) = delete;
  ~watchdog();

 private:
  void watch();

  double seconds_;
  std::string (*why_)(void const*);
  void const* context_;
  std::mutex mutex_;
  std::condition_variable over_;
  bool done_ = false;
  thread_group thread_;
};

/// A watchdog for a process that has announced to the others that it will end. It has `seconds` to end by itself.
struct last_words {
  std::string why;
  watchdog after;

  last_words(double seconds, std::string const& reason);
};

}  // namespace dsl::detail::TYPENET_MODE

#ifdef TYPENET_DEFINITIONS
#include <dsl/towers/watchdog_inl.hpp>
#endif
