// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdio>
#include <cstring>
#include <initializer_list>
#include <string>

namespace dsl::detail {

/// A piece of an error message: a text or a number. A piece has only two machine words, because code that throws builds
/// all pieces of its message.
struct piece {
  enum class kind : unsigned char { text, terminated, integer, real };
  union {
    char const* text;
    long long integer;
    double real;
  };
  unsigned size = 0;  // of a text that is not terminated
  kind what;

  piece(char const* t) : text(t), what(kind::terminated) {}                                                 // NOLINT
  piece(std::string const& t) : text(t.data()), size(static_cast<unsigned>(t.size())), what(kind::text) {}  // NOLINT
  piece(int n) : integer(n), what(kind::integer) {}                                                         // NOLINT
  piece(long n) : integer(n), what(kind::integer) {}                                                        // NOLINT
  piece(long long n) : integer(n), what(kind::integer) {}                                                   // NOLINT
  piece(unsigned long n) : integer(static_cast<long long>(n)), what(kind::integer) {}                       // NOLINT
  piece(double r) : real(r), what(kind::real) {}                                                            // NOLINT
};

/// Writes a number with up to nine significant digits, and with "." as the decimal point in every locale. Returns the
/// length of the text.
[[gnu::cold, gnu::noinline]] inline std::size_t write_real(double value, char (&to)[32]) {
  char text[40];  // a locale's point has up to 4 bytes
  std::snprintf(text, sizeof text, "%.9g", value != value ? __builtin_fabs(value) : value);  // never "-nan"
  std::size_t size = 0;
  bool in_point = false;
  for (char const* c = text; *c; ++c) {
    bool const own = (*c >= '0' && *c <= '9') || (*c >= 'a' && *c <= 'z') || *c == '-' || *c == '+';
    if (own || !in_point) to[size++] = own ? *c : '.';
    in_point = !own;
  }
  to[size] = '\0';
  return size;
}
// 0.998 -> "0.998" and never "0,998": states and messages are read by other programs

/// Writes a piece's text to `to`, integers with a terminating null, and returns its length. With a null `to` it only
/// returns the length.
[[gnu::cold, gnu::noinline]] inline std::size_t write_piece(piece const& p, char* to, std::size_t room) {
  if (p.what == piece::kind::integer) return static_cast<std::size_t>(std::snprintf(to, room, "%lld", p.integer));
  char number[32];
  bool const real = p.what == piece::kind::real;
  std::size_t const size = real                          ? write_real(p.real, number)
                           : p.what == piece::kind::text ? p.size
                                                         : std::strlen(p.text);
  if (to) std::memcpy(to, real ? number : p.text, size);
  return size;
}

/// Joins pieces; reals have up to nine digits, which distinguish any two floats. Out of line: every `"..." +
/// std::to_string(n) + "..."` is a kilobyte of code in each including file, and avoiding the functions by which a
/// std::string grows saves as much again. Example: message({"batch: it takes ", 64, " samples"}).
[[gnu::cold, gnu::noinline]] inline std::string message(std::initializer_list<piece> pieces) {
  std::size_t size = 0;
  for (piece const& p : pieces) size += write_piece(p, nullptr, 0);
  std::string all(size, ' ');
  size = 0;
  for (piece const& p : pieces) size += write_piece(p, all.data() + size, all.size() - size + 1);
  return all;
}

/// Returns a count and its noun: counted(1, "sample") is "1 sample", and counted(2, "sample") is "2 samples". Nouns
/// whose plural is not made with an s come with it: counted(2, "class", "classes").
[[gnu::cold, gnu::noinline]] inline std::string counted(long long n, char const* noun, char const* plural = nullptr) {
  return message({n, " ", n != 1 && plural ? plural : noun, n == 1 || plural ? "" : "s"});
}

/// Throws an Error with that message, or ends a program that is compiled without exceptions. The function is not
/// inlined, because a throw that makes a string takes 200 bytes at each place.
template <class Error>
[[gnu::cold, gnu::noinline, noreturn]] void throw_error([[maybe_unused]] std::initializer_list<piece> pieces) {
#ifdef __cpp_exceptions
  throw Error(message(pieces));
#else
  __builtin_trap();
#endif
}

}  // namespace dsl::detail
