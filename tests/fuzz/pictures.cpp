// SPDX-License-Identifier: MIT
#include <dsl/pictures.hpp>

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "fuzz/targets.hpp"

#include <png.h>
#include <zlib.h>

namespace {

constexpr dsl::picture_limits limits{.pixels = 1 << 16, .bytes = 1 << 20, .scans = 16};

bool decoded(std::string const& bytes) {
  try {
    auto const* const data = reinterpret_cast<std::uint8_t const*>(bytes.data());
    dsl::rgb_picture const p = dsl::decode_picture(data, bytes.size(), "a picture", limits);
    auto const pixels = static_cast<std::size_t>(p.width) * static_cast<std::size_t>(p.height);
    if (p.width < 1 || p.height < 1 || p.pixels.size() != 3 * pixels)
      throw std::logic_error("pictures: the size of a decoded picture is not that of its pixels");
    return true;
  } catch (dsl::error const&) {
    return false;
  }
}

/// Returns a PNG whose chunks have right checksums; the rest is as it was.
std::string with_checksums(std::string bytes) {
  auto const number = [&](std::size_t at) {
    std::size_t v = 0;
    for (std::size_t i = 0; i < 4; ++i) v = v << 8 | static_cast<std::uint8_t>(bytes[at + i]);
    return v;
  };
  for (std::size_t at = 8; at + 12 <= bytes.size();) {
    std::size_t const size = number(at);
    if (size > bytes.size() - at - 12) break;
    auto const sum = ::crc32(0, reinterpret_cast<Bytef const*>(bytes.data() + at + 4), static_cast<uInt>(size + 4));
    for (std::size_t i = 0; i < 4; ++i) bytes[at + 8 + size + i] = static_cast<char>(sum >> (24 - 8 * i) & 255);
    at += size + 12;
  }
  return bytes;
}

}  // namespace

bool dsl::fuzz::pictures(std::string_view bytes) {
  std::string const file(bytes);
  bool const good = decoded(file);
  if (file.starts_with("\x89PNG") && !good) decoded(with_checksums(file));
  return good;
}
