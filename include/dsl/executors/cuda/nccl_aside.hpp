// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

namespace dsl::cu::TYPENET_MODE {

/// Runs a call that may never return on a separate thread: ncclCommAbort and ncclCommDestroy wait for any graph that
/// still contains the communicator's collectives. If the caller stops waiting, the thread remains.
class call_aside {
 public:
  call_aside() = default;
  /// Starts the call f. Throws std::system_error if the process cannot start another thread.
  template <class F>
  explicit call_aside(F f) : state_(std::make_shared<shared>()) {
    std::thread([s = state_, f = std::move(f)] {
      f();
      std::lock_guard const lock(s->mutex);
      s->done = true;
      s->ended.notify_all();
    }).detach();
  }
  explicit operator bool() const { return state_ != nullptr; }
  /// Waits for at most `longest`. Returns whether the call has returned.
  bool wait(std::chrono::milliseconds longest) const {
    std::unique_lock lock(state_->mutex);
    return state_->ended.wait_for(lock, longest, [this] { return state_->done; });
  }

 private:
  struct shared {
    std::mutex mutex;
    std::condition_variable ended;
    bool done = false;
  };
  std::shared_ptr<shared> state_;
};

/// Pauses between the polls of a loop. In the first milliseconds, which suffice for a step of training, there are no
/// pauses; after that, a pause takes a millisecond.
class backoff {
 public:
  explicit backoff(std::chrono::milliseconds longest) : end_(std::chrono::steady_clock::now() + longest) {}
  bool over() const { return std::chrono::steady_clock::now() >= end_; }
  void pause() {
    if (++looks_ < 5000)
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(std::chrono::microseconds(looks_ < 6000 ? 50 : 1000));
  }

 private:
  std::chrono::steady_clock::time_point end_;
  int looks_ = 0;
};

}  // namespace dsl::cu::TYPENET_MODE
