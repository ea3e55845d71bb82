// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/message.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/error.hpp>
#include <dsl/executors/host/vector.hpp>
#include <dsl/pictures/resize.hpp>
#include <dsl/pictures/rgb_picture.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace dsl::detail::TYPENET_MODE {

TYPENET_INLINE resize_taps taps_for(int from, int to) {
  double const scale = static_cast<double>(from) / to;
  double const reach = scale > 1 ? scale : 1;
  auto const first = [=](int i) {
    int const pixel = static_cast<int>(std::floor((i + 0.5) * scale - reach + 0.5));
    return pixel < 0 ? 0 : pixel;
  };
  auto const end = [=](int i) {
    int const pixel = static_cast<int>(std::floor((i + 0.5) * scale + reach + 0.5));
    return pixel < from ? pixel : from;
  };
  resize_taps all;
  for (int i = 0; i < to; ++i)
    if (end(i) - first(i) > all.count) all.count = end(i) - first(i);
  all.weights.resize(static_cast<std::size_t>(to) * static_cast<std::size_t>(all.count));
  float* weights = all.weights.data();
  for (int i = 0; i < to; ++i, weights += all.count) {
    all.first.push_back(first(i));
    double sum = 0;
    for (int k = 0; k < end(i) - first(i); ++k) {
      double const weight = 1 - std::abs(first(i) + k + 0.5 - (i + 0.5) * scale) / reach;
      weights[k] = static_cast<float>(weight > 0 ? weight : 0);
      sum += static_cast<double>(weights[k]);
    }
    for (int k = 0; k < end(i) - first(i); ++k) weights[k] = static_cast<float>(static_cast<double>(weights[k]) / sum);
  }
  return all;
}

TYPENET_INLINE void sum_weighted(float* to, std::uint8_t const* from, std::size_t stride, float const* weights,
                                 int rows, std::size_t count) {
  auto const sum = [=](std::size_t j, std::size_t left) __attribute__((always_inline)) {
    host::vector<4>::type sums[4] = {}, weight, four[4];
    for (int k = 0; k < rows; ++k) {
      std::uint8_t bytes[row_room];
      if (left < row_room) std::memset(bytes, 0, sizeof bytes);
      std::memcpy(bytes, from + static_cast<std::size_t>(k) * stride + j, left);
      float numbers[row_room];
      for (std::size_t l = 0; l < row_room; ++l) numbers[l] = static_cast<float>(bytes[l]);
      std::memcpy(four, numbers, sizeof four);
      host::broadcast<4>(weight, weights + k);
      for (int l = 0; l < 4; ++l) {
        host::multiply<4>(four[l], weight, four[l]);
        sums[l] += four[l];
      }
    }
    std::memcpy(to + j, sums, sizeof sums);
  };
  std::size_t j = 0;
  for (; j + row_room <= count; j += row_room) sum(j, row_room);
  if (j < count) sum(j, count - j);
}

TYPENET_INLINE picture_part centre_part(rgb_picture const& p) {
  int const side = p.width < p.height ? p.width : p.height;
  return {&p, (p.height - side) / 2, (p.width - side) / 2, side, side};
}

template <class Put>
void resize_part(picture_part const& part, int width, int height, Put put) {
  resize_taps const columns = taps_for(part.width, width), rows = taps_for(part.height, height);
  std::size_t const count = 3 * static_cast<std::size_t>(part.width);
  // One row of the new height with the old width. Weights of 0 meet the zeros behind it, and a pixel is read as four.
  std::vector<float> row(count + 3 * static_cast<std::size_t>(columns.count) + row_room);
  host::vector<4>::type const most = {255, 255, 255, 255};
  std::size_t i = 0;
  float const* above = rows.weights.data();
  for (int const first : rows.first) {
    int needed = rows.count;
    while (needed > 1 && above[needed - 1] == 0) --needed;
    sum_weighted(row.data(), part.whole->at(part.row + first, part.column),
                 3 * static_cast<std::size_t>(part.whole->width), above, needed, count);
    above += rows.count;
    float const* beside = columns.weights.data();
    for (int const left : columns.first) {
      host::vector<4>::type sums = {0.5F, 0.5F, 0.5F, 0.5F}, weight, pixel;
      float const* from = row.data() + 3 * static_cast<std::size_t>(left);
      for (int k = 0; k < columns.count; ++k, from += 3) {
        host::load<4>(pixel, from);
        host::broadcast<4>(weight, beside++);
        host::multiply<4>(pixel, weight, pixel);
        sums += pixel;
      }
      sums = sums < most ? sums : most;
      host::vector<4>::ints const colours = __builtin_convertvector(sums, host::vector<4>::ints);
      put(i++, colours);
    }
  }
}

TYPENET_INLINE void resize_to_planes(picture_part const& part, int width, int height, float* out) {
  auto const area = static_cast<std::size_t>(width) * static_cast<std::size_t>(height);
  resize_part(part, width, height, [=](std::size_t i, host::vector<4>::ints const& colours) {
    for (int c = 0; c < 3; ++c) out[c * area + i] = static_cast<float>(colours[c]);
  });
}

}  // namespace dsl::detail::TYPENET_MODE

namespace dsl::TYPENET_MODE {

TYPENET_INLINE rgb_picture centre_square(rgb_picture const& p) {
  detail::picture_part const part = detail::centre_part(p);
  auto const row = 3 * static_cast<std::size_t>(part.width);
  rgb_picture square{part.width, part.height, std::vector<std::uint8_t>(row * static_cast<std::size_t>(part.height))};
  for (int i = 0; i < part.height; ++i)
    std::memcpy(square.pixels.data() + static_cast<std::size_t>(i) * row, p.at(part.row + i, part.column), row);
  return square;
}

TYPENET_INLINE rgb_picture resized(rgb_picture const& p, int width, int height) {
  if (width < 1 || height < 1 || width > most_pixels / height)
    throw option_error(detail::message(
        {"resized: an image must have 1 to 67,108,864 pixels; found ", width, " x ", height, "; choose another size"}));
  rgb_picture out{width, height,
                  std::vector<std::uint8_t>(3 * static_cast<std::size_t>(width) * static_cast<std::size_t>(height))};
  std::uint8_t* const bytes = out.pixels.data();
  detail::resize_part({&p, 0, 0, p.height, p.width}, width, height,
                      [=](std::size_t i, host::vector<4>::ints const& colours) {
                        for (int c = 0; c < 3; ++c) bytes[3 * i + c] = static_cast<std::uint8_t>(colours[c]);
                      });
  return out;
}

TYPENET_INLINE void to_planes(rgb_picture const& p, float const* mean, float* out) {
  std::size_t const area = p.pixels.size() / 3;
  for (int c = 0; c < 3; ++c)
    for (std::size_t i = 0; i < area; ++i) {
      std::size_t const at = c * area + i;
      out[at] = static_cast<float>(p.pixels[3 * i + c]) - (mean ? mean[at] : 0.0f);
    }
}

}  // namespace dsl::TYPENET_MODE
