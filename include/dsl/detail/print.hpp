// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>

#include <atomic>
#include <cstdio>
#include <string>

namespace dsl::detail::TYPENET_MODE {

/// Where a progress bar has drawn a line that has not ended.
TYPENET_EXPORT inline std::atomic<std::FILE*> open_line = nullptr;  // of all threads' trainers

inline void print(std::FILE* out, std::string const& s) {
  std::fwrite(s.data(), 1, s.size(), out);
  std::fflush(out);
}
/// Lines of another callback's begin after that one.
inline void print_lines(std::FILE* out, std::string const& s) {
  std::FILE* drawn = out;
  bool const ends = open_line.compare_exchange_strong(drawn, nullptr);
  print(out, (ends ? "\n" : "") + s);
}

}  // namespace dsl::detail::TYPENET_MODE
