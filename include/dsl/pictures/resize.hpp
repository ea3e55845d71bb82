// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/pictures/rgb_picture.hpp>

#include <cstddef>
#include <vector>

namespace dsl::detail::TYPENET_MODE {

/// How a pixel of a resized row is computed: from pixels first, first + 1, ..., with weights that sum to 1.
struct resize_taps {
  int first = 0;
  std::vector<float> weights;
};

/// Returns the taps of a triangle filter, two pixels of the smaller size wide: bilinear for enlarging, and averaging
/// all pixels for shrinking. It equals Pillow's BILINEAR and torchvision's with antialias.
[[gnu::cold]] std::vector<resize_taps> taps_for(int from, int to);
/// Adds `count` bytes times a weight to a row.
void add_weighted(float* to, std::uint8_t const* from, float weight, std::size_t count);

}  // namespace dsl::detail::TYPENET_MODE

namespace dsl::TYPENET_MODE {

/// Returns the largest square in the middle of an image. If an odd number of rows or columns is removed, one more is
/// removed at the bottom or on the right.
[[gnu::cold]] rgb_picture centre_square(rgb_picture const& p);

/// Resizes with a triangle filter on the sRGB bytes, rounding once. An image of that size is unchanged. Throws
/// option_error for sizes below 1.
rgb_picture resized(rgb_picture const& p, int width, int height);

/// Converts an image for a network: 3 planes of height x width floats, red first, minus the mean (as many floats, or
/// null).
void to_planes(rgb_picture const& p, float const* mean, float* out);

}  // namespace dsl::TYPENET_MODE

#ifndef TYPENET_COMPILED
#include <dsl/pictures/resize_inl.hpp>
#endif
