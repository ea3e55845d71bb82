// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/data/dataset.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/detail/philox.hpp>

#include <cstdint>

namespace dsl::TYPENET_MODE {

/// Pictures to train on where there is no data set: ten shapes and patterns, see synthetic_pictures.
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

/// Signed distance to the figure's edge, negative inside, for a figure of radius about 1 around (0, 0). Stripes and
/// the checkerboard are periodic with period 1.
float signed_distance(figure f, float x, float y);

/// Picture `index` under `seed`, 3x32x32 bytes; its figure is number index mod 10. About 25 us.
void draw_synthetic(std::uint64_t seed, std::uint64_t index, std::uint8_t* out);

}  // namespace dsl::detail::TYPENET_MODE

namespace dsl::TYPENET_MODE {

/// `train` + `test` pictures of 3x32x32 in ten classes as even as the numbers allow: a figure (disc, ring, square,
/// triangle, cross, star, crescent) anywhere, of any size and turn, or stripes or a checkerboard, in two random colours
/// with a little noise. A horizontal flip never changes the class. Picture k depends on (seed, k) alone.
synthetic synthetic_pictures(std::int64_t train, std::int64_t test, std::uint64_t seed);

}  // namespace dsl::TYPENET_MODE

#ifndef TYPENET_COMPILED
#include <dsl/data/synthetic_inl.hpp>
#endif
