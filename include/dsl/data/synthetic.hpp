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

/// Returns the signed distance to the figure's edge, negative inside, for a figure of radius about 1 around (0, 0).
/// Stripes and the checkerboard have period 1.
float signed_distance(figure f, float x, float y);

/// Draws image `index` for `seed`, 3x32x32 bytes; its figure is number index mod 10. Takes about 25 us.
void draw_synthetic(std::uint64_t seed, std::uint64_t index, std::uint8_t* out);

}  // namespace dsl::detail::TYPENET_MODE

namespace dsl::TYPENET_MODE {

/// Returns `train` + `test` images of 3x32x32 in ten classes, as equally frequent as the numbers allow: a figure
/// (disc, ring, square, triangle, cross, star, crescent) of any position, size and rotation, or stripes or a
/// checkerboard, in two random colours with a little noise. A horizontal flip never changes the class. Image k
/// depends only on (seed, k).
synthetic synthetic_pictures(std::int64_t train, std::int64_t test, std::uint64_t seed);

}  // namespace dsl::TYPENET_MODE

#ifndef TYPENET_COMPILED
#include <dsl/data/synthetic_inl.hpp>
#endif
