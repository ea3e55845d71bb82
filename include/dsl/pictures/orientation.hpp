// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/pictures/rgb_picture.hpp>

#include <cstddef>
#include <cstdint>

namespace dsl::detail::TYPENET_MODE {

/// How a camera was held: Exif's tag Orientation, 1 (as the picture is) to 8, of what a JPEG's APP1 segment has. 1
/// where that is no Exif, has no such tag, or is damaged. Exif 2.3, section 4.6: a TIFF file after six bytes.
[[gnu::cold]] int exif_orientation(std::uint8_t const* segment, std::size_t size);

/// As it was seen, of a picture with that orientation: 2 to 4 are mirrored or upside down; 5 to 8 lie on their side.
[[gnu::cold]] rgb_picture upright(rgb_picture stored, int orientation);

}  // namespace dsl::detail::TYPENET_MODE

#ifndef TYPENET_COMPILED
#include <dsl/pictures/orientation_inl.hpp>
#endif
