// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/detail/printable.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace dsl::detail::TYPENET_MODE {

/// Returns the number of bytes of the first character of `text`; 0 if it is incomplete, overlong, a surrogate or not
/// UTF-8. "\xc3\xa4" -> 2
inline std::size_t utf8_size(std::string_view text) {
  auto const byte = [&](std::size_t k) { return k < text.size() ? static_cast<unsigned char>(text[k]) : 0U; };
  unsigned const first = byte(0), second = byte(1);
  std::size_t const size = text.empty()   ? 0
                           : first < 0x80 ? 1
                           : first < 0xc2 ? 0
                           : first < 0xe0 ? 2
                           : first < 0xf0 ? 3
                           : first < 0xf5 ? 4
                                          : 0;
  for (std::size_t k = 1; k < size; ++k)
    if (byte(k) < 0x80 || byte(k) > 0xbf) return 0;
  bool const bad = (first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f) ||
                   (first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f);
  return bad ? 0 : size;
}

inline bool is_utf8(std::string_view text) {
  while (std::size_t const size = utf8_size(text)) text.remove_prefix(size);
  return text.empty();
}

/// Returns `text` as valid UTF-8 for another program, with a blank for each control character and each mark that
/// changes the direction of text, and a question mark for each byte that is not part of a character.
inline std::string without_controls(std::string_view text) {
  std::string all;
  while (!text.empty()) {
    std::size_t const size = utf8_size(text);
    if (size == 0 || control_at(text, 0) > 0)
      all += size == 0 ? '?' : ' ';
    else
      all += text.substr(0, size);
    text.remove_prefix(size == 0 ? 1 : size);
  }
  return all;
}

}  // namespace dsl::detail::TYPENET_MODE
