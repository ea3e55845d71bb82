// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/pictures/rgb_picture.hpp>

#include <cstddef>
#include <cstdint>

namespace dsl::detail::TYPENET_MODE {

/// Returns Exif's tag Orientation, 1 (as stored) to 8, from a JPEG's APP1 segment; 1 if it is not Exif, lacks the tag
/// or is damaged. See Exif 2.3, section 4.6: a TIFF file after six bytes.
int exif_orientation(std::uint8_t const* segment, std::size_t size);

/// Returns an image upright that is stored with this orientation: 2 to 4 are mirrored or upside down, 5 to 8 are
/// rotated by 90 degrees.
rgb_picture upright(rgb_picture stored, int orientation);

}  // namespace dsl::detail::TYPENET_MODE

#ifdef TYPENET_DEFINITIONS
#include <dsl/pictures/orientation_inl.hpp>
#endif
