// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/message.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/error.hpp>

#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace dsl::detail::TYPENET_MODE {

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

  /// Starts a thread that calls body(). Throws executor_error if the system cannot create one.
  template <class F>
  void start(F body) {
    try {
      threads_.emplace_back(std::move(body));
    } catch (std::system_error const& e) {
      throw_error<executor_error>(
          {"threads: the system cannot start another thread: ", e.code().message(), "; ", size(),
           " of this group are running; use fewer, or raise the limits of processes and memory"});
    }
  }
  void join() {
    for (std::thread& t : threads_)
      if (t.get_id() != std::this_thread::get_id())
        t.join();
      else
        t.detach();  // a thread that ends the program cannot wait for itself
    threads_.clear();
  }
  int size() const { return static_cast<int>(threads_.size()); }

 private:
  std::vector<std::thread> threads_;
};

}  // namespace dsl::detail::TYPENET_MODE
