// SPDX-License-Identifier: MIT
#pragma once

#include <cstdlib>
#include <initializer_list>
#include <string_view>
#include <vector>

// How many of their cases the tests that loop over cases of one kind look at. TYPENET_TESTS in the environment says it:
// `sample` in the stage sanitizers, where a few cases reach the same code; `all` in the stage long; otherwise as many
// as every change should wait for.
namespace dsl::test {

inline bool extent_is(std::string_view name) {
  char const* const said = std::getenv("TYPENET_TESTS");
  return said != nullptr && said == name;
}
inline bool only_a_sample() { return extent_is("sample"); }
inline bool everything() { return extent_is("all"); }

/// Returns `all`, or its last element alone where only a sample is looked at.
template <class T>
std::vector<T> sampled(std::initializer_list<T> all) {
  return only_a_sample() ? std::vector<T>{*(all.end() - 1)} : std::vector<T>(all);
}

}  // namespace dsl::test
