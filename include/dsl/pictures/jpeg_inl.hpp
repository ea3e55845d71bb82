// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/message.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/pictures/jpeg.hpp>
#include <dsl/pictures/orientation.hpp>
#include <dsl/pictures/rgb_picture.hpp>

#include <csetjmp>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <jerror.h>
#include <jpeglib.h>

namespace dsl::detail::TYPENET_MODE {

TYPENET_INLINE jpeg_reader::jpeg_reader(int most_scans) : most_scans_(most_scans) {
  info_.err = jpeg_std_error(&errors_);
  errors_.error_exit = leave;
  errors_.emit_message = judge;
  errors_.output_message = [](j_common_ptr) {};
  info_.client_data = this;
  progress_.progress_monitor = count_scans;
}

[[gnu::noinline]] TYPENET_INLINE bool jpeg_reader::read_header(std::uint8_t const* data, std::size_t size) {
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

[[gnu::noinline]] TYPENET_INLINE bool jpeg_reader::read_rows(std::uint8_t* rgb) {
  if (setjmp(back_)) return false;
  jpeg_start_decompress(&info_);
  while (info_.output_scanline < info_.output_height) {
    JSAMPROW row = rgb + std::size_t{3} * info_.output_width * info_.output_scanline;
    jpeg_read_scanlines(&info_, &row, 1);
  }
  jpeg_finish_decompress(&info_);
  return true;
}

TYPENET_INLINE void jpeg_reader::leave(j_common_ptr info) {
  auto* const self = static_cast<jpeg_reader*>(info->client_data);
  info->err->format_message(info, self->said_);
  std::longjmp(self->back_, 1);
}

TYPENET_INLINE void jpeg_reader::count_scans(j_common_ptr info) {
  auto* const self = static_cast<jpeg_reader*>(info->client_data);
  if (self->has_too_many_scans()) std::longjmp(self->back_, 1);
}

TYPENET_INLINE void jpeg_reader::judge(j_common_ptr info, int level) {
  int const code = info->err->msg_code;
  bool const harmless = code == JWRN_EXTRANEOUS_DATA || code == JWRN_JFIF_MAJOR || code == JWRN_ADOBE_XFORM;
  if (level < 0 && !harmless) leave(info);
}

TYPENET_INLINE rgb_picture decode_jpeg(std::uint8_t const* data, std::size_t size, std::string const& name,
                                       picture_limits const& limits) {
  jpeg_reader jpeg(limits.scans);
  auto const need = [&](bool done) {
    if (jpeg.has_too_many_scans())
      refuse_picture(name, message({"must have at most ", limits.scans, " scans; found more; save it with fewer"}));
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

}  // namespace dsl::detail::TYPENET_MODE
