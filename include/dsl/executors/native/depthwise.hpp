// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/native/direct.hpp>

namespace dsl::native_cpu::TYPENET_MODE {

/// Which channels each channel of a result reads in a convolution with groups: result r reads `sources` channels, the
/// first of which is r / results * sources.
struct channel_sources {
  int results = 1;  // of a group
  int sources = 1;
};

/// Copies a part of an image into panels. Lane l of panel k has the k-th source of the l-th result in the block, or 0
/// if there is no such result. If results and sources are one to one, the panel is a copy of a channel block.
inline void fill_sources(panel const& p, view<float const> const& v, int n, int block, int channels,
                         channel_sources const& s, float* to) {
  int const L = v.block, first = block * L;
  if (s.results == 1 && s.sources == 1) {
    view<float const> one = v;
    one.channel += first;
    one.shape.channels = least(L, channels - first);
    return fill(p, one, n, to);
  }
  for (int k = 0; k < s.sources; ++k, to += p.block(L))
    for (int l = 0; l < L; ++l) {
      int const result = first + l;
      pixel_row<float const> const from =
          result < channels ? v.pixels(n, result / s.results * s.sources + k) : pixel_row<float const>{};
      for (int i = 0; i < p.rows; ++i)
        for (int j = 0; j < p.columns; ++j) {
          int const row = p.row + i, column = p.column + j;
          bool const inside = from.first && row >= 0 && row < v.shape.height && column >= 0 && column < v.shape.width;
          to[(1LL * i * p.columns + j) * L + l] = inside ? from[1LL * row * v.shape.width + column] : 0.0F;
        }
    }
}

/// A rectangle of a grid in which all pixels read the same taps; all other taps lie outside of the image. Lines are
/// its rows, or its columns if the rows are short.
struct depthwise_region {
  detail::list<depthwise_tap> taps{};
  int lines = 0;
  int count = 0;    // pixels of a line
  long long x = 0;  // offset from the channel block's first number
  long long x_line = 0;
  long long x_step = 0;
  long long y = 0;
  long long y_line = 0;
  long long y_step = 0;
};

/// The common part of the passes of a depthwise convolution: the regions of their grids. Regions read images in place.
/// They read copies in panels instead if an image is less than twice as wide as the span of the kernel, or if results
/// and sources do not correspond one to one.
class depthwise_regions {
 public:
  /// `from` and `to` are the shapes that the grids read and write.
  depthwise_regions(kernels const& k, convolution const& c, detail::list<gathering> const& grids, shape const& from,
                    shape const& to, channel_sources const& s)
      : kernels_(k),
        sources_(s),
        channels_(to.channels),
        out_(blocks_of(to.channels, k.lanes)),
        batch_(c.batch),
        area_(c.window.height * c.window.width) {
    int const width = from.width > to.width ? from.width : to.width;
    copies_ = width < 2LL * c.window.columns().span() || s.results > 1 || s.sources > 1;
    panel_ = {0, 0, from.height, from.width};
    if (copies_)
      for (gathering const& g : grids) widen(g);
    for (gathering const& g : grids)
      for (int i = 0, next = 1; i < g.rows; i = next++) {
        while (next < g.rows && same(g, i, next, true)) ++next;
        for (int j = 0, end = 1; j < g.columns; j = end++) {
          while (end < g.columns && same(g, j, end, false)) ++end;
          add(g, i, next - i, j, end - j, to.width);
        }
      }
  }

 protected:
  int lanes() const { return kernels_.lanes; }
  /// Returns how many floats a thread needs for panels.
  long long panels() const { return copies_ ? sources_.sources * panel_.block(lanes()) : 0; }
  /// Returns the data that the regions of a sample's channel block read: the image itself, or panels, which this call
  /// fills in `scratch`.
  float const* read(view<float const> const& x, int n, int block, float* scratch) const {
    if (!copies_) return sample_of(x, n) + 1LL * block * lanes() * x.shape.area();
    fill_sources(panel_, x, n, block, channels_, sources_, scratch);
    return scratch;
  }
  /// Returns how many floats the kernel of a channel block has: (source, kernel place, lane).
  long long kernel_block() const { return 1LL * sources_.sources * area_ * lanes(); }

  kernels const& kernels_;
  channel_sources sources_;
  int channels_;  // of the result
  int out_;       // blocks of those
  int batch_;
  int area_;  // of a kernel
  detail::list<depthwise_region> regions_{};

 private:
  void widen(gathering const& g) {
    if (g.rows < 1 || g.columns < 1 || g.places.size() == 0) return;
    panel const p = g.reads(0, g.rows, g.columns);
    int const row = least(panel_.row, p.row), column = least(panel_.column, p.column);
    int const rows = panel_.row + panel_.rows, columns = panel_.column + panel_.columns;
    panel_ = {row, column, (rows > p.row + p.rows ? rows : p.row + p.rows) - row,
              (columns > p.column + p.columns ? columns : p.column + p.columns) - column};
  }
  /// Whether row or column i of a grid reads a pixel of the image at this place of the kernel.
  bool meets(gathering const& g, kernel_position const& q, int i, bool row) const {
    int const at = row ? i * g.row_stride + q.row - panel_.row : i * g.column_stride + q.column - panel_.column;
    return at >= 0 && at < (row ? panel_.rows : panel_.columns);
  }
  bool same(gathering const& g, int i, int j, bool row) const {
    for (kernel_position const& q : g.places)
      if (meets(g, q, i, row) != meets(g, q, j, row)) return false;
    return true;
  }
  void add(gathering const& g, int i, int rows, int j, int columns, int to_width) {
    int const L = lanes();
    depthwise_region& r = regions_[regions_.push({})];
    for (int k = 0; k < sources_.sources; ++k)
      for (kernel_position const& q : g.places)
        if (meets(g, q, i, true) && meets(g, q, j, false))
          r.taps.push(
              {k * panel_.block(L) + (1LL * (q.row - panel_.row) * panel_.columns + q.column - panel_.column) * L,
               1LL * (k * area_ + q.place) * L});
    long long const x_row = 1LL * g.row_stride * panel_.columns * L, x_column = 1LL * g.column_stride * L;
    long long const y_row = 1LL * g.row_step * to_width * L, y_column = 1LL * g.column_step * L;
    bool const upright = columns < most_depthwise_pixels && rows > columns;
    r.lines = upright ? columns : rows, r.count = upright ? rows : columns;
    r.x = i * x_row + j * x_column, r.x_line = upright ? x_column : x_row, r.x_step = upright ? x_row : x_column;
    r.y = (1LL * g.first_row * to_width + g.first_column) * L + i * y_row + j * y_column;
    r.y_line = upright ? y_column : y_row, r.y_step = upright ? y_row : y_column;
  }

  bool copies_ = false;
  panel panel_{};  // what regions read: the image, or the image with its padding
};

/// The forward pass or the data gradient of a convolution whose filters read one channel each. Each lane of a vector
/// computes one channel. An item is one channel block of one sample.
class depthwise_pass final : public convolution_pass, depthwise_regions {
 public:
  /// `turned` selects the data gradient.
  depthwise_pass(kernels const& k, convolution const& c, bool turned)
      : depthwise_regions(k, c, grids_of(c, turned), turned ? c.out : c.in, turned ? c.in : c.out,
                          sources_of(c, turned)),
        turned_(turned) {}

  long long packed() const override { return out_ * kernel_block(); }
  long long scratch() const override { return panels(); }

  int pack_items() const override { return out_; }
  void pack(int item, float const* kernel, float* to) const override {
    to += item * kernel_block();
    for (int k = 0; k < sources_.sources; ++k)
      for (int place = 0; place < area_; ++place)
        for (int l = 0; l < lanes(); ++l) {
          int const result = item * lanes() + l;
          int const filter = turned_ ? result * sources_.sources + k : result;
          *to++ = result < channels_ ? kernel[1LL * filter * area_ + place] : 0.0F;
        }
  }

  int items() const override { return batch_ * out_; }
  int records() const override { return batch_; }
  long long moments() const override { return 2LL * records() * out_ * lanes(); }
  void run(int item, view<float const> const& x, float const* packed, float const* bias, view<float> const& y,
           bool accumulate, bool relu, float* scratch, double* moments) const override {
    static constexpr float zeros[16] = {};
    int const L = lanes(), b = item % out_, n = item / out_;
    float const* const from = read(x, n, b, scratch);
    float* const to = sample_of(y, n) + 1LL * b * L * y.shape.area();
    for (depthwise_region const& r : regions_) {
      depthwise_call c{.x = from + r.x,
                       .x_line = r.x_line,
                       .x_step = r.x_step,
                       .taps = r.taps.begin(),
                       .tap_count = r.taps.size(),
                       .lines = r.lines,
                       .tiles = 0,
                       .kernel = packed + b * kernel_block(),
                       .start = accumulate ? to + r.y
                                : bias     ? bias + 1LL * b * L
                                           : zeros,
                       .start_line = accumulate ? r.y_line : 0,
                       .start_step = accumulate ? r.y_step : 0,
                       .y = to + r.y,
                       .y_line = r.y_line,
                       .y_step = r.y_step,
                       .relu = relu};
      // A line's pixels are divided as evenly as possible: 13 in tiles of at most 8 are one of 7 and one of 6.
      int const tiles = (r.count + most_depthwise_pixels - 1) / most_depthwise_pixels;
      int const pixels = (r.count + tiles - 1) / tiles, smaller = tiles * pixels - r.count;
      c.tiles = tiles - smaller;
      kernels_.depthwise[pixels](c);
      if (smaller == 0) continue;
      long long const done = 1LL * c.tiles * pixels;
      c.x += done * c.x_step, c.start += done * c.start_step, c.y += done * c.y_step;
      c.tiles = smaller;
      kernels_.depthwise[pixels - 1](c);
    }
    if (!moments) return;
    double* const sums = moments + 2LL * item * L;
    for (int l = 0; l < 2 * L; ++l) sums[l] = 0;
    kernels_.moments({to, y.shape.area(), sums});
  }

 private:
  /// Returns the sources of a result. A filter reads one channel; the gradient of a channel reads all filters of that
  /// channel.
  static channel_sources sources_of(convolution const& c, bool turned) {
    int const filters = c.out.channels / c.in.channels;
    return turned ? channel_sources{1, filters} : channel_sources{filters, 1};
  }
  static detail::list<gathering> grids_of(convolution const& c, bool turned) {
    detail::list<gathering> all;
    if (!turned) all.push(forward_gathering(c, false));
    for (int i = 0; turned && i < c.window.rows().stride; ++i)
      for (int j = 0; j < c.window.columns().stride; ++j) all.push(data_gathering(c, i, j));
    return all;
  }

  bool turned_;
};

/// The gradient of such a convolution's kernel. The batch is divided into parts, and the sums of the parts are added in
/// order. The number of parts does not depend on the number of threads, so neither do the bits.
class depthwise_weights final : public convolution_weights, depthwise_regions {
 public:
  depthwise_weights(kernels const& k, convolution const& c)
      : depthwise_regions(k, c, {1, forward_gathering(c, false)}, c.in, c.out, {c.out.channels / c.in.channels, 1}),
        parts_(least((32 + out_ - 1) / out_, c.batch)) {}

  long long sums() const override { return parts_ * part(); }
  long long scratch() const override { return panels(); }

  int items() const override { return parts_ * out_; }
  void run(int item, view<float const> const& x, view<float const> const& dy, float* sums,
           float* scratch) const override {
    int const b = item % out_;
    share const samples(batch_, item / out_, parts_);
    sums += item * kernel_block();
    for (long long i = 0; i < kernel_block(); ++i) sums[i] = 0;
    for (int n = samples.begin; n < samples.end; ++n) {
      float const* const from = read(x, n, b, scratch);
      float const* const gradient = sample_of(dy, n) + 1LL * b * lanes() * dy.shape.area();
      for (depthwise_region const& r : regions_)
        for (int t = 0; t < r.taps.size();) {
          int const count = next_rows(r.taps.size() - t, most_depthwise_taps);
          kernels_.depthwise_weights[count]({.x = from + r.x,
                                             .x_line = r.x_line,
                                             .x_step = r.x_step,
                                             .taps = r.taps.begin() + t,
                                             .dy = gradient + r.y,
                                             .dy_line = r.y_line,
                                             .dy_step = r.y_step,
                                             .lines = r.lines,
                                             .steps = r.count,
                                             .sums = sums});
          t += count;
        }
    }
  }

  int finish_items() const override { return channels_; }
  /// Writes the gradient of one filter.
  void finish(int item, float const* sums, float* gradient) const override {
    sums += item / lanes() * kernel_block() + item % lanes();
    for (int place = 0; place < area_; ++place, sums += lanes()) {
      float sum = sums[0];
      for (int q = 1; q < parts_; ++q) sum += sums[q * part()];
      gradient[1LL * item * area_ + place] = sum;
    }
  }

 private:
  long long part() const { return out_ * kernel_block(); }

  int parts_;
};

}  // namespace dsl::native_cpu::TYPENET_MODE
