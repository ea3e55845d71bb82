// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/files/input_file.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/pictures/jpeg.hpp>
#include <dsl/pictures/png.hpp>
#include <dsl/pictures/read.hpp>
#include <dsl/pictures/rgb_picture.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace dsl::TYPENET_MODE {

TYPENET_INLINE rgb_picture decode_picture(std::uint8_t const* data, std::size_t size, std::string const& name,
                                          picture_limits const& limits) {
  detail::check_bytes(size, name, limits);
  auto const begins = [&](char const* with, std::size_t bytes) {
    return size >= bytes && std::memcmp(data, with, bytes) == 0;
  };
  if (begins("\x89PNG\r\n\x1a\n", 8)) return detail::decode_png(data, size, name, limits);
  if (begins("\xff\xd8\xff", 3)) return detail::decode_jpeg(data, size, name, limits);
  detail::refuse_picture(name, size == 0 ? "must be a PNG or a JPEG; found an empty file"
                                         : "must be a PNG or a JPEG; found another format; convert it");
}

TYPENET_INLINE rgb_picture read_picture(std::string const& path, picture_limits const& limits) {
  detail::input_file file(path, "picture", "give a PNG or a JPEG");
  detail::check_bytes(file.size(), path, limits);
  std::vector<std::uint8_t> bytes(file.size());
  file.read(bytes.data(), bytes.size());
  return decode_picture(bytes.data(), bytes.size(), path, limits);
}

}  // namespace dsl::TYPENET_MODE
