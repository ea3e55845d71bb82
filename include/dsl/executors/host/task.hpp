// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <type_traits>
#include <utility>

namespace dsl::host {

/// Something to call, with what it owns. std::function would also copy, which no step needs, and costs every lambda a
/// manager function: together a third of an executor's code.
class task {
 public:
  task() = default;
  template <class F>
    requires(!std::is_same_v<F, task>)
  task(F f) : body_(new holder<F>(std::move(f))) {}  // NOLINT(google-explicit-constructor): a lambda is a task

  void operator()() const { body_->run(); }
  explicit operator bool() const { return body_ != nullptr; }

 private:
  struct body {
    virtual ~body() = default;
    virtual void run() const = 0;
  };
  template <class F>
  struct holder final : body {
    explicit holder(F f) : call(std::move(f)) {}
    void run() const override { call(); }
    F call;
  };
  std::unique_ptr<body const> body_;
};

}  // namespace dsl::host
