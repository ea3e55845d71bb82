// SPDX-License-Identifier: MIT
#pragma once

#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "support/catch.hpp"

namespace dsl::test {

/// Returns a file's bytes, or none if there is no file.
inline std::string contents(std::string const& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
inline std::vector<std::string> lines(std::string const& text) {
  std::vector<std::string> all;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) all.push_back(line);
  return all;
}
inline bool has(std::string const& text, std::string const& words) { return text.find(words) != std::string::npos; }

/// Returns the message of the error that f throws.
template <class E, class F>
std::string thrown(F f) {
  try {
    f();
  } catch (E const& e) {
    return e.what();
  }
  return "nothing";
}
/// Requires that f throws an error whose message contains all of these.
template <class E, class F>
void refuses(F f, std::vector<std::string> const& words) {
  std::string const said = thrown<E>(f);
  INFO(said);
  REQUIRE(said != "nothing");
  for (std::string const& w : words) CHECK(has(said, w));
}

}  // namespace dsl::test
