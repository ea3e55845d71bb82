// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/pictures/rgb_picture.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace dsl::detail::TYPENET_MODE {

/// The pixels and weights from which a resized row is computed: pixel i from `count` pixels, beginning with first[i].
/// Their weights, which sum to 1, begin at weights[count * i]. Weights of pixels after the end of the row are 0.
struct resize_taps {
  int count = 0;
  std::vector<int> first;
  std::vector<float> weights;
};

/// A rectangle of an image.
struct picture_part {
  rgb_picture const* whole;
  int row, column, height, width;
};

/// Returns the taps of a triangle filter, two pixels of the smaller size wide: bilinear for enlarging, and averaging
/// all pixels for shrinking. It equals Pillow's BILINEAR and torchvision's with antialias.
resize_taps taps_for(int from, int to);
/// The numbers that sum_weighted computes at once. Compilers turn loops of a fixed size into vectors, even at -O2.
inline constexpr std::size_t row_room = 16;
/// Adds rows of `count` bytes, each multiplied by a weight, in the order of the rows. A row begins `stride` bytes
/// after the one before it. Writes `count` sums, followed by zeros up to a multiple of row_room. Each product and each
/// sum is rounded, whatever the compiler's flags.
void sum_weighted(float* to, std::uint8_t const* from, std::size_t stride, float const* weights, int rows,
                  std::size_t count);
/// Returns the square that centre_square cuts out.
picture_part centre_part(rgb_picture const& p);
/// Resizes a part of an image as resized() does, and calls put(i, colours) with the number of each pixel of the new
/// image and with its three colours, which are integers.
template <class Put>
void resize_part(picture_part const& part, int width, int height, Put put);
/// Resizes a part of an image as resized() does, and writes the result as to_planes does without a mean.
void resize_to_planes(picture_part const& part, int width, int height, float* out);

}  // namespace dsl::detail::TYPENET_MODE

namespace dsl::TYPENET_MODE {

/// Returns the largest square in the middle of an image. If an odd number of rows or columns is removed, one more is
/// removed at the bottom or on the right.
rgb_picture centre_square(rgb_picture const& p);

/// Resizes with a triangle filter on the sRGB bytes, rounding once. An image of that size is unchanged. Throws
/// option_error for sizes below 1.
rgb_picture resized(rgb_picture const& p, int width, int height);

/// Converts an image for a network: 3 planes of height x width floats, red first, minus the mean (as many floats, or
/// null).
void to_planes(rgb_picture const& p, float const* mean, float* out);

}  // namespace dsl::TYPENET_MODE

#ifdef TYPENET_DEFINITIONS
#include <dsl/pictures/resize_inl.hpp>
#endif
