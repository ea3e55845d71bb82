// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/pictures/rgb_picture.hpp>

#include <cstddef>
#include <vector>

namespace dsl::detail::TYPENET_MODE {

/// What one pixel of a resized row is made of: pixels first, first + 1, ..., with weights that sum to 1.
struct resize_taps {
  int first = 0;
  std::vector<float> weights;
};

/// A triangle as wide as two pixels of the smaller of both sizes: bilinear where a picture grows, and where it shrinks
/// every pixel counts. Pillow's BILINEAR, and torchvision's with antialias, are the same.
[[gnu::cold]] std::vector<resize_taps> taps_for(int from, int to);

}  // namespace dsl::detail::TYPENET_MODE

namespace dsl::TYPENET_MODE {

/// The largest square in the middle; where a pixel is over, it is left out on the right or below.
[[gnu::cold]] rgb_picture centre_square(rgb_picture const& p);

/// By a triangle filter, of the bytes as they are, rounded once. A picture that has the size already stays as it is.
/// Throws option_error for sizes below 1.
[[gnu::cold]] rgb_picture resized(rgb_picture const& p, int width, int height);

/// As networks take it: 3 planes of height x width floats, red first, the mean (of as many floats, or null) subtracted.
void to_planes(rgb_picture const& p, float const* mean, float* out);

}  // namespace dsl::TYPENET_MODE

#ifndef TYPENET_COMPILED
#include <dsl/pictures/resize_inl.hpp>
#endif
