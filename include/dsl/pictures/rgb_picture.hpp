// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/message.hpp>
#include <dsl/error.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace dsl {

/// Red, green, blue, a byte each, sRGB, pixel by pixel, row by row from the top: 3 * width * height bytes.
struct rgb_picture {
  int width = 0;
  int height = 0;
  std::vector<std::uint8_t> pixels;

  std::uint8_t const* at(int row, int column) const {
    return pixels.data() +
           3 * (static_cast<std::size_t>(row) * static_cast<std::size_t>(width) + static_cast<std::size_t>(column));
  }
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

namespace detail {

[[gnu::cold, noreturn]] inline void refuse_picture(std::string const& name, std::string const& what) {
  throw data_error(message({"picture: ", name, " ", what}));
}
/// Throws option_error for limits that no file keeps, and data_error for a file of more bytes.
[[gnu::cold]] inline void check_bytes(std::size_t size, std::string const& name, picture_limits const& limits) {
  if (limits.pixels < 1 || limits.bytes < 1 || limits.scans < 1)
    throw option_error(message({"picture: limits must be 1 or more; found ", limits.pixels, " pixels, ", limits.bytes,
                                " bytes and ", limits.scans, " scans; leave them out"}));
  if (size > static_cast<std::size_t>(limits.bytes))
    refuse_picture(name, message({"must have at most ", limits.bytes, " bytes; found ", size, "; shrink it"}));
}
/// A picture of that size, black; throws data_error for an absurd one.
[[gnu::cold]] inline rgb_picture make_picture(unsigned long width, unsigned long height, std::string const& name,
                                              picture_limits const& limits) {
  auto const most = static_cast<unsigned long>(limits.pixels);
  if (width < 1 || height < 1 || width > most || height > most / width)
    refuse_picture(name, message({"must have 1 to ", most, " pixels; found ", width, " x ", height, "; shrink it"}));
  return {static_cast<int>(width), static_cast<int>(height), std::vector<std::uint8_t>(3 * width * height)};
}

}  // namespace detail
}  // namespace dsl
