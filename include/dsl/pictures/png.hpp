// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/pictures/rgb_picture.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <png.h>

namespace dsl::detail::TYPENET_MODE {

/// Returns a PNG without the chunks before its pixels that do not affect them: libpng would decompress a thousand texts
/// of 8 MB each. Damaged chunks stay, for libpng to report.
std::vector<std::uint8_t> without_texts(std::uint8_t const* data, std::size_t size);

/// Decodes any PNG: grey, palette, 16-bit, interlaced. Transparent pixels are blended with white. `name` is for
/// messages.
rgb_picture decode_png(std::uint8_t const* data, std::size_t size, std::string const& name,
                       picture_limits const& limits);

}  // namespace dsl::detail::TYPENET_MODE

#ifdef TYPENET_DEFINITIONS
#include <dsl/pictures/png_inl.hpp>
#endif
