// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/pictures.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

// jpeglib.h needs <cstdio> before it
#include <jpeglib.h>
#include <png.h>

namespace dsl::test {

/// Returns a picture of random blocks of 4 pixels.
inline rgb_picture drawn(int width, int height, unsigned seed) {
  rgb_picture p{width, height, {}};
  for (int i = 0; i < height; ++i)
    for (int j = 0; j < width; ++j)
      for (unsigned c = 0; c < 3; ++c) {
        unsigned const block = static_cast<unsigned>(i / 4 * 1000 + j / 4) * 3 + c + 977 * seed;
        p.pixels.push_back(static_cast<std::uint8_t>(block * 2654435761u >> 24));
      }
  return p;
}

struct png_options {
  bool interlaced = false;
};

/// Returns a PNG of lines of bytes as PNG packs them.
inline std::string raw_png(unsigned width, unsigned height, int depth, int colour, std::vector<std::uint8_t> lines,
                           std::vector<std::array<std::uint8_t, 3>> const& palette = {}, png_options const& o = {}) {
  std::string file;
  png_struct* png = png_create_write_struct(
      PNG_LIBPNG_VER_STRING, nullptr, [](png_struct*, char const* why) { throw std::runtime_error(why); }, nullptr);
  png_info* info = png_create_info_struct(png);
  png_set_write_fn(
      png, &file,
      [](png_struct* p, png_byte* data, std::size_t size) {
        static_cast<std::string*>(png_get_io_ptr(p))->append(reinterpret_cast<char const*>(data), size);
      },
      nullptr);
  png_set_IHDR(png, info, width, height, depth, colour, o.interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  std::vector<png_color> colours;
  for (auto const& c : palette) colours.push_back({c[0], c[1], c[2]});
  if (!colours.empty()) png_set_PLTE(png, info, colours.data(), static_cast<int>(colours.size()));
  png_write_info(png, info);
  std::vector<png_byte*> rows;
  for (unsigned i = 0; i < height; ++i) rows.push_back(lines.data() + i * (lines.size() / height));
  png_write_image(png, rows.data());
  png_write_end(png, info);
  png_destroy_write_struct(&png, &info);
  return file;
}
inline std::string png(rgb_picture const& p, png_options const& o = {}) {
  return raw_png(static_cast<unsigned>(p.width), static_cast<unsigned>(p.height), 8, PNG_COLOR_TYPE_RGB, p.pixels, {},
                 o);
}

/// Returns the file with another size in its header, and the right checksum.
inline std::string with_png_size(std::string file, unsigned width, unsigned height) {
  auto const put = [&](std::size_t at, std::uint32_t v) {
    for (std::size_t i = 0; i < 4; ++i) file[at + i] = static_cast<char>(v >> (24 - 8 * i));
  };
  put(16, width), put(20, height);
  std::uint32_t crc = 0xffffffff;  // of the 17 bytes from "IHDR" on
  for (std::size_t i = 12; i < 29; ++i) {
    crc ^= static_cast<std::uint8_t>(file[i]);
    for (int k = 0; k < 8; ++k) crc = (crc & 1) != 0 ? crc >> 1 ^ 0xedb88320u : crc >> 1;
  }
  put(29, ~crc);
  return file;
}

struct jpeg_options {
  bool grey = false;
  bool progressive = false;
  int quality = 95;
  std::vector<std::string> app1{};  // the content of its APP1 segments, such as Exif's
  bool four_inks = false;           // CMYK, with arbitrary content
};

/// Returns Exif with three tags, of which orientation is the second.
inline std::string exif(int orientation, bool little = true) {
  auto const number = [&](unsigned value, std::size_t bytes) {
    std::string text(bytes, '\0');
    for (std::size_t i = 0; i < bytes; ++i) text[little ? i : bytes - 1 - i] = static_cast<char>(value >> 8 * i);
    return text;
  };
  auto const tag = [&](unsigned id, unsigned value) {  // one number of 16 bits, and what is left of 32
    return number(id, 2) + number(3, 2) + number(1, 4) + number(value, 2) + number(0, 2);
  };
  return std::string("Exif\0\0", 6) + (little ? "II" : "MM") + number(42, 2) + number(8, 4) + number(3, 2) +
         tag(0x103, 6) + tag(0x112, static_cast<unsigned>(orientation)) + tag(0x213, 1) + number(0, 4);
}

inline std::string jpeg(rgb_picture const& p, jpeg_options const& o = {}) {
  jpeg_compress_struct info{};
  jpeg_error_mgr errors{};
  info.err = jpeg_std_error(&errors);
  jpeg_create_compress(&info);
  unsigned char* memory = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&info, &memory, &size);
  info.image_width = static_cast<JDIMENSION>(p.width);
  info.image_height = static_cast<JDIMENSION>(p.height);
  info.input_components = o.four_inks ? 4 : 3;
  info.in_color_space = o.four_inks ? JCS_CMYK : JCS_RGB;
  jpeg_set_defaults(&info);
  if (o.grey) jpeg_set_colorspace(&info, JCS_GRAYSCALE);
  jpeg_set_quality(&info, o.quality, TRUE);
  if (o.progressive) jpeg_simple_progression(&info);
  jpeg_start_compress(&info, TRUE);
  for (std::string const& segment : o.app1)
    jpeg_write_marker(&info, JPEG_APP0 + 1, reinterpret_cast<JOCTET const*>(segment.data()),
                      static_cast<unsigned>(segment.size()));
  std::vector<JSAMPLE> inks(4 * static_cast<std::size_t>(p.width), 77);
  for (int i = 0; i < p.height; ++i) {
    JSAMPROW row = o.four_inks ? inks.data() : const_cast<JSAMPROW>(p.at(i, 0));
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  jpeg_destroy_compress(&info);
  std::string const file(reinterpret_cast<char const*>(memory), size);
  std::free(memory);
  return file;
}

/// Returns a grey JPEG of `scans` scans. The first makes it black, and the others are empty: 12 bytes each, for a pass
/// over all pixels. `kind` is the last byte of its frame's marker: 0xc2, progressive; 0xca, also with arithmetic
/// coding.
inline std::string jpeg_of_scans(int side, int scans, char kind = '\xc2') {
  auto const segment = [](char marker, std::string const& content) {
    std::string s{'\xff', marker, static_cast<char>((content.size() + 2) >> 8), static_cast<char>(content.size() + 2)};
    return s += content;
  };
  auto const two = [](int n) { return std::string{static_cast<char>(n >> 8), static_cast<char>(n)}; };
  auto const code = [](char table, char lengths, std::string const& symbols) {
    return std::string(1, table) + lengths + std::string(15, '\0') + symbols;
  };
  std::string file = "\xff\xd8";
  file += segment('\xdb', '\0' + std::string(64, '\1'));
  file += segment(kind, '\x08' + two(side) + two(side) + std::string("\1\1\x11\0", 4));
  file += segment('\xc4', code('\x00', '\1', std::string(1, '\0')));  // no difference: one bit
  file += segment('\xc4', code('\x10', '\1', "\xe0"));  // the next 2^14 and more blocks are empty: 15 bits
  int const blocks = (side + 7) / 8 * ((side + 7) / 8);
  file += segment('\xda', std::string("\1\1\0\0\0\0", 6)) + std::string(static_cast<std::size_t>(blocks + 7) / 8, '\0');
  for (int i = 1; i < scans; ++i) {
    char const band = static_cast<char>(1 + i % 63);
    file += segment('\xda', std::string("\1\1\0", 3) + band + band + '\0');
    for (int left = blocks; left > 0; left -= 32767) file += std::string("\x7f\xff\0", 3);
  }
  return file += "\xff\xd9";
}

/// Returns a PNG with more chunks, of a name and a content, before its pixels.
inline std::string with_png_chunks(std::string const& file, std::vector<std::array<std::string, 2>> const& chunks) {
  auto const number = [](std::size_t n) {
    std::string text;
    for (int shift = 24; shift >= 0; shift -= 8) text += static_cast<char>(n >> shift & 0xff);
    return text;
  };
  std::string more;
  for (auto const& [name, content] : chunks) {
    std::string const checked = name + content;
    std::uint32_t crc = 0xffffffff;
    for (char const c : checked) {
      crc ^= static_cast<std::uint8_t>(c);
      for (int k = 0; k < 8; ++k) crc = (crc & 1) != 0 ? crc >> 1 ^ 0xedb88320u : crc >> 1;
    }
    more += number(content.size()) + checked + number(~crc);
  }
  std::string with = file;
  return with.insert(file.find("IDAT") - 4, more);
}

}  // namespace dsl::test
