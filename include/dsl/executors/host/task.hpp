// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/allocate.hpp>
#include <dsl/detail/mode.hpp>

#include <utility>

namespace dsl::host::TYPENET_MODE {

/// A function object that owns the captures of its lambda. Unlike std::function, it cannot be copied: copying would
/// need a manager function, several virtual functions and their tables for every lambda.
class task {
 public:
  task() = default;
  template <class F>
    requires requires(F const& f) { f(); }
  task(F f)  // NOLINT(google-explicit-constructor): a lambda is a task
      : held_(detail::make<F>(std::move(f))),
        call_([](void const* held) { (*static_cast<F const*>(held))(); }),
        destroy_([](void const* held) { detail::destroy(static_cast<F const*>(held)); }) {}
  task(task&& other) noexcept { swap(other); }
  task& operator=(task&& other) noexcept {
    swap(other);
    return *this;
  }
  ~task() {
    if (held_) destroy_(held_);
  }

  void operator()() const { call_(held_); }
  explicit operator bool() const { return held_ != nullptr; }

 private:
  void swap(task& other) noexcept {
    std::swap(held_, other.held_);
    std::swap(call_, other.call_);
    std::swap(destroy_, other.destroy_);
  }

  void const* held_ = nullptr;
  void (*call_)(void const*) = nullptr;
  void (*destroy_)(void const*) = nullptr;
};

}  // namespace dsl::host::TYPENET_MODE
