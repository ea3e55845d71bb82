// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/warning.hpp>

#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace dsl::test {

/// Collects the library's warnings during its lifetime, from any thread.
struct warnings_kept {
  static inline std::mutex one_at_a_time{};
  static inline std::vector<std::string> said{};
  void (*before)(char const*) = std::exchange(on_warning, [](char const* sentence) {
    std::lock_guard const held(one_at_a_time);
    said.emplace_back(sentence);
  });
  warnings_kept() { said.clear(); }
  warnings_kept(warnings_kept const&) = delete;
  warnings_kept& operator=(warnings_kept const&) = delete;
  ~warnings_kept() { on_warning = before; }
};

/// Returns the warnings given while f runs.
template <class F>
std::vector<std::string> warnings(F f) {
  warnings_kept const kept;
  f();
  return kept.said;
}

}  // namespace dsl::test
