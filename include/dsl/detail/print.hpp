// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>

#include <atomic>
#include <cstdio>
#include <string>

namespace dsl::detail::TYPENET_MODE {

/// The stream on which a progress bar has drawn a line without ending it, or null.
TYPENET_EXPORT inline std::atomic<std::FILE*> open_line = nullptr;  // one for the trainers of all threads

/// Prints text as it is, and flushes the stream.
inline void print(std::FILE* out, std::string const& s) {
  std::fwrite(s.data(), 1, s.size(), out);
  std::fflush(out);
}
/// Prints whole lines, ending an unfinished progress bar on that stream first.
inline void print_lines(std::FILE* out, std::string const& s) {
  std::FILE* drawn = out;
  bool const ends = open_line.compare_exchange_strong(drawn, nullptr);
  print(out, (ends ? "\n" : "") + s);
}

}  // namespace dsl::detail::TYPENET_MODE
