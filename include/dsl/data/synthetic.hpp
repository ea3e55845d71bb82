// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/data/dataset.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/detail/philox.hpp>

#include <cstdint>

namespace dsl::TYPENET_MODE {

/// Synthetic images of ten shapes and patterns, for training without a data set; see synthetic_pictures.
struct synthetic {
  dataset train;
  dataset test;  // has the training set's mean
};

}  // namespace dsl::TYPENET_MODE

namespace dsl::detail::TYPENET_MODE {

enum class figure {
  disc,
  ring,
  square,
  triangle,
  cross,
  star,
  horizontal_stripes,
  vertical_stripes,
  checkerboard,
  crescent
};

/// Returns the signed distance from (x, y) to the edge of a figure with a radius of about 1 around (0, 0); the distance
/// is negative inside. Stripes and the checkerboard have a period of 1.
float signed_distance(figure f, float x, float y);

/// Draws image number `index` for a seed, as 3x32x32 bytes. The image shows figure number index mod 10. Takes about 25
/// us.
void draw_synthetic(std::uint64_t seed, std::uint64_t index, std::uint8_t* out);

}  // namespace dsl::detail::TYPENET_MODE

namespace dsl::TYPENET_MODE {

/// Returns `train` training images and `test` test images of 3x32x32 pixels. There are ten classes, whose frequencies
/// differ by at most one image. An image shows a figure (disc, ring, square, triangle, cross, star, crescent) at a
/// random position with a random size and rotation, or stripes or a checkerboard, in two random colours with a little
/// noise. A horizontal flip never changes the class. Image k depends only on (seed, k).
synthetic synthetic_pictures(std::int64_t train, std::int64_t test, std::uint64_t seed);

}  // namespace dsl::TYPENET_MODE

#ifdef TYPENET_DEFINITIONS
#include <dsl/data/synthetic_inl.hpp>
#endif
