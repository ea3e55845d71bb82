// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace dsl::detail {

/// Returns the length in bytes of the control character at `at`, in UTF-8 or as a single byte; 0 for any other
/// character. Control characters are C0 and C1 controls, delete, line and paragraph separators, marks that change the
/// direction of text, and U+FFFE and U+FFFF, which XML, and thus SVG, forbids.
inline std::size_t control_at(std::string_view text, std::size_t at) {
  auto const byte = [&](std::size_t i) {
    return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : static_cast<unsigned char>(0);
  };
  if (byte(0) < 0x20 || byte(0) == 0x7f) return 1;
  if (byte(0) == 0xc2 && byte(1) >= 0x80 && byte(1) < 0xa0) return 2;
  if (byte(0) == 0xef && byte(1) == 0xbf && byte(2) >= 0xbe) return 3;
  if (byte(0) != 0xe2) return 0;
  bool const separates = byte(1) == 0x80 && (byte(2) == 0xa8 || byte(2) == 0xa9);
  bool const turns =
      (byte(1) == 0x80 && (byte(2) == 0x8e || byte(2) == 0x8f || (byte(2) >= 0xaa && byte(2) <= 0xae))) ||
      (byte(1) == 0x81 && byte(2) >= 0xa6 && byte(2) <= 0xa9);
  return separates || turns ? 3 : 0;
}

/// Returns text that is safe to print to a terminal or a log: each byte of a control character, or of a broken UTF-8
/// sequence that a terminal may take for one, becomes \x and two digits. "a\n" -> "a\\x0a". Other text is unchanged.
inline std::string printable(std::string_view text) {
  std::string shown;
  shown.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    std::size_t plain = i;  // printable ASCII
    while (plain < text.size() && text[plain] >= ' ' && text[plain] <= '~') ++plain;
    shown.append(text, i, plain - i);
    if (i = plain; i == text.size()) break;
    auto const first = static_cast<unsigned char>(text[i]);
    std::size_t const whole = first < 0xc2 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 1;
    std::size_t rest = 1;  // continuation bytes found, with the first one
    while (rest < whole && i + rest < text.size() && (text[i + rest] & 0xc0) == 0x80) ++rest;
    bool const broken = first >= 0x80 && (whole == 1 || rest < whole);
    std::size_t const control = broken ? 1 : control_at(text, i);
    for (std::size_t k = 0; k < control; ++k) {
      constexpr char const* digits = "0123456789abcdef";
      auto const c = static_cast<unsigned char>(text[i + k]);
      shown += {'\\', 'x', digits[c >> 4], digits[c & 15]};
    }
    if (control == 0) shown.append(text, i, whole);
    i += control == 0 ? whole : control;
  }
  return shown;
}

/// Returns at most the first 256 bytes of a text, followed by dots if it is longer: a message may quote a file's
/// content of any size.
inline std::string excerpt(std::string_view text) {
  constexpr std::size_t most = 256;  // longer than any file name
  return std::string(text.substr(0, most)) + (text.size() > most ? "..." : "");
}

}  // namespace dsl::detail
