// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/shape.hpp>

#include <cstddef>
#include <cstdint>

namespace dsl::TYPENET_MODE {

/// What stands between pixels: the nearest one, or a mean of the four around, weighted by how near they are.
enum class interpolation { nearest, bilinear };

/// What a place outside the picture has: its nearest edge; zero, which is the mean picture's colour, since the mean has
/// been subtracted by then; or the picture mirrored at its outermost pixels: ... c b | a b c | b a ...
enum class outside { edge, zero, mirror };

/// Rows top .. top+height-1 and columns left .. left+width-1 of a picture. What lies outside of it does not count.
struct rectangle {
  int top = 0;
  int left = 0;
  int height = 0;
  int width = 0;
  friend bool operator==(rectangle const&, rectangle const&) = default;
};

/// What happens to one picture in one epoch; plain numbers, drawn on the CPU or by a GPU kernel.
/// moved(i, j) = in(i + dy, j + dx); then, if flip, flipped(i, j) = moved(i, W-1 - j); then the hole becomes zero.
struct transform {
  float dy = 0;  // pixels
  float dx = 0;
  bool flip = false;
  dsl::interpolation interpolation = dsl::interpolation::nearest;
  dsl::outside outside = dsl::outside::edge;
  rectangle hole{};

  bool moves() const { return dy != 0 || dx != 0; }
  bool cuts() const { return hole.height > 0 && hole.width > 0; }
};

}  // namespace dsl::TYPENET_MODE

namespace dsl::detail::TYPENET_MODE {

inline int clamp_index(long long i, int size) { return i < 0 ? 0 : i < size ? static_cast<int>(i) : size - 1; }

/// Which of `size` pixels stands at place i; -1: none does. mirror: 5 of 4 -> 1, -2 -> 2.
int source_index(outside rule, long long i, int size);

/// One source position: value = low_share * in[low] + high_share * in[high], as scipy.ndimage's order 1; what does not
/// stand there has no share.
struct tap {
  int low, high;
  float low_share, high_share;
  void place(int i, float shift, int size, outside rule);
};

/// A sample's normalised numbers, by flat C*H*W index: (number - mean) / deviation, each of them where it is given.
struct pixel_source {
  std::uint8_t const* bytes = nullptr;
  float const* floats = nullptr;  // or these
  float const* mean = nullptr;
  float const* deviation = nullptr;
  float operator()(std::ptrdiff_t i) const;
  /// to[0], to[Step], ... become `count` numbers from i on.
  template <int Step>
  void copy(std::ptrdiff_t i, int count, float* to) const {
    if (deviation || (floats && mean))
      for (int j = 0; j < count; ++j) to[j * Step] = (*this)(i + j);
    else if (floats)
      for (int j = 0; j < count; ++j) to[j * Step] = floats[i + j];
    else if (mean)
      for (int j = 0; j < count; ++j) to[j * Step] = static_cast<float>(bytes[i + j]) - mean[i + j];
    else
      for (int j = 0; j < count; ++j) to[j * Step] = static_cast<float>(bytes[i + j]);
  }
};

/// A row of the output, from a row of the source or from none (row < 0), moved by dx; `step` is -1 where it is flipped.
void move_row(pixel_source const& pixel, std::ptrdiff_t row, int dx, outside rule, int w, float* first,
              std::ptrdiff_t step);

/// Bilinear: each row lies between two of the source, each pixel between two of each. Columns lie alike in every row.
void blend_picture(transform const& t, dsl::shape const& s, pixel_source const& pixel, float* out);

void cut(rectangle const& hole, dsl::shape const& s, float* out);

/// scipy's order 0 reads floor(i + dy + 0.5), halves up, so a nearest shift is whole: dy = -1.5 moves by -1. Clamped to
/// four times the picture's own size first, as in tap.
int whole_shift(float shift, double size);

void transform_picture(transform const& t, dsl::shape const& s, pixel_source const& pixel, float* out);

}  // namespace dsl::detail::TYPENET_MODE

namespace dsl::TYPENET_MODE {

/// out = the transformed (in - mean), C*H*W floats; mean may be null. The mean goes first: shifted pictures are shifted
/// *mean-subtracted* pictures, as in the recipe, so the mean moves with its picture.
/// {.dx = 1} on one row 1 2 3 -> 2 3 3; with flip -> 3 3 2; with outside::zero -> 2 3 0, outside::mirror -> 2 3 2.
void apply(transform const& t, std::uint8_t const* in, float const* mean, float* out, dsl::shape const& picture);

/// The same for a picture that is mean-subtracted already (the pipeline's cache): the same bits come out.
void apply(transform const& t, float const* in, float* out, dsl::shape const& picture);

}  // namespace dsl::TYPENET_MODE

#ifndef TYPENET_COMPILED
#include <dsl/data/transform_inl.hpp>
#endif
