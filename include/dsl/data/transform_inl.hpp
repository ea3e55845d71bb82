// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/data/transform.hpp>
#include <dsl/detail/math.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/shape.hpp>

#include <cstddef>
#include <cstdint>

namespace dsl::detail::TYPENET_MODE {

[[gnu::noinline]] TYPENET_INLINE int source_index(outside rule, long long i, int size) {
  if (i >= 0 && i < size) return static_cast<int>(i);
  if (rule == outside::edge || (rule == outside::mirror && size == 1)) return clamp_index(i, size);
  if (rule == outside::zero) return -1;
  long long const period = 2LL * (size - 1);
  long long const at = (i % period + period) % period;
  return static_cast<int>(at < size ? at : period - at);
}

[[gnu::noinline]] TYPENET_INLINE void tap::place(int i, float shift, int size, outside rule) {
  double const wanted = static_cast<double>(i) + double{shift};
  auto const limit = static_cast<double>(size);
  if (rule == outside::edge) {
    double const at = detail::fmin(detail::fmax(wanted, 0.0), limit - 1);
    low = static_cast<int>(at);
    high = clamp_index(low + 1LL, size);
    high_share = static_cast<float>(at - static_cast<double>(low));
    low_share = 1 - high_share;
    return;
  }
  // Larger shifts give the same result or, with outside::mirror, no meaningful one.
  double const at = detail::fmin(detail::fmax(wanted, -4 * limit), 4 * limit);
  double const below = detail::floor(at);
  low = source_index(rule, static_cast<long long>(below), size);
  high = source_index(rule, static_cast<long long>(below) + 1, size);
  high_share = static_cast<float>(at - below);
  low_share = 1 - high_share;
  if (low < 0) low = 0, low_share = 0;
  if (high < 0) high = 0, high_share = 0;
}

TYPENET_INLINE float pixel_source::operator()(std::ptrdiff_t i) const {
  float const number = floats ? floats[i] : static_cast<float>(bytes[i]);
  float const centred = mean ? number - mean[i] : number;
  return deviation ? centred / deviation[i] : centred;
}

TYPENET_INLINE void move_row(pixel_source const& pixel, std::ptrdiff_t row, int dx, outside rule, int w, float* first,
                             std::ptrdiff_t step) {
  // Columns from .. to-1 read inside the row, the others outside.
  int const from = row < 0 || dx < -w ? w : dx < 0 ? -dx : 0;
  int const to = row < 0 ? w : dx > w ? 0 : dx > 0 ? w - dx : w;
  if (from < to)
    step > 0 ? pixel.copy<1>(row + from + dx, to - from, first + from)
             : pixel.copy<-1>(row + from + dx, to - from, first - from);
  bool const fills = rule != outside::mirror || row < 0;
  bool const black = rule == outside::zero || row < 0;
  for (int side = 0; side < 2; ++side) {
    int const begin = side == 0 ? 0 : to, end = side == 0 ? from : w;
    if (begin >= end) continue;
    float const fill = black ? 0.0f : pixel(row + (side == 0 ? 0 : w - 1));
    for (int j = begin; j < end; ++j)
      first[j * step] = fills ? fill : pixel(row + source_index(rule, static_cast<long long>(j) + dx, w));
  }
}

TYPENET_INLINE void blend_picture(transform const& t, dsl::shape const& s, pixel_source const& pixel, float* out) {
  constexpr int most = 64;
  tap columns[most];
  for (int begin = 0; begin < s.width; begin += most) {
    int const count = s.width - begin < most ? s.width - begin : most;
    for (int j = 0; j < count; ++j) columns[j].place(begin + j, t.dx, s.width, t.outside);
    for (int c = 0; c < s.channels; ++c)
      for (int i = 0; i < s.height; ++i) {
        tap y;
        y.place(i, t.dy, s.height, t.outside);
        std::ptrdiff_t const plane = std::ptrdiff_t{c} * s.height;
        auto const at = [&](int row, int column) { return pixel((plane + row) * s.width + column); };
        float* const row = out + (plane + i) * s.width;
        for (int j = 0; j < count; ++j) {
          tap const& x = columns[j];
          float const above = at(y.low, x.low) * x.low_share + at(y.low, x.high) * x.high_share;
          float const below = at(y.high, x.low) * x.low_share + at(y.high, x.high) * x.high_share;
          row[t.flip ? s.width - 1 - begin - j : begin + j] = above * y.low_share + below * y.high_share;
        }
      }
  }
}

TYPENET_INLINE void cut(rectangle const& hole, dsl::shape const& s, float* out) {
  auto const within = [](long long at, int size) {
    return static_cast<int>(at < 0 ? 0 : at < size ? at : static_cast<long long>(size));
  };
  int const top = within(hole.top, s.height), bottom = within(static_cast<long long>(hole.top) + hole.height, s.height);
  int const left = within(hole.left, s.width), right = within(static_cast<long long>(hole.left) + hole.width, s.width);
  for (int c = 0; c < s.channels; ++c)
    for (int i = top; i < bottom; ++i)
      for (int j = left; j < right; ++j) out[(std::ptrdiff_t{c} * s.height + i) * s.width + j] = 0;
}

[[gnu::noinline]] TYPENET_INLINE int whole_shift(float shift, double size) {
  return static_cast<int>(detail::fmin(detail::fmax(detail::floor(double{shift} + 0.5), -4 * size), 4 * size));
}

[[gnu::noinline]] TYPENET_INLINE void transform_picture(transform const& t, dsl::shape const& s,
                                                        pixel_source const& pixel, float* out) {
  int const w = s.width;
  int const dy = whole_shift(t.dy, s.height);
  int const dx = whole_shift(t.dx, w);
  float* row = out;
  if (t.interpolation == interpolation::bilinear)
    blend_picture(t, s, pixel, out);
  else
    for (int c = 0; c < s.channels; ++c)
      for (int i = 0; i < s.height; ++i, row += w) {
        int const source = source_index(t.outside, static_cast<long long>(i) + dy, s.height);
        std::ptrdiff_t const from = source < 0 ? -1 : (std::ptrdiff_t{c} * s.height + source) * w;
        move_row(pixel, from, dx, t.outside, w, t.flip ? row + w - 1 : row, t.flip ? -1 : 1);
      }
  if (t.cuts()) cut(t.hole, s, out);
}

TYPENET_INLINE void transform_labels(transform const& t, dsl::shape const& s, std::int32_t const* labels,
                                     std::int32_t* out) {
  int const w = s.width;
  int const dy = whole_shift(t.dy, s.height);
  int const dx = whole_shift(t.dx, w);
  for (int i = 0; i < s.height; ++i) {
    int const row = source_index(t.outside, static_cast<long long>(i) + dy, s.height);
    for (int j = 0; j < w; ++j) {
      int const column = source_index(t.outside, static_cast<long long>(j) + dx, w);
      std::ptrdiff_t const to = std::ptrdiff_t{i} * w + (t.flip ? w - 1 - j : j);
      out[to] = row < 0 || column < 0 ? -1 : labels[std::ptrdiff_t{row} * w + column];
    }
  }
}

}  // namespace dsl::detail::TYPENET_MODE

namespace dsl::TYPENET_MODE {

TYPENET_INLINE void apply(transform const& t, std::uint8_t const* in, float const* mean, float* out,
                          dsl::shape const& picture) {
  detail::transform_picture(t, picture, {.bytes = in, .mean = mean}, out);
}

TYPENET_INLINE void apply(transform const& t, float const* in, float* out, dsl::shape const& picture) {
  detail::transform_picture(t, picture, {.floats = in}, out);
}

}  // namespace dsl::TYPENET_MODE
