// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/native/vector.hpp>
#include <dsl/graph/node.hpp>
#include <dsl/view.hpp>

#include <cstring>

namespace dsl::native_cpu::TYPENET_MODE {

/// A copy of a part of one image and of the pixels around it that a convolution reads: channel blocks of rows x columns
/// vectors, 0 outside of the image. With it, kernels need no bounds checks, and planes whose size is a power of two do
/// not compete for the same cache lines. Its rows follow each other on the image, or are bands of `band` rows, each for
/// one row of a kernel with a large dilation.
struct panel {
  int row = 0;  // of the image, where it begins; may be negative
  int column = 0;
  int rows = 0;
  int columns = 0;
  int band = 0;       // rows of a band; 0: there is only one
  int step = 1;       // on the image, from row to row of a band
  int next_band = 0;  // on the image, from band to band

  long long block(int lanes) const { return 1LL * rows * columns * lanes; }
  /// Returns the image's row that is row i of the panel.
  int row_at(int i) const { return band == 0 ? row + i : row + i / band * next_band + i % band * step; }
};

/// Copies a panel of image n, which has channel blocks of v.block.
inline void fill(panel const& p, view<float const> const& v, int n, float* to) {
  int const L = v.block, height = v.shape.height, width = v.shape.width;
  int const begin = p.column < 0 ? least(-p.column, p.columns) : 0, last = least(width - p.column, p.columns);
  int const end = last > begin ? last : begin;  // columns [begin, end) are inside
  auto const bytes = [L](int vectors) {
    return sizeof(float) * static_cast<unsigned>(vectors) * static_cast<unsigned>(L);
  };
  for (int b = 0; b < blocks_of(v.shape.channels, L); ++b) {
    float const* const from = v.data + (1LL * n * v.buffer_channels + v.channel + 1LL * b * L) * v.shape.area();
    for (int i = 0; i < p.rows; ++i, to += 1LL * p.columns * L) {
      int const row = p.row_at(i);
      if (row < 0 || row >= height) {
        std::memset(to, 0, bytes(p.columns));
        continue;
      }
      std::memset(to, 0, bytes(begin));
      std::memcpy(to + 1LL * begin * L, from + (1LL * row * width + p.column + begin) * L, bytes(end - begin));
      std::memset(to + 1LL * end * L, 0, bytes(p.columns - end));
    }
  }
}

/// Writes all numbers that an output pixel reads next to each other in `to`, for each pixel of rows [first, first +
/// rows). For an image with few channels and no blocks, (channel, kernel row, kernel column) become the channels of a
/// 1x1 convolution. Works row by row: vectors are written one number at a time, and those of one row stay in the cache.
inline void unroll(view<float const> const& v, int n, window const& w, int first, int rows, int columns, int lanes,
                   float* to) {
  int const area = w.height * w.width, all = v.shape.channels * area, width = v.shape.width;
  window_side const down = w.rows(), across = w.columns();
  int const stride = across.stride;
  for (int i = 0; i < rows; ++i)
    for (int k = 0; k < blocks_of(all, lanes) * lanes; ++k) {
      float* const at = to + (1LL * (k / lanes) * rows + i) * columns * lanes + k % lanes;
      int const row = (first + i) * down.stride - down.before + k % area / w.width * down.dilation;
      int const shift = k % w.width * across.dilation - across.before;
      int begin = 0, end = 0;  // the columns that read a number of the image
      if (k < all && row >= 0 && row < v.shape.height) {
        begin = shift < 0 ? least((-shift + stride - 1) / stride, columns) : 0;
        end = width > shift ? least((width - shift + stride - 1) / stride, columns) : 0;
        if (end < begin) end = begin;
      }
      for (int j = 0; j < begin; ++j) at[1LL * j * lanes] = 0;
      if (begin < end) {
        float const* const from = v.plane(n, k / area) + 1LL * row * width + shift;
        for (int j = begin; j < end; ++j) at[1LL * j * lanes] = from[1LL * j * stride];
      }
      for (int j = end; j < columns; ++j) at[1LL * j * lanes] = 0;
    }
}

}  // namespace dsl::native_cpu::TYPENET_MODE
