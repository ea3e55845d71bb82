// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/reference/steps.hpp>

#include <string>

namespace dsl::plain::TYPENET_MODE {

/// Runs every step in plain loops on one thread, in NCHW: the oracle for other executors, and always available.
template <class T>
class engine final : public steps<T> {
 public:
  using steps<T>::steps;

  long long executor_bytes() const override { return 0; }
  std::string description() const override { return arithmetic() + ", 1 thread"; }
  std::string arithmetic() const override {
    return std::string("reference, plain loops in ") + (sizeof(T) == 8 ? "double" : "float");
  }
};

}  // namespace dsl::plain::TYPENET_MODE
