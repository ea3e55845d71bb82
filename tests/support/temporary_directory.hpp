// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <stdexcept>
#include <string>
#include <system_error>

#include <stdlib.h>

namespace dsl::test {

/// A directory for one test, removed with its content when the test ends.
struct temporary_directory {
  std::filesystem::path path;
  temporary_directory() {
    std::string pattern = (std::filesystem::temp_directory_path() / "typenet_test_XXXXXX").string();
    if (!::mkdtemp(pattern.data())) throw std::runtime_error("mkdtemp failed");
    path = pattern;
  }
  temporary_directory(temporary_directory const&) = delete;
  temporary_directory& operator=(temporary_directory const&) = delete;
  ~temporary_directory() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  std::string operator/(std::string const& name) const { return (path / name).string(); }
  bool empty() const { return std::filesystem::is_empty(path); }
};

}  // namespace dsl::test
