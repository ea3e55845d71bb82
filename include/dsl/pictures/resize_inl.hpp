// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/message.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/error.hpp>
#include <dsl/pictures/resize.hpp>
#include <dsl/pictures/rgb_picture.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace dsl::detail::TYPENET_MODE {

TYPENET_INLINE std::vector<resize_taps> taps_for(int from, int to) {
  std::vector<resize_taps> all(static_cast<std::size_t>(to));
  double const scale = static_cast<double>(from) / to;
  double const reach = scale > 1 ? scale : 1;
  for (int i = 0; i < to; ++i) {
    double const centre = (i + 0.5) * scale;
    resize_taps& one = all[static_cast<std::size_t>(i)];
    int const first = static_cast<int>(std::floor(centre - reach + 0.5));
    int const end = static_cast<int>(std::floor(centre + reach + 0.5));
    one.first = first < 0 ? 0 : first;
    double sum = 0;
    for (int k = one.first; k < (end < from ? end : from); ++k) {
      double const weight = 1 - std::abs(k + 0.5 - centre) / reach;
      one.weights.push_back(static_cast<float>(weight > 0 ? weight : 0));
      sum += static_cast<double>(one.weights.back());
    }
    for (float& w : one.weights) w = static_cast<float>(static_cast<double>(w) / sum);
  }
  return all;
}

TYPENET_INLINE void add_weighted(float* to, std::uint8_t const* from, float weight, std::size_t count) {
  // Compilers turn copies of a fixed size into vectors, even at -O2; bytes at `from` might be those of `to`.
  constexpr std::size_t together = 16;
  std::uint8_t bytes[together];
  float sums[together];
  std::size_t j = 0;
  for (; j + together <= count; j += together) {
    std::memcpy(bytes, from + j, sizeof bytes), std::memcpy(sums, to + j, sizeof sums);
    for (std::size_t l = 0; l < together; ++l) sums[l] += weight * static_cast<float>(bytes[l]);
    std::memcpy(to + j, sums, sizeof sums);
  }
  for (; j < count; ++j) to[j] += weight * static_cast<float>(from[j]);
}

}  // namespace dsl::detail::TYPENET_MODE

namespace dsl::TYPENET_MODE {

TYPENET_INLINE rgb_picture centre_square(rgb_picture const& p) {
  int const side = p.width < p.height ? p.width : p.height;
  auto const row = 3 * static_cast<std::size_t>(side);
  rgb_picture square{side, side, std::vector<std::uint8_t>(row * static_cast<std::size_t>(side))};
  for (int i = 0; i < side; ++i)
    std::memcpy(square.pixels.data() + static_cast<std::size_t>(i) * row,
                p.at((p.height - side) / 2 + i, (p.width - side) / 2), row);
  return square;
}

TYPENET_INLINE rgb_picture resized(rgb_picture const& p, int width, int height) {
  if (width < 1 || height < 1 || width > most_pixels / height)
    throw option_error(detail::message({"resized: an image must have 1 pixel or more; found ", width, " x ", height}));
  auto const columns = detail::taps_for(p.width, width), rows = detail::taps_for(p.height, height);
  rgb_picture out{width, height,
                  std::vector<std::uint8_t>(3 * static_cast<std::size_t>(width) * static_cast<std::size_t>(height))};
  std::uint8_t* pixel = out.pixels.data();
  std::vector<float> row(3 * static_cast<std::size_t>(p.width));  // one row of the new height, with the old width
  for (detail::resize_taps const& above : rows) {
    for (float& x : row) x = 0;
    for (std::size_t k = 0; k < above.weights.size(); ++k)
      detail::add_weighted(row.data(), p.at(above.first + static_cast<int>(k), 0), above.weights[k], row.size());
    for (detail::resize_taps const& beside : columns)
      for (std::size_t c = 0; c < 3; ++c) {
        float sum = 0.5f;
        for (std::size_t k = 0; k < beside.weights.size(); ++k)
          sum += beside.weights[k] * row[3 * (static_cast<std::size_t>(beside.first) + k) + c];
        *pixel++ = static_cast<std::uint8_t>(sum < 255 ? sum : 255.0f);
      }
  }
  return out;
}

TYPENET_INLINE void to_planes(rgb_picture const& p, float const* mean, float* out) {
  std::size_t const area = p.pixels.size() / 3;
  for (std::size_t c = 0; c < 3; ++c)
    for (std::size_t i = 0; i < area; ++i) {
      std::size_t const at = c * area + i;
      out[at] = static_cast<float>(p.pixels[3 * i + c]) - (mean ? mean[at] : 0.0f);
    }
}

}  // namespace dsl::TYPENET_MODE
