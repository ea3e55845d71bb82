// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/pictures/rgb_picture.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

#include <png.h>

namespace dsl::detail {

/// Any PNG: grey, palette, 16 bit, interlaced. Transparent places show white, as on a page. `name` is for messages.
[[gnu::cold]] inline rgb_picture decode_png(std::uint8_t const* data, std::size_t size, std::string const& name) {
  struct reader {
    png_image image{};
    reader() { image.version = PNG_IMAGE_VERSION; }
    reader(reader const&) = delete;
    reader& operator=(reader const&) = delete;
    ~reader() { png_image_free(&image); }
  } png;
  auto const need = [&](int done) {
    if (!done)
      refuse_picture(name, message({"must be a whole PNG; libpng says: ", png.image.message, "; save it again"}));
  };
  need(png_image_begin_read_from_memory(&png.image, data, size));
  rgb_picture picture = make_picture(png.image.width, png.image.height, name);
  png.image.format = PNG_FORMAT_RGB;
  // Where a file says nothing about its gamma libpng takes 16 bit for linear light; nobody else does.
  png.image.flags |= PNG_IMAGE_FLAG_16BIT_sRGB;
  png_color const white{255, 255, 255};
  need(png_image_finish_read(&png.image, &white, picture.pixels.data(), 0, nullptr));
  return picture;
}

}  // namespace dsl::detail
