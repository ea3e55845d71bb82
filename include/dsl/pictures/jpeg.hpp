// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/pictures/orientation.hpp>
#include <dsl/pictures/rgb_picture.hpp>

#include <csetjmp>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>

// jpeglib.h needs <cstdio> before it
#include <jerror.h>
#include <jpeglib.h>

namespace dsl::detail {

/// libjpeg leaves by longjmp where it can't go on: no function here that it may leave has anything to destroy.
class jpeg_reader {
 public:
  explicit jpeg_reader(int most_scans) : most_scans_(most_scans) {
    info_.err = jpeg_std_error(&errors_);
    errors_.error_exit = leave;
    errors_.emit_message = judge;
    errors_.output_message = [](j_common_ptr) {};
    info_.client_data = this;
    progress_.progress_monitor = count_scans;
  }
  jpeg_reader(jpeg_reader const&) = delete;
  jpeg_reader& operator=(jpeg_reader const&) = delete;
  ~jpeg_reader() { jpeg_destroy_decompress(&info_); }

  /// False: said() tells why.
  [[gnu::noinline]] bool read_header(std::uint8_t const* data, std::size_t size) {
    if (setjmp(back_)) return false;
    jpeg_create_decompress(&info_);
    info_.progress = &progress_;
    jpeg_mem_src(&info_, data, size);
    jpeg_save_markers(&info_, JPEG_APP0 + 1, 0xffff);
    jpeg_read_header(&info_, TRUE);
    for (auto const* m = info_.marker_list; m && orientation_ == 1; m = m->next)
      orientation_ = exif_orientation(m->data, m->data_length);
    info_.out_color_space = JCS_RGB;
    return true;
  }
  /// rgb takes 3 * width() * height() bytes.
  [[gnu::noinline]] bool read_rows(std::uint8_t* rgb) {
    if (setjmp(back_)) return false;
    jpeg_start_decompress(&info_);
    while (info_.output_scanline < info_.output_height) {
      JSAMPROW row = rgb + std::size_t{3} * info_.output_width * info_.output_scanline;
      jpeg_read_scanlines(&info_, &row, 1);
    }
    jpeg_finish_decompress(&info_);
    return true;
  }
  unsigned long width() const { return info_.image_width; }
  unsigned long height() const { return info_.image_height; }
  bool has_four_inks() const { return info_.num_components == 4; }
  bool is_arithmetic() const { return info_.arith_code != 0; }
  bool has_too_many_scans() const { return info_.input_scan_number > most_scans_; }
  int orientation() const { return orientation_; }
  char const* said() const { return said_; }

 private:
  [[noreturn]] static void leave(j_common_ptr info) {
    auto* const self = static_cast<jpeg_reader*>(info->client_data);
    info->err->format_message(info, self->said_);
    std::longjmp(self->back_, 1);
  }
  /// Called for every row of blocks. A scan without anything in it takes a few bytes, and a pass over all blocks.
  static void count_scans(j_common_ptr info) {
    auto* const self = static_cast<jpeg_reader*>(info->client_data);
    if (self->has_too_many_scans()) std::longjmp(self->back_, 1);
  }
  /// Missing or damaged data is only a warning to libjpeg, which then paints what it likes.
  static void judge(j_common_ptr info, int level) {
    int const code = info->err->msg_code;
    bool const harmless = code == JWRN_EXTRANEOUS_DATA || code == JWRN_JFIF_MAJOR || code == JWRN_ADOBE_XFORM;
    if (level < 0 && !harmless) leave(info);
  }

  jpeg_decompress_struct info_{};
  jpeg_error_mgr errors_{};
  jpeg_progress_mgr progress_{};
  int most_scans_;
  std::jmp_buf back_{};
  int orientation_ = 1;
  char said_[JMSG_LENGTH_MAX] = "";
};

/// Grey ones, and progressive ones; not CMYK, nor with arithmetic coding, of which no byte need be in the file for a
/// pass over all pixels. As it was seen: the orientation that a camera has noted in its Exif is followed. `name` is for
/// messages.
[[gnu::cold]] inline rgb_picture decode_jpeg(std::uint8_t const* data, std::size_t size, std::string const& name,
                                             picture_limits const& limits) {
  jpeg_reader jpeg(limits.scans);
  auto const need = [&](bool done) {
    if (jpeg.has_too_many_scans())
      refuse_picture(name, message({"must have at most ", limits.scans, " scans; found more; save it again"}));
    if (!done)
      refuse_picture(
          name, message({"must be a whole JPEG, grey or in colour; libjpeg says: ", jpeg.said(), "; save it again"}));
  };
  need(jpeg.read_header(data, size));
  if (jpeg.has_four_inks()) refuse_picture(name, "must be grey or in colour; found CMYK; save it as RGB");
  if (jpeg.is_arithmetic()) refuse_picture(name, "must have Huffman codes; found arithmetic coding; save it again");
  rgb_picture picture = make_picture(jpeg.width(), jpeg.height(), name, limits);
  need(jpeg.read_rows(picture.pixels.data()));
  return upright(std::move(picture), jpeg.orientation());
}

}  // namespace dsl::detail
