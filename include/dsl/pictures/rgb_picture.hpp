// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace dsl::TYPENET_MODE {

/// An image in sRGB: one byte each for red, green and blue, row by row from the top, 3 * width * height bytes.
struct rgb_picture {
  int width = 0;
  int height = 0;
  std::vector<std::uint8_t> pixels;

  /// Returns the three bytes of a pixel.
  std::uint8_t const* at(int row, int column) const;
};

/// The default limit on an image's size, 192 MiB, whatever the file claims; libjpeg needs up to twice as much in
/// addition while it decodes a progressive JPEG.
inline constexpr long long most_pixels = 1LL << 26;

/// Limits on what an image file may require, since a small file can decompress to any size. A file that exceeds one
/// causes a data_error before it is decoded.
struct picture_limits {
  long long pixels = most_pixels;
  long long bytes = 1LL << 28;  // size of the file
  int scans = 32;               // of a JPEG: progressive ones have about ten, each a pass over all pixels
};

}  // namespace dsl::TYPENET_MODE

namespace dsl::detail::TYPENET_MODE {

[[gnu::cold, noreturn]] void refuse_picture(std::string const& name, std::string const& what);
/// Throws option_error for limits below 1, and data_error for a file with more bytes.
void check_bytes(std::size_t size, std::string const& name, picture_limits const& limits);
/// Returns a black image of that size; throws data_error if it exceeds a limit.
rgb_picture make_picture(unsigned long width, unsigned long height, std::string const& name,
                         picture_limits const& limits);

}  // namespace dsl::detail::TYPENET_MODE

#ifdef TYPENET_DEFINITIONS
#include <dsl/pictures/rgb_picture_inl.hpp>
#endif
