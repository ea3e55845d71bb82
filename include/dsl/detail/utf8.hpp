// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string_view>

namespace dsl::detail {

/// Whether these are whole characters in the shortest form, none of them half of a surrogate pair.
[[gnu::cold]] inline bool is_utf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    auto const byte = [&](std::size_t k) { return i + k < text.size() ? static_cast<unsigned char>(text[i + k]) : 0U; };
    unsigned const first = byte(0);
    std::size_t const size = first < 0x80   ? 1
                             : first < 0xc2 ? 0
                             : first < 0xe0 ? 2
                             : first < 0xf0 ? 3
                             : first < 0xf5 ? 4
                                            : 0;
    if (size == 0) return false;
    for (std::size_t k = 1; k < size; ++k)
      if (byte(k) < 0x80 || byte(k) > 0xbf) return false;
    unsigned const second = byte(1);
    if ((first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f) || (first == 0xf0 && second < 0x90) ||
        (first == 0xf4 && second > 0x8f))
      return false;
    i += size;
  }
  return true;
}

}  // namespace dsl::detail
