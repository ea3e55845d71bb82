// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/pictures/rgb_picture.hpp>

#include <csetjmp>
#include <cstddef>
#include <cstdint>
#include <string>

// <jpeglib.h> needs <cstdio> before it
#include <jerror.h>
#include <jpeglib.h>

namespace dsl::detail::TYPENET_MODE {

/// Wraps libjpeg. It reports errors by longjmp, so a function that a longjmp may leave has no local objects with
/// destructors.
class jpeg_reader {
 public:
  explicit jpeg_reader(int most_scans);
  jpeg_reader(jpeg_reader const&) = delete;
  jpeg_reader& operator=(jpeg_reader const&) = delete;
  ~jpeg_reader() { jpeg_destroy_decompress(&info_); }

  /// Returns false on an error, which said() describes.
  bool read_header(std::uint8_t const* data, std::size_t size);
  /// Decodes all rows; rgb needs 3 * width() * height() bytes.
  bool read_rows(std::uint8_t* rgb);
  unsigned long width() const { return info_.image_width; }
  unsigned long height() const { return info_.image_height; }
  bool has_four_inks() const { return info_.num_components == 4; }
  bool is_arithmetic() const { return info_.arith_code != 0; }
  bool has_too_many_scans() const { return info_.input_scan_number > most_scans_; }
  int orientation() const { return orientation_; }
  char const* said() const { return said_; }

 private:
  [[noreturn]] static void leave(j_common_ptr info);
  /// Called for every row of blocks; stops an image with too many scans. An empty scan takes a few bytes in the file
  /// but a pass over all blocks.
  static void count_scans(j_common_ptr info);
  /// Treats missing or damaged data as an error. To libjpeg it is only a warning, and the pixels are arbitrary.
  static void judge(j_common_ptr info, int level);

  jpeg_decompress_struct info_{};
  jpeg_error_mgr errors_{};
  jpeg_progress_mgr progress_{};
  int most_scans_;
  std::jmp_buf back_{};
  int orientation_ = 1;
  char said_[JMSG_LENGTH_MAX] = "";
};

/// Decodes a JPEG, grey and progressive ones included, upright according to the orientation in its Exif. Rejects CMYK,
/// and arithmetic coding, with which a tiny file can require any number of passes over the pixels. `name` is for
/// messages.
rgb_picture decode_jpeg(std::uint8_t const* data, std::size_t size, std::string const& name,
                        picture_limits const& limits);

}  // namespace dsl::detail::TYPENET_MODE

#ifdef TYPENET_DEFINITIONS
#include <dsl/pictures/jpeg_inl.hpp>
#endif
