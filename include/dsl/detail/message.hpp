// SPDX-License-Identifier: MIT
#pragma once

#include <initializer_list>
#include <string>

namespace dsl::detail {

/// A piece of an error message: text or a number.
struct piece {
  enum class kind { text, integer, real };
  kind what;
  char const* text = nullptr;
  unsigned long size = 0;
  long long integer = 0;
  double real = 0;

  piece(char const* t) : what(kind::text), text(t), size(std::char_traits<char>::length(t)) {}  // NOLINT
  piece(std::string const& t) : what(kind::text), text(t.data()), size(t.size()) {}             // NOLINT
  piece(int n) : what(kind::integer), integer(n) {}                                             // NOLINT
  piece(long n) : what(kind::integer), integer(n) {}                                            // NOLINT
  piece(long long n) : what(kind::integer), integer(n) {}                                       // NOLINT
  piece(unsigned long n) : what(kind::integer), integer(static_cast<long long>(n)) {}           // NOLINT
  piece(double r) : what(kind::real), real(r) {}                                                // NOLINT
};

/// Joins pieces. Out of line, since every `"..." + std::to_string(n) + "..."` is a kilobyte of code in each including
/// file: message({"batch: it takes ", 64, " samples"}).
[[gnu::cold, gnu::noinline]] inline std::string message(std::initializer_list<piece> pieces) {
  std::string all;
  for (piece const& p : pieces) {
    if (p.what == piece::kind::text) all.append(p.text, p.size);
    if (p.what == piece::kind::integer) all += std::to_string(p.integer);
    if (p.what == piece::kind::real) all += std::to_string(p.real);
  }
  return all;
}

}  // namespace dsl::detail
