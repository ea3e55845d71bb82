// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/native/attention_products.hpp>

namespace dsl::native_cpu::TYPENET_MODE {

/// The heads of a step's tensors: copies their tokens into the layouts of the products' factors, and results back. A
/// head that has no whole channel blocks is copied number by number.
class attention_heads : public attention_products {
 public:
  using attention_products::attention_products;

  /// Reads and writes the tokens of a window from now on: token i is pixel pixels[i].
  void look_at(int const* pixels) { pixels_ = pixels; }
  /// Returns the floats that a copy of tokens takes if the head does not consist of whole blocks.
  long long copied() const { return 1LL * (block_keys > most_queries() ? block_keys : most_queries()) * padded(); }
  /// Reads tokens as rows of padded() floats, times a factor. `part` is 0 for queries, 1 for keys, 2 for values, and 0
  /// for the output's gradient. `spare` has copied() floats.
  void read(view<float const> const& v, int n, int head, int part, int first, int count, float factor, float* to,
            float* spare) const {
    head_call c = at(v, n, head, part, first, count, spare);
    c.rows = to, c.row = padded(), c.factor = factor;
    kernels_.read_head(c);
  }
  /// Packs keys or values so that each token is a column: the second factor of a product whose first factor has tokens
  /// as rows.
  void pack_columns(view<float const> const& v, int n, int head, int part, int blocks, float* to, float* spare) const {
    for (int b = 0; b < blocks; ++b) {
      int const all = key_vectors(b);
      for (int t = 0; t < column_tiles(all); ++t) {
        column_tile const tile = column_tile_at(t, all);
        int const first = tile.first * lanes(), width = tile.vectors * lanes();
        head_call c = at(v, n, head, part, b * block_keys + first, least(width, keys(b) - first), spare);
        c.rows = to + packed_block(b) + 1LL * first * padded(), c.row = width;
        kernels_.turn_head(c);
      }
    }
  }
  /// Packs keys or values with tokens as rows, as the second factor of a product with weights. A block's last rows are
  /// 0.
  void pack_rows(view<float const> const& v, int n, int head, int part, int blocks, float* to, float* spare) const {
    int const L = lanes();
    for (int b = 0; b < blocks; ++b) {
      int const rows = key_vectors(b) * L;
      head_call c = at(v, n, head, part, b * block_keys, keys(b), spare);
      for (int t = 0; t < column_tiles(vectors_); ++t) {
        column_tile const tile = column_tile_at(t, vectors_);
        head_call one = c;
        one.blocks += tile.first * c.apart, one.count = tile.vectors, one.row = 1LL * tile.vectors * L;
        one.rows = to + packed_block(b) + 1LL * tile.first * L * rows;
        kernels_.read_head(one);
        for (long long i = keys(b) * one.row; i < rows * one.row; ++i) one.rows[i] = 0;
      }
    }
  }
  /// Writes rows of padded() floats to tokens, times a factor or one of each token.
  void write(float const* rows, view<float> const& v, int n, int head, int part, int first, int count,
             float const* factors, float factor, bool accumulate, float* spare) const {
    int const channel = part * channels_ + head * width_;
    bool const direct = in_place(v, channel);
    head_call c{
        .blocks = spare, .apart = 1LL * count * lanes(), .count = vectors_, .tokens = count, .rows = nullptr, .row = 0};
    if (direct) c.blocks = address(v, n, channel, first), c.apart = v.shape.area() * lanes(), c.pixels = from(first);
    c.rows = const_cast<float*>(rows), c.row = padded();
    c.factors = factors, c.factor = factor, c.accumulate = accumulate && direct;
    kernels_.write_head(c);
    for (int i = 0; !direct && i < width_; ++i) {
      auto const to = v.pixels(n, channel + i);
      float const* const made = spare + i / lanes() * c.apart + i % lanes();
      for (int t = 0; t < count; ++t) {
        float const x = made[1LL * t * lanes()];
        float& y = to[pixel(first + t)];
        y = accumulate ? y + x : x;
      }
    }
  }

 private:
  int pixel(int token) const { return pixels_ ? pixels_[token] : token; }
  int const* from(int token) const { return pixels_ ? pixels_ + token : nullptr; }
  bool in_place(auto const& v, int channel) const {
    return v.block == lanes() && (v.channel + channel) % lanes() == 0 && width_ % lanes() == 0;
  }
  template <class T>
  T* address(view<T> const& v, int n, int channel, int first) const {
    return sample_of(v, n) + channel * v.shape.area() + (pixels_ ? 0LL : 1LL * first * lanes());
  }
  /// Returns where tokens are, or copies them to `spare` if their head has no whole blocks.
  head_call at(view<float const> const& v, int n, int head, int part, int first, int count, float* spare) const {
    int const channel = part * channels_ + head * width_;
    head_call c{
        .blocks = spare, .apart = 1LL * count * lanes(), .count = vectors_, .tokens = count, .rows = nullptr, .row = 0};
    if (in_place(v, channel)) {
      c.blocks = const_cast<float*>(address(v, n, channel, first));  // only read
      c.apart = v.shape.area() * lanes(), c.pixels = from(first);
      return c;
    }
    for (int i = 0; i < padded(); ++i) {
      float* const to = spare + i / lanes() * c.apart + i % lanes();
      if (i >= width_) {
        for (int t = 0; t < count; ++t) to[1LL * t * lanes()] = 0;
        continue;
      }
      auto const given = v.pixels(n, channel + i);
      for (int t = 0; t < count; ++t) to[1LL * t * lanes()] = given[pixel(first + t)];
    }
    return c;
  }

  int const* pixels_ = nullptr;  // of the window's tokens; null: all pixels are tokens
};

}  // namespace dsl::native_cpu::TYPENET_MODE
