// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/interpolation.hpp>
#include <dsl/shape.hpp>

#include <cstddef>
#include <cstdint>

namespace dsl::TYPENET_MODE {

/// The values of pixels outside an image. `edge` uses the nearest edge pixel. `zero` uses zero, which is the colour of
/// the mean image, since the mean has been subtracted before. `mirror` mirrors the image at its outermost pixels:
///   ... c b | a b c | b a ...
enum class outside { edge, zero, mirror };

/// The rows top .. top+height-1 and columns left .. left+width-1 of an image. Parts of the rectangle that are outside
/// the image are ignored.
struct rectangle {
  int top = 0;
  int left = 0;
  int height = 0;
  int width = 0;
  friend bool operator==(rectangle const&, rectangle const&) = default;
};

/// The changes to one image in one epoch, as plain numbers that the CPU or a GPU kernel draws: moved(i, j) = in(i +
/// dy, j + dx); then, if flip, flipped(i, j) = moved(i, W-1 - j); then the hole becomes zero.
struct transform {
  float dy = 0;  // pixels
  float dx = 0;
  bool flip = false;
  dsl::interpolation interpolation = dsl::interpolation::nearest;
  dsl::outside outside = dsl::outside::edge;
  rectangle hole{};

  /// Return whether the transform shifts the image, and whether it cuts a hole into it.
  bool moves() const { return dy != 0 || dx != 0; }
  bool cuts() const { return hole.height > 0 && hole.width > 0; }
};

}  // namespace dsl::TYPENET_MODE

namespace dsl::detail::TYPENET_MODE {

inline int clamp_index(long long i, int size) { return i < 0 ? 0 : i < size ? static_cast<int>(i) : size - 1; }

/// Returns which of `size` pixels is used for position i, or -1 if none is. With mirror and 4 pixels, position 5 gives
/// pixel 1, and position -2 gives pixel 2.
int source_index(outside rule, long long i, int size);

/// The two source pixels of one position: value = low_share * in[low] + high_share * in[high], as in scipy.ndimage's
/// order 1. A pixel outside the image has the share 0.
struct tap {
  int low, high;
  float low_share, high_share;
  void place(int i, float shift, int size, outside rule);
};

/// The normalised numbers of a sample, by flat C*H*W index: (number - mean) / deviation, where a mean or deviation that
/// is not given is left out.
struct pixel_source {
  std::uint8_t const* bytes = nullptr;
  float const* floats = nullptr;  // alternative to bytes
  float const* mean = nullptr;
  float const* deviation = nullptr;
  float operator()(std::ptrdiff_t i) const;
  /// Copies `count` numbers, beginning with number i, to to[0], to[Step], ...
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

/// Writes a row of the output from a row of the source, moved by dx pixels; there is no source row if row < 0. A `step`
/// of -1 flips the row.
void move_row(pixel_source const& pixel, std::ptrdiff_t row, int dx, outside rule, int w, float* first,
              std::ptrdiff_t step);

/// Interpolates bilinearly: each output row from two source rows, and each of its pixels from two pixels of either row.
/// The two columns of a pixel are the same in every row.
void blend_picture(transform const& t, dsl::shape const& s, pixel_source const& pixel, float* out);

void cut(rectangle const& hole, dsl::shape const& s, float* out);

/// Rounds a shift for nearest interpolation. scipy's order 0 reads pixel floor(i + dy + 0.5), which rounds halves up,
/// so dy = -1.5 moves by -1. Before rounding, the shift is clamped to four times the image's size, as in tap.
int whole_shift(float shift, double size);

void transform_picture(transform const& t, dsl::shape const& s, pixel_source const& pixel, float* out);

/// Moves the height x width labels of an image by whole pixels in the same way as the image. Pixels filled by
/// outside::zero have no class, which is label -1; a hole does not change labels.
void transform_labels(transform const& t, dsl::shape const& s, std::int32_t const* labels, std::int32_t* out);

}  // namespace dsl::detail::TYPENET_MODE

namespace dsl::TYPENET_MODE {

/// Writes out = the transformed (in - mean), C*H*W floats; mean may be null. The mean is subtracted first, as in the
/// recipe, so it moves with its image.
/// {.dx = 1} on one row 1 2 3 -> 2 3 3; with flip -> 3 3 2; with outside::zero -> 2 3 0, outside::mirror -> 2 3 2.
void apply(transform const& t, std::uint8_t const* in, float const* mean, float* out, dsl::shape const& picture);

/// Writes the transformed image, for an image from which the mean has already been subtracted (in the pipeline's
/// cache). The bits are those of the other apply().
void apply(transform const& t, float const* in, float* out, dsl::shape const& picture);

}  // namespace dsl::TYPENET_MODE

#ifdef TYPENET_DEFINITIONS
#include <dsl/data/transform_inl.hpp>
#endif
