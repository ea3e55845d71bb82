// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace dsl::TYPENET_MODE {

/// Red, green, blue, a byte each, sRGB, pixel by pixel, row by row from the top: 3 * width * height bytes.
struct rgb_picture {
  int width = 0;
  int height = 0;
  std::vector<std::uint8_t> pixels;

  std::uint8_t const* at(int row, int column) const;
};

/// By default no file gets a larger picture than this, 192 MiB, whatever size it says that it has; libjpeg takes twice
/// as much again while it reads a progressive one.
inline constexpr long long most_pixels = 1LL << 26;

/// Limits on what a picture file may ask for, since a small file can unpack into any amount. A file above one is a
/// data_error, at once.
struct picture_limits {
  long long pixels = most_pixels;
  long long bytes = 1LL << 28;  // of the file
  int scans = 32;               // of a JPEG: progressive ones have about ten, each a pass over all pixels
};

}  // namespace dsl::TYPENET_MODE

namespace dsl::detail::TYPENET_MODE {

[[gnu::cold, noreturn]] void refuse_picture(std::string const& name, std::string const& what);
/// Throws option_error for limits that no file keeps, and data_error for a file of more bytes.
[[gnu::cold]] void check_bytes(std::size_t size, std::string const& name, picture_limits const& limits);
/// A picture of that size, black; throws data_error for an absurd one.
[[gnu::cold]] rgb_picture make_picture(unsigned long width, unsigned long height, std::string const& name,
                                       picture_limits const& limits);

}  // namespace dsl::detail::TYPENET_MODE

#ifndef TYPENET_COMPILED
#include <dsl/pictures/rgb_picture_inl.hpp>
#endif
