// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/native/convolution_pass.hpp>
#include <dsl/executors/native/kernels.hpp>
#include <dsl/executors/native/panel.hpp>
#include <dsl/view.hpp>

namespace dsl::native_cpu::TYPENET_MODE {

/// A 3x3 convolution of stride 1, always described as its forward pass.
struct convolution3x3 {
  int batch = 0;
  shape in{};
  shape out{};
  int top = 0;  // padding
  int left = 0;
};

inline tiled_tensor tiled(view<float const> const& v) {
  long long const area = v.shape.area();
  return {const_cast<float*>(v.data) + v.channel * area, v.buffer_channels * area, v.shape.height, v.shape.width,
          blocks_of(v.shape.channels, v.block)};
}

/// The common part of the passes of F(4x4, 3x3): 36 matrix products, one for each place of a transformed tile. There
/// are 64 bytes between consecutive matrices, so that matrices whose size is a power of two do not compete for the same
/// cache lines.
class winograd_tiles {
 public:
  winograd_tiles(kernels const& k, int batch, int in, int out, shape const& output)
      : kernels_(k),
        in_(blocks_of(in, k.lanes)),
        out_(blocks_of(out, k.lanes)),
        rows_((output.height + step - 1) / step),
        columns_((output.width + step - 1) / step),
        all_(batch * rows_ * columns_) {}

 protected:
  static constexpr int step = f43::matrices.outputs;
  static constexpr int taps = 9;  // places of a kernel
  static constexpr int size = f43::matrices.products;
  static constexpr int products = size * size;

  static long long apart(long long floats) { return floats + 16; }
  /// Returns the tiles [first, first + count), where an image's first tile begins `top` rows above it and `left`
  /// columns to its left.
  tile_range range(int first, int count, int top, int left) const {
    return {first, count, rows_, columns_, step, top, left};
  }
  /// Computes `count` rows of a product for one tile of columns. `c` describes the first of them; its start is the same
  /// for all rows, or C itself.
  void multiply(product_call c, int vectors, int count) const {
    for (int row = 0; row < count;) {
      int const rows = next_rows(count - row, kernels_.rows[vectors]);
      if (c.start_row != 0) c.start = c.c;
      kernels_.product[vectors][rows](c);
      c.a += rows * c.a_row, c.c += rows * c.c_row, row += rows;
    }
  }
  /// Copies the kernels (out, in, 3, 3) of one input and of the outputs from `column` on to a vector for each place.
  /// `turned` selects the kernels of the data gradient, which exchange inputs and outputs and have their rows and
  /// columns in reverse order.
  void read_kernels(float const* kernels, shape const& in, shape const& out, bool turned, int input, int column,
                    float* to) const {
    int const inputs = turned ? out.channels : in.channels, outputs = turned ? in.channels : out.channels;
    for (int l = 0; l < kernels_.lanes; ++l) {
      int const o = column + l;
      bool const there = input < inputs && o < outputs;  // false for the unused lanes of a block
      float const* const from =
          kernels + (turned ? 1LL * input * in.channels + o : 1LL * o * in.channels + input) * taps;
      for (int i = 0; i < taps; ++i) to[i * kernels_.lanes + l] = there ? from[turned ? taps - 1 - i : i] : 0.0F;
    }
  }

  kernels const& kernels_;
  int in_;  // channel blocks
  int out_;
  int rows_;  // tiles of an image
  int columns_;
  int all_;  // tiles of the batch
};

/// The forward pass of a 3x3 convolution or, with `turned` kernels, its data gradient. Items are blocks of tiles, which
/// are divided further into groups of output channels if there are few. The bits of a number depend on neither.
class winograd_forward final : public convolution_pass, winograd_tiles {
 public:
  /// `turned` selects the data gradient, which reads dy and writes dx.
  winograd_forward(kernels const& k, convolution3x3 const& c, bool turned, int threads)
      : winograd_tiles(k, c.batch, turned ? c.out.channels : c.in.channels, turned ? c.in.channels : c.out.channels,
                       turned ? c.in : c.out),
        shape_(c),
        turned_(turned) {
    int const fit = static_cast<int>((768 << 10) / (4LL * products * (in_ + out_) * k.lanes));
    int const rows = k.rows[2];
    tiles_ = (fit < 24 ? 24 : fit > 96 ? 96 : fit) / rows * rows;
    tiles_ = least(tiles_, all_);
    blocks_ = (all_ + tiles_ - 1) / tiles_;
    groups_ = output_groups(blocks_, column_tiles(out_), threads, true);
  }

  long long packed() const override { return products * apart(matrix()); }
  long long scratch() const override {
    return products * (apart(1LL * tiles_ * in_ * lanes()) + apart(1LL * tiles_ * out_ * lanes()));
  }

  int pack_items() const override { return in_ * lanes(); }
  /// Packs the part of one input channel.
  void pack(int item, float const* kernels, float* to) const override {
    float w[most_vectors * taps * 16];
    for (int i = 0; i < column_tiles(out_); ++i) {
      column_tile const t = column_tile_at(i, out_);
      for (int v = 0; v < t.vectors; ++v)
        read_kernels(kernels, shape_.in, shape_.out, turned_, item, (t.first + v) * lanes(), w + v * taps * lanes());
      long long const at = 1LL * t.first * lanes() * in_ * lanes() + 1LL * item * t.vectors * lanes();
      kernels_.kernels_in({w, to + at, apart(matrix()), t.vectors});
    }
  }

  int items() const override { return blocks_ * groups_; }
  int records() const override { return blocks_; }
  long long moments() const override { return 2LL * blocks_ * out_ * lanes(); }
  void run(int item, view<float const> const& x, float const* packed, float const* bias, view<float> const& y,
           bool accumulate, bool relu, float* scratch, double* moments) const override {
    int const first = item / groups_ * tiles_, count = least(all_ - first, tiles_);
    share const mine(column_tiles(out_), item % groups_, groups_);
    int const L = lanes();
    transformed_tiles const v{scratch, apart(1LL * tiles_ * in_ * L), count};
    transformed_tiles const m{scratch + products * v.product, apart(1LL * tiles_ * out_ * L), count};
    int const top = turned_ ? 2 - shape_.top : shape_.top, left = turned_ ? 2 - shape_.left : shape_.left;
    kernels_.tiles_in({tiled(x), range(first, count, top, left), v});
    static constexpr float zeros[most_vectors * 16] = {};
    long long const tap = 0;
    for (int p = 0; p < products; ++p)
      for (int i = mine.begin; i < mine.end; ++i) {
        column_tile const t = column_tile_at(i, out_);
        multiply({.a = v.data + p * v.product,
                  .a_row = L,
                  .a_block = 1LL * count * L,
                  .taps = &tap,
                  .tap_count = 1,
                  .blocks = in_,
                  .b = packed + p * apart(matrix()) + 1LL * t.first * L * in_ * L,
                  .start = zeros,
                  .start_row = 0,
                  .start_vector = L,
                  .c = m.data + p * m.product + 1LL * t.first * count * L,
                  .c_row = L,
                  .c_vector = 1LL * count * L,
                  .relu = false},
                 t.vectors, count);
      }
    tiled_tensor to = tiled({y.data, y.shape, y.batch, y.block, y.buffer_channels, y.channel});
    column_tile const last = column_tile_at(mine.end - 1, out_);
    long long const before = 2LL * mine.begin * L;
    to.data += before * y.shape.area();
    to.blocks = last.first + last.vectors - 2 * mine.begin;
    transformed_tiles const made{m.data + before * count, m.product, count};
    if (moments) {
      moments += 2LL * (item / groups_) * out_ * L + 2 * before;
      for (long long i = 0; i < 2LL * to.blocks * L; ++i) moments[i] = 0;
    }
    kernels_.tiles_out(
        {made, to, range(first, count, 0, 0), bias ? bias + before : nullptr, accumulate, relu, moments});
  }

 private:
  int lanes() const { return kernels_.lanes; }
  long long matrix() const { return 1LL * in_ * lanes() * out_ * lanes(); }

  convolution3x3 shape_;
  bool turned_;
  int tiles_;   // of a block
  int blocks_;  // of tiles
  int groups_;  // of output channels
};

/// The gradient of a 3x3 convolution's kernel. The tiles of the batch are divided into parts, and the sums of the parts
/// are added in order. The number of parts does not depend on the number of threads, so neither do the bits.
class winograd_weights final : public convolution_weights, winograd_tiles {
 public:
  winograd_weights(kernels const& k, convolution3x3 const& c, int threads)
      : winograd_tiles(k, c.batch, c.in.channels, c.out.channels, c.out), shape_(c) {
    constexpr long long most_bytes = 16LL << 20;
    long long const fit = most_bytes / (4 * products * apart(matrix()));
    tiles_ = least(all_, 64);
    parts_ = least(fit < 1 ? 1 : fit < 4 ? static_cast<int>(fit) : 4, (all_ + tiles_ - 1) / tiles_);
    groups_ = least((threads + parts_ - 1) / parts_, out_);
  }

  long long sums() const override { return parts_ * part(); }
  long long scratch() const override {
    return products * (apart(1LL * tiles_ * in_ * lanes()) + apart(1LL * tiles_ * out_ * lanes()));
  }

  int items() const override { return parts_ * groups_; }
  void run(int item, view<float const> const& x, view<float const> const& dy, float* sums,
           float* scratch) const override {
    int const L = lanes(), q = item / groups_;
    share const columns(out_, item % groups_, groups_), tiles(all_, q, parts_);
    tiled_tensor gradient = tiled(dy);
    gradient.data += 1LL * columns.begin * L * dy.shape.area();
    gradient.blocks = columns.end - columns.begin;
    for (int first = tiles.begin; first < tiles.end; first += tiles_) {
      int const count = least(tiles.end - first, tiles_);
      transformed_tiles const v{scratch, apart(1LL * tiles_ * in_ * L), count};
      transformed_tiles const g{scratch + products * v.product, apart(1LL * tiles_ * out_ * L), count};
      kernels_.tiles_in({tiled(x), range(first, count, shape_.top, shape_.left), v});
      kernels_.gradients_in({gradient, range(first, count, 0, 0), g});
      for (int p = 0; p < products; ++p)
        for (int k = 0; k < in_ * L; k += kernels_.outer_rows)
          for (int column = columns.begin; column < columns.end;) {
            int const vectors = next_outer_vectors(columns.end - column);
            kernels_.outer_product[vectors](
                {.a = v.data + p * v.product + 1LL * (k / L) * count * L + k % L,
                 .a_line = 0,
                 .a_step = L,
                 .b = g.data + p * g.product + 1LL * (column - columns.begin) * count * L,
                 .b_line = 0,
                 .b_step = L,
                 .b_vector = 1LL * count * L,
                 .lines = 1,
                 .steps = count,
                 .c = sums + q * part() + p * apart(matrix()) + (1LL * k * out_ + column) * L,
                 .c_row = 1LL * out_ * L,
                 .fresh = first == tiles.begin});
            column += vectors;
          }
    }
  }

  int finish_items() const override { return shape_.in.channels; }
  /// Writes the gradient of one input channel.
  void finish(int item, float const* sums, float* gradient) const override {
    int const L = lanes(), in = shape_.in.channels, out = shape_.out.channels;
    for (int o = 0; o < out; o += L)
      kernels_.kernels_out({sums + 1LL * item * out_ * L + o, apart(matrix()), part(), parts_,
                            gradient + (1LL * o * in + item) * 9, 9LL * in, out - o < L ? out - o : L});
  }

 private:
  int lanes() const { return kernels_.lanes; }
  long long matrix() const { return 1LL * in_ * lanes() * out_ * lanes(); }
  long long part() const { return products * apart(matrix()); }

  convolution3x3 shape_;
  int tiles_;   // of a block
  int parts_;   // of the batch's tiles
  int groups_;  // of output channels
};

}  // namespace dsl::native_cpu::TYPENET_MODE
