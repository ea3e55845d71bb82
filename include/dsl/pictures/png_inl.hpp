// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/message.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/pictures/png.hpp>
#include <dsl/pictures/rgb_picture.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>
#include <png.h>

namespace dsl::detail::TYPENET_MODE {

TYPENET_INLINE std::vector<std::uint8_t> without_texts(std::uint8_t const* data, std::size_t size) {
  constexpr std::size_t frame = 12;  // length, type, checksum
  constexpr std::string_view about_pixels[] = {"tRNS", "gAMA", "cHRM", "sRGB", "sBIT", "bKGD"};
  std::vector<std::uint8_t> all(data, data + 8);
  bool profile = false;
  std::size_t at = 8;
  while (size - at >= frame) {
    std::size_t length = 0;
    for (std::size_t i = 0; i < 4; ++i) length = length << 8 | data[at + i];
    std::string_view const type(reinterpret_cast<char const*>(data + at + 4), 4);
    if (type == "IDAT" || length > size - at - frame) break;
    bool const critical = (type[0] & 0x20) == 0;
    bool const first_profile = type == "iCCP" && !std::exchange(profile, true);
    if (critical || first_profile || std::ranges::count(about_pixels, type) > 0)
      all.insert(all.end(), data + at, data + at + frame + length);
    at += frame + length;
  }
  all.insert(all.end(), data + at, data + size);
  return all;
}

TYPENET_INLINE rgb_picture decode_png(std::uint8_t const* data, std::size_t size, std::string const& name,
                                      picture_limits const& limits) {
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
  std::vector<std::uint8_t> const file = without_texts(data, size);
  need(png_image_begin_read_from_memory(&png.image, file.data(), file.size()));
  rgb_picture picture = make_picture(png.image.width, png.image.height, name, limits);
  png.image.format = PNG_FORMAT_RGB;
  // Without a gamma in the file libpng takes 16-bit data for linear light, unlike other programs.
  png.image.flags |= PNG_IMAGE_FLAG_16BIT_sRGB;
  png_color const white{255, 255, 255};
  need(png_image_finish_read(&png.image, &white, picture.pixels.data(), 0, nullptr));
  return picture;
}

}  // namespace dsl::detail::TYPENET_MODE
