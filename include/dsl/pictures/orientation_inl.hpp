// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/pictures/orientation.hpp>
#include <dsl/pictures/rgb_picture.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace dsl::detail::TYPENET_MODE {

TYPENET_INLINE int exif_orientation(std::uint8_t const* segment, std::size_t size) {
  if (size < 14 || std::memcmp(segment, "Exif\0\0", 6) != 0) return 1;
  std::uint8_t const* const tiff = segment + 6;
  std::size_t const all = size - 6;
  bool const little = tiff[0] == 'I';
  if (std::memcmp(tiff, little ? "II*\0" : "MM\0*", 4) != 0) return 1;
  auto const number = [&](std::size_t at, std::size_t bytes) {
    std::size_t value = 0;
    for (std::size_t i = 0; i < bytes; ++i) value |= std::size_t{tiff[at + i]} << 8 * (little ? i : bytes - 1 - i);
    return value;
  };
  std::size_t const table = number(4, 4);
  if (table > all - 2) return 1;
  std::size_t const entries = number(table, 2);
  for (std::size_t i = 0; i < entries && table + 2 + 12 * (i + 1) <= all; ++i) {
    std::size_t const entry = table + 2 + 12 * i;
    constexpr std::size_t orientation = 0x112, as_short = 3;
    if (number(entry, 2) != orientation || number(entry + 2, 2) != as_short || number(entry + 4, 4) != 1) continue;
    std::size_t const value = number(entry + 8, 2);
    return value >= 1 && value <= 8 ? static_cast<int>(value) : 1;
  }
  return 1;
}

TYPENET_INLINE rgb_picture upright(rgb_picture stored, int orientation) {
  if (orientation == 1) return stored;
  bool const lies = orientation >= 5;
  int const height = stored.height, width = stored.width;
  rgb_picture seen{lies ? height : width, lies ? width : height, std::vector<std::uint8_t>(stored.pixels.size())};
  bool const from_below = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
  bool const from_right = orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
  std::uint8_t* to = seen.pixels.data();
  for (int r = 0; r < seen.height; ++r)
    for (int c = 0; c < seen.width; ++c, to += 3) {
      int row = lies ? c : r, column = lies ? r : c;
      if (from_below) row = height - 1 - row;
      if (from_right) column = width - 1 - column;
      std::memcpy(to, stored.at(row, column), 3);
    }
  return seen;
}

}  // namespace dsl::detail::TYPENET_MODE
