// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/native/convolution_pass.hpp>
#include <dsl/executors/native/kernels.hpp>
#include <dsl/executors/native/winograd.hpp>
#include <dsl/view.hpp>

namespace dsl::native_cpu::TYPENET_MODE {

/// The pass of winograd_forward for a batch with few tiles, with the same bits. Such a batch uses each number of the
/// kernel so seldom that reading a transformed kernel from memory takes longer than transforming it: the transformed
/// kernel is four times as large. Each run therefore transforms the kernel for some input channels at a time, which
/// stay in the cache. Items are groups of output channels.
class winograd_small final : public convolution_pass, winograd_tiles {
 public:
  /// Returns whether a batch with this output has few tiles.
  static bool suits(int batch, shape const& output) {
    constexpr int most_tiles = 20;  // winograd_forward has them in one block, so that moments have the same bits, too
    return 1LL * batch * ((output.height + step - 1) / step) * ((output.width + step - 1) / step) <= most_tiles;
  }

  /// `turned` selects the data gradient, which reads dy and writes dx.
  winograd_small(kernels const& k, convolution3x3 const& c, bool turned, int threads)
      : winograd_tiles(k, c.batch, turned ? c.out.channels : c.in.channels, turned ? c.in.channels : c.out.channels,
                       turned ? c.in : c.out),
        shape_(c),
        turned_(turned),
        groups_(output_groups(1, column_tiles(out_), threads, true)) {
    int const fit = (80 << 10) / (4 * products * 2 * k.lanes * k.lanes);
    chunk_ = least(fit < 1 ? 1 : fit, in_);
  }

  long long packed() const override { return 1LL * taps * in_ * lanes() * out_ * lanes(); }
  long long scratch() const override {
    return products * (input_distance() + kernel_distance(most_vectors) + product_distance(most_vectors));
  }

  int pack_items() const override { return in_ * lanes(); }
  /// Copies the part of one input channel, so that a vector has the same place of the kernel for several outputs.
  void pack(int item, float const* kernels, float* to) const override {
    for (int i = 0; i < column_tiles(out_); ++i) {
      column_tile const t = column_tile_at(i, out_);
      for (int v = 0; v < t.vectors; ++v)
        read_kernels(kernels, shape_.in, shape_.out, turned_, item, (t.first + v) * lanes(),
                     to + at(t, item) + taps * v * lanes());
    }
  }

  int items() const override { return groups_; }
  int records() const override { return 1; }
  long long moments() const override { return 2LL * out_ * lanes(); }
  void run(int item, view<float const> const& x, float const* packed, float const* bias, view<float> const& y,
           bool accumulate, bool relu, float* scratch, double* moments) const override {
    int const L = lanes();
    share const mine(column_tiles(out_), item, groups_);
    transformed_tiles const v{scratch, input_distance(), all_};
    int const top = turned_ ? 2 - shape_.top : shape_.top, left = turned_ ? 2 - shape_.left : shape_.left;
    kernels_.tiles_in({tiled(x), range(0, all_, top, left), v});
    float* const kernel = scratch + products * v.product;
    for (int i = mine.begin; i < mine.end; ++i) {
      column_tile const t = column_tile_at(i, out_);
      transformed_tiles const m{kernel + products * kernel_distance(t.vectors), product_distance(t.vectors), all_};
      for (int first = 0; first < in_; first += chunk_) {
        int const blocks = least(in_ - first, chunk_);
        kernels_.kernels_in({packed + at(t, first * L), kernel, kernel_distance(t.vectors), blocks * L * t.vectors});
        multiply(v, first, blocks, kernel, t.vectors, m);
      }
      tiled_tensor to = tiled({y.data, y.shape, y.batch, y.block, y.buffer_channels, y.channel});
      to.data += 1LL * t.first * L * y.shape.area();
      to.blocks = t.vectors;
      double* const sums = moments ? moments + 2LL * t.first * L : nullptr;
      for (int l = 0; sums && l < 2 * t.vectors * L; ++l) sums[l] = 0;
      kernels_.tiles_out({m, to, range(0, all_, 0, 0), bias ? bias + t.first * L : nullptr, accumulate, relu, sums});
    }
  }

 private:
  int lanes() const { return kernels_.lanes; }
  /// Returns where the part of an input channel begins in a packed kernel, for one tile of columns.
  long long at(column_tile const& t, int input) const {
    return 1LL * taps * lanes() * (1LL * t.first * in_ * lanes() + 1LL * input * t.vectors);
  }
  // The distances between consecutive matrices of transformed inputs, of a part of the kernel, and of products.
  long long input_distance() const { return apart(1LL * all_ * in_ * lanes()); }
  long long kernel_distance(int vectors) const { return apart(1LL * chunk_ * lanes() * vectors * lanes()); }
  long long product_distance(int vectors) const { return apart(1LL * all_ * vectors * lanes()); }

  /// Adds the products of some blocks of input channels to the sums of the earlier ones.
  void multiply(transformed_tiles const& v, int first, int blocks, float const* kernel, int vectors,
                transformed_tiles const& to) const {
    static constexpr float zeros[most_vectors * 16] = {};
    int const L = lanes();
    long long const tap = 0;
    for (int p = 0; p < products; ++p) {
      float* const sums = to.data + p * to.product;
      winograd_tiles::multiply({.a = v.data + p * v.product + 1LL * first * all_ * L,
                                .a_row = L,
                                .a_block = 1LL * all_ * L,
                                .taps = &tap,
                                .tap_count = 1,
                                .blocks = blocks,
                                .b = kernel + p * kernel_distance(vectors),
                                .start = first == 0 ? zeros : sums,
                                .start_row = first == 0 ? 0 : L,
                                .start_vector = first == 0 ? L : 1LL * all_ * L,
                                .c = sums,
                                .c_row = L,
                                .c_vector = 1LL * all_ * L,
                                .relu = false},
                               vectors, all_);
    }
  }

  convolution3x3 shape_;
  bool turned_;
  int groups_;  // of output channels
  int chunk_;   // blocks of input channels whose part of the kernel is transformed at a time
};

}  // namespace dsl::native_cpu::TYPENET_MODE
