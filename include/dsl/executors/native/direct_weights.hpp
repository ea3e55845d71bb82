// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/native/direct.hpp>

namespace dsl::native_cpu::TYPENET_MODE {

/// The gradient of a convolution's kernel, computed by the matrix kernel, for any kernel, stride and padding. The batch
/// is divided into parts, and the sums of the parts are added in order. The number of parts does not depend on the
/// number of threads, so neither do the bits.
class direct_weights final : public convolution_weights {
 public:
  direct_weights(kernels const& k, convolution const& c, bool unrolled, int threads)
      : kernels_(k),
        gathering_(forward_gathering(c, unrolled)),
        convolution_(c),
        unrolled_(unrolled),
        flat_(is_flat(c, unrolled)),
        area_(unrolled ? 1 : c.window.height * c.window.width),
        rows_(unrolled ? c.in.channels * c.window.height * c.window.width : c.in.channels),
        in_(blocks_of(rows_, k.lanes)),
        out_(blocks_of(c.out.channels, k.lanes)) {
    if (c.window.is_dilated() && !unrolled) gathering_.drop_unread(c.in);
    constexpr long long most_bytes = 16LL << 20;
    long long const fit = part() > 0 ? most_bytes / (4 * part()) : 1;  // 0 if no place reads a pixel
    parts_ = least(fit < 1 ? 1 : fit < 4 ? static_cast<int>(fit) : 4, c.batch);
    groups_ = least((threads + parts_ - 1) / parts_, out_);
    block_rows_ = rows_of_panels(gathering_, [this](int rows) { return floats(rows); });
    offsets_ = gathering_.offsets(gathering_.reads(0, 1, gathering_.columns), k.lanes);
  }

  long long sums() const override { return parts_ * part(); }
  long long scratch() const override { return flat_ ? 0 : floats(block_rows_); }

  int items() const override { return parts_ * groups_; }
  void run(int item, view<float const> const& x, view<float const> const& dy, float* sums,
           float* scratch) const override {
    int const q = item / groups_;
    share const columns(out_, item % groups_, groups_), samples(convolution_.batch, q, parts_);
    if (flat_) return run_flat(columns, samples, x, dy, sums + q * part());
    for (int n = samples.begin; n < samples.end; ++n)
      for (int i = 0; i < gathering_.rows; i += block_rows_) {
        int const count = least(block_rows_, gathering_.rows - i);
        panel const p = gathering_.reads(i, count, gathering_.columns);
        if (unrolled_)
          unroll(x, n, convolution_.window, i, count, gathering_.columns, kernels_.lanes, scratch);
        else
          fill(p, x, n, scratch);
        add(columns, p, i, count, dy, n, scratch, p.block(kernels_.lanes), sums + q * part(),
            n == samples.begin && i == 0);
      }
  }

  int finish_items() const override { return rows_; }
  /// Writes the gradient of one input channel, or of one of its kernel places if the input is unrolled.
  void finish(int item, float const* sums, float* gradient) const override {
    int const width = out_ * kernels_.lanes;
    if (gathering_.places.size() < area_)  // places that read no pixel
      for (int o = 0; o < convolution_.out.channels; ++o)
        for (int place = 0; place < area_; ++place) gradient[(1LL * o * rows_ + item) * area_ + place] = 0;
    for (kernel_position const& t : gathering_.places) {
      float const* const from = sums + (1LL * tap(t) * in_ * kernels_.lanes + item) * width;
      for (int o = 0; o < convolution_.out.channels; ++o) {
        float sum = from[o];
        for (int q = 1; q < parts_; ++q) sum += from[q * part() + o];
        gradient[(1LL * o * rows_ + item) * area_ + t.place] = sum;
      }
    }
  }

 private:
  /// Reads x in place. Each call takes enough pixels, of several samples if those are small, to make loading and
  /// storing the sums worthwhile, and so few columns that what they read stays in the second-level cache from row to
  /// row.
  void run_flat(share const& columns, share const& samples, view<float const> const& x, view<float const> const& dy,
                float* sums) const {
    constexpr int most_pixels = 512, most_columns = 12;
    int const L = kernels_.lanes, area = static_cast<int>(x.shape.area());
    int const together = area < most_pixels ? most_pixels / area : 1, pixels = least(area, most_pixels);
    for (int n = samples.begin; n < samples.end; n += together)
      for (int i = 0; i < area; i += pixels)
        for (int first = columns.begin; first < columns.end; first += most_columns)
          for (int k = 0; k < in_ * L; k += kernels_.outer_rows)
            for (int column = first, end = least(columns.end, first + most_columns); column < end;) {
              int const vectors = next_outer_vectors(end - column);
              kernels_.outer_product[vectors]({.a = sample_of(x, n) + (1LL * k / L * area + i) * L + k % L,
                                               .a_line = 1LL * x.buffer_channels * area,
                                               .a_step = L,
                                               .b = sample_of(dy, n) + (1LL * column * area + i) * L,
                                               .b_line = 1LL * dy.buffer_channels * area,
                                               .b_step = L,
                                               .b_vector = 1LL * area * L,
                                               .lines = least(together, samples.end - n),
                                               .steps = least(pixels, area - i),
                                               .c = sums + (1LL * k * out_ + column) * L,
                                               .c_row = 1LL * out_ * L,
                                               .fresh = n == samples.begin && i == 0});
              column += vectors;
            }
  }

  void add(share const& columns, panel const& p, int i, int count, view<float const> const& dy, int n,
           float const* read, long long block, float* sums, bool fresh) const {
    int const L = kernels_.lanes;
    gathering const& g = gathering_;
    float const* const from = dy.data + (1LL * n * dy.buffer_channels + dy.channel) * dy.shape.area();
    for (int t = 0; t < offsets_.size(); ++t)
      for (int k = 0; k < in_ * L; k += kernels_.outer_rows)
        for (int column = columns.begin; column < columns.end;) {
          int const vectors = next_outer_vectors(columns.end - column);
          kernels_.outer_product[vectors]({.a = read + offsets_[t] + k / L * block + k % L,
                                           .a_line = 1LL * g.panel_stride() * p.columns * L,
                                           .a_step = 1LL * g.column_stride * L,
                                           .b = from + (column * dy.shape.area() + 1LL * i * dy.shape.width) * L,
                                           .b_line = 1LL * dy.shape.width * L,
                                           .b_step = L,
                                           .b_vector = dy.shape.area() * L,
                                           .lines = count,
                                           .steps = g.columns,
                                           .c = sums + (1LL * (t * in_ * L + k) * out_ + column) * L,
                                           .c_row = 1LL * out_ * L,
                                           .fresh = fresh});
          column += vectors;
        }
  }

  long long floats(int rows) const { return in_ * gathering_.reads(0, rows, gathering_.columns).block(kernels_.lanes); }
  long long part() const { return 1LL * gathering_.places.size() * in_ * kernels_.lanes * out_ * kernels_.lanes; }
  int tap(kernel_position const& t) const { return static_cast<int>(&t - gathering_.places.begin()); }

  kernels const& kernels_;
  gathering gathering_;
  convolution convolution_;
  bool unrolled_;
  bool flat_;  // a 1x1 convolution of stride 1, which reads x in place
  int area_;   // of the parameter's kernels
  int rows_;   // of the sums: input channels, or those and kernel places together
  int in_;     // blocks of those
  int out_;
  detail::list<long long> offsets_{};  // of kernel places in a panel
  int parts_;
  int groups_;      // of output channels
  int block_rows_;  // of the output
};

/// Computes the gradient of a bias: the sums over the batch and all pixels, in double. An item is a channel block.
inline void bias_gradient(int item, view<float const> const& dy, float* gradient) {
  int const L = dy.block, channels = dy.shape.channels - item * L < L ? dy.shape.channels - item * L : L;
  double sums[16] = {};
  for (int n = 0; n < dy.batch; ++n) {
    float const* at = dy.data + (1LL * n * dy.buffer_channels + dy.channel + item * L) * dy.shape.area();
    for (long long i = 0; i < dy.shape.area(); ++i, at += L)
      for (int l = 0; l < channels; ++l) sums[l] += static_cast<double>(at[l]);
  }
  for (int l = 0; l < channels; ++l) gradient[item * L + l] = static_cast<float>(sums[l]);
}

}  // namespace dsl::native_cpu::TYPENET_MODE
