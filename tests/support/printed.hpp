// SPDX-License-Identifier: MIT
#pragma once

#include <cstdio>
#include <stdexcept>
#include <string>

#include <unistd.h>

namespace dsl::test {

/// Returns what f writes to standard output.
template <class F>
std::string printed(F f) {
  std::fflush(stdout);
  std::FILE* const file = std::tmpfile();
  int const before = ::dup(STDOUT_FILENO);
  if (!file || before < 0) throw std::runtime_error("printed: no temporary file");
  ::dup2(::fileno(file), STDOUT_FILENO);
  auto const put_back = [&] {
    std::fflush(stdout);
    ::dup2(before, STDOUT_FILENO);
    ::close(before);
  };
  try {
    f();
  } catch (...) {
    put_back();
    std::fclose(file);
    throw;
  }
  put_back();
  std::string text;
  std::rewind(file);
  for (int c; (c = std::fgetc(file)) != EOF;) text += static_cast<char>(c);
  std::fclose(file);
  return text;
}

}  // namespace dsl::test
