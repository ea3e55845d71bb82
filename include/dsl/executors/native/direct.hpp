// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/list.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/executors/native/convolution_pass.hpp>
#include <dsl/executors/native/kernels.hpp>
#include <dsl/executors/native/panel.hpp>

namespace dsl::native_cpu::TYPENET_MODE {

/// A convolution with any kernel, stride, padding and dilation, always described as its forward pass.
struct convolution {
  int batch = 0;
  shape in{};
  shape out{};
  dsl::window window{};
  int groups = 1;
};

/// A place of a kernel, and the row and column of the number that it reads, relative to the position of the output.
struct kernel_position {
  int row = 0;
  int column = 0;
  int place = 0;
};

/// One way to sum over a kernel. The number at (i, j) of a grid is the sum over kernel places of from(i * row_stride +
/// row, j * column_stride + column) times the kernel's number. It is written to (first_row + i * row_step, first_column
/// + j * column_step) of the result. A forward pass is one such grid; a data gradient with strides r and s consists of
/// r * s grids.
struct gathering {
  detail::list<kernel_position> places{};
  int row_stride = 1;
  int column_stride = 1;
  int rows = 0;
  int columns = 0;
  int first_row = 0;
  int first_column = 0;
  int row_step = 1;
  int column_step = 1;
  int band = 0;  // grid rows that a panel's bands are for; 0: panels have no bands

  /// Returns the rows of a panel from one grid row to the next.
  int panel_stride() const { return band == 0 ? row_stride : 1; }
  /// Returns the distance between neighbouring rows of the kernel, which is the same for all; 0 if there is one row.
  int row_distance() const {
    int least_distance = 0;
    for (kernel_position const& q : places) {
      int const distance = q.row > places[0].row ? q.row - places[0].row : places[0].row - q.row;
      if (distance > 0 && (least_distance == 0 || distance < least_distance)) least_distance = distance;
    }
    return least_distance;
  }
  /// Removes the places that read no pixel of an image, such as the outer ones of a kernel that is larger than the
  /// image.
  void drop_unread(shape const& picture) {
    auto const reads_pixels = [](int count, int stride, int at, int size) {
      for (int i = 0; i < count; ++i)
        if (i * stride + at >= 0 && i * stride + at < size) return true;
      return false;
    };
    detail::list<kernel_position> read;
    for (kernel_position const& q : places)
      if (reads_pixels(rows, row_stride, q.row, picture.height) &&
          reads_pixels(columns, column_stride, q.column, picture.width))
        read.push(q);
    places = read;
  }

  /// Returns the part of an image that grid rows [first, first + count) and the first `width` columns read.
  panel reads(int first, int count, int width) const {
    panel p{};
    int last_row = 0, last_column = 0;
    for (int k = 0; k < places.size(); ++k) {
      kernel_position const& q = places[k];
      if (k == 0 || q.row < p.row) p.row = q.row;
      if (k == 0 || q.column < p.column) p.column = q.column;
      if (k == 0 || q.row > last_row) last_row = q.row;
      if (k == 0 || q.column > last_column) last_column = q.column;
    }
    p.rows = (count - 1) * row_stride + last_row - p.row + 1;
    p.columns = (width - 1) * column_stride + last_column - p.column + 1;
    if (band > 0 && places.size() > 0) {
      int const distance = row_distance(), bands = distance == 0 ? 1 : (last_row - p.row) / distance + 1;
      p.rows = bands * band, p.band = band, p.step = row_stride, p.next_band = distance;
    }
    p.row += first * row_stride;
    return p;
  }
  /// Returns the offset of each place's number in a panel.
  detail::list<long long> offsets(panel const& p, int lanes) const {
    detail::list<long long> all;
    panel const origin = reads(0, 1, 1);
    for (kernel_position const& q : places) {
      int const row = q.row - origin.row, at = band == 0 || row == 0 ? row : row / origin.next_band * band;
      all.push((1LL * at * p.columns + q.column - origin.column) * lanes);
    }
    return all;
  }
};

/// Whether images are not in channel blocks. A forward pass unrolls such images.
inline bool is_plain(view<float const> const& x) { return x.block == 1; }

/// Whether a convolution is 1x1 with stride 1 and reads no padding. It reads each number once, so it needs no copy of
/// the image.
inline bool is_flat(convolution const& c, bool unrolled) {
  window const& w = c.window;
  return !unrolled && w.height * w.width == 1 && w.strides_by(1) && c.in.area() == c.out.area();
}

inline gathering forward_gathering(convolution const& c, bool unrolled) {
  gathering g;
  window const& w = c.window;
  g.rows = c.out.height, g.columns = c.out.width;
  if (unrolled) {
    g.places.push({});
    return g;
  }
  window_side const rows = w.rows(), columns = w.columns();
  g.row_stride = rows.stride, g.column_stride = columns.stride;
  for (int a = 0; a < w.height; ++a)
    for (int b = 0; b < w.width; ++b)
      g.places.push({a * rows.dilation - rows.before, b * columns.dilation - columns.before, a * w.width + b});
  return g;
}

/// Returns one grid of a data gradient: the rows i and columns j of the input for which i modulo the rows' stride is
/// phase_row, and j modulo the columns' phase_column. If the grid has no places, its numbers are 0.
inline gathering data_gathering(convolution const& c, int phase_row, int phase_column) {
  gathering g;
  window const& w = c.window;
  window_side const rows = w.rows(), columns = w.columns();
  g.row_step = rows.stride, g.column_step = columns.stride;
  g.first_row = phase_row, g.first_column = phase_column;
  g.rows = (c.in.height - phase_row + rows.stride - 1) / rows.stride;
  g.columns = (c.in.width - phase_column + columns.stride - 1) / columns.stride;
  for (int a = 0; a < w.height; ++a)
    for (int b = 0; b < w.width; ++b) {
      int const row = phase_row + rows.before - a * rows.dilation;
      int const column = phase_column + columns.before - b * columns.dilation;
      if (row % rows.stride == 0 && column % columns.stride == 0)
        g.places.push({row / rows.stride, column / columns.stride, a * w.width + b});
    }
  return g;
}

/// The number of floats of the second-level cache that a panel may take.
inline constexpr long long most_panel_floats = (192 << 10) / 4;

/// Chooses how many grid rows the panels of a pass are for, at most as many as fit into the cache, and whether they
/// have bands: if not even one row fits, a band for each row of a dilated kernel copies no rows between those.
/// floats(n) is the size of a panel for n grid rows.
template <class F>
int rows_of_panels(gathering& g, F floats) {
  bool const has_bands = floats(1) > most_panel_floats && g.row_distance() > 1;
  int rows = 1;
  if (has_bands) g.band = rows;
  while (rows < g.rows) {
    if (has_bands) g.band = rows + 1;
    if (floats(rows + 1) > most_panel_floats) break;
    ++rows;
  }
  if (has_bands) g.band = rows;
  return rows;
}

/// A grid of sums, computed by the matrix kernel: the forward pass, or a part of the data gradient. Items are blocks of
/// pixels, which are divided further into groups of output channels if there are few. The bits of a number depend on
/// neither.
class direct_pass final : public convolution_pass {
 public:
  /// `turned` selects the data gradient, in which `from` is dy and `to` is dx.
  direct_pass(kernels const& k, convolution const& c, gathering const& g, bool turned, bool unrolled, int threads)
      : kernels_(k),
        gathering_(g),
        convolution_(c),
        turned_(turned),
        unrolled_(unrolled),
        area_(unrolled ? 1 : c.window.height * c.window.width),
        parameter_in_(unrolled ? c.in.channels * c.window.height * c.window.width : c.in.channels),
        sums_(turned ? c.out.channels : parameter_in_),
        results_(turned ? c.in.channels : c.out.channels),
        in_(blocks_of(sums_, k.lanes)),
        out_(blocks_of(results_, k.lanes)) {
    if (c.window.is_dilated() && !unrolled) gathering_.drop_unread(turned ? c.out : c.in);
    flat_ = is_flat(c, unrolled);  // computed as one long row
    if (flat_) gathering_.columns = static_cast<int>(c.out.area()), gathering_.rows = 1;
    if (gathering_.columns < 1) return;  // a phase beyond a narrow image's end
    block_columns_ = flat_ ? least(gathering_.columns, 96) : gathering_.columns;
    block_rows_ = rows_of_panels(gathering_, [this](int rows) { return floats(rows); });
    offsets_ = gathering_.offsets(gathering_.reads(0, 1, block_columns_), k.lanes);
    column_blocks_ = (gathering_.columns + block_columns_ - 1) / block_columns_;
    row_blocks_ = (gathering_.rows + block_rows_ - 1) / block_rows_;
    int const blocks = c.batch * row_blocks_ * column_blocks_;
    if (blocks > 0) groups_ = output_groups(blocks, column_tiles(out_), threads, !flat_);
  }

  long long packed() const override { return 1LL * gathering_.places.size() * in_ * lanes() * out_ * lanes(); }
  long long scratch() const override { return flat_ ? 0 : floats(block_rows_); }

  int pack_items() const override { return column_tiles(out_); }
  /// Packs one tile of columns.
  void pack(int item, float const* kernel, float* to) const override {
    int const L = lanes();
    column_tile const t = column_tile_at(item, out_);
    to += 1LL * t.first * L * gathering_.places.size() * in_ * L;
    for (kernel_position const& q : gathering_.places)
      for (int k = 0; k < in_ * L; ++k)
        for (int l = 0; l < t.vectors * L; ++l) {
          int const o = t.first * L + l;
          int const out = turned_ ? k : o, in = turned_ ? o : k;
          *to++ = k < sums_ && o < results_ ? kernel[(1LL * out * parameter_in_ + in) * area_ + q.place] : 0.0F;
        }
  }

  int items() const override { return convolution_.batch * row_blocks_ * column_blocks_ * groups_; }
  int records() const override { return convolution_.batch * row_blocks_ * column_blocks_; }
  long long moments() const override { return 2LL * records() * out_ * lanes(); }
  void run(int item, view<float const> const& from, float const* packed, float const* bias, view<float> const& to,
           bool accumulate, bool relu, float* scratch, double* moments) const override {
    view<float const> x = from;
    view<float> y = to;
    int const L = lanes(), block = item / groups_, n = block / (row_blocks_ * column_blocks_);
    share const mine(column_tiles(out_), item % groups_, groups_);
    gathering const& g = gathering_;
    int const i = block / column_blocks_ % row_blocks_ * block_rows_, count_i = least(block_rows_, g.rows - i);
    int const j = block % column_blocks_ * block_columns_, count_j = least(block_columns_, g.columns - j);
    if (flat_) flatten(x), flatten(y);
    panel const p = g.reads(i, count_i, count_j);  // only a flat image has several blocks of columns
    float const* read = scratch;
    long long read_block = p.block(L);
    if (unrolled_)
      unroll(x, n, convolution_.window, i, count_i, count_j, L, scratch);
    else if (flat_)
      read = sample_of(x, n) + 1LL * j * L, read_block = x.shape.area() * L;
    else if (g.places.size() > 0)
      fill(p, x, n, scratch);
    static constexpr float zeros[most_vectors * 16] = {};
    float* const result = y.data + (1LL * n * y.buffer_channels + y.channel) * y.shape.area();
    for (int tile = mine.begin; tile < mine.end; ++tile) {
      column_tile const t = column_tile_at(tile, out_);
      for (int row = 0; row < count_i; ++row) {
        int const to_row = g.first_row + (i + row) * g.row_step, to_column = g.first_column + j * g.column_step;
        product_call c{.a = read + 1LL * row * g.panel_stride() * p.columns * L,
                       .a_row = 1LL * g.column_stride * L,
                       .a_block = read_block,
                       .taps = offsets_.begin(),
                       .tap_count = offsets_.size(),
                       .blocks = in_,
                       .b = packed + 1LL * t.first * L * g.places.size() * in_ * L,
                       .start = bias ? bias + 1LL * t.first * L : zeros,
                       .start_row = 0,
                       .start_vector = L,
                       .c = result + (1LL * t.first * y.shape.area() + 1LL * to_row * y.shape.width + to_column) * L,
                       .c_row = 1LL * g.column_step * L,
                       .c_vector = y.shape.area() * L,
                       .relu = relu};
        if (accumulate) c.start = c.c, c.start_row = c.c_row, c.start_vector = c.c_vector;
        for (int column = 0; column < count_j;) {
          int const rows = next_rows(count_j - column, kernels_.rows[t.vectors]);
          kernels_.product[t.vectors][rows](c);
          c.a += rows * c.a_row, c.c += rows * c.c_row, column += rows;
          if (accumulate) c.start = c.c;
        }
      }
      for (int v = t.first; moments && v < t.first + t.vectors; ++v) {
        double* const sums = moments + 2LL * (1LL * block * out_ + v) * L;
        for (int l = 0; l < 2 * L; ++l) sums[l] = 0;
        for (int row = 0; row < count_i; ++row)
          kernels_.moments({result + (v * y.shape.area() + 1LL * (i + row) * y.shape.width + j) * L, count_j, sums});
      }
    }
  }

 private:
  int lanes() const { return kernels_.lanes; }
  /// Returns how many floats a panel of `rows` grid rows has.
  long long floats(int rows) const {
    return gathering_.places.size() == 0 ? 0 : in_ * gathering_.reads(0, rows, block_columns_).block(lanes());
  }
  template <class T>
  static void flatten(view<T>& v) {
    v.shape = {v.shape.channels, 1, static_cast<int>(v.shape.area())};
  }

  kernels const& kernels_;
  gathering gathering_;
  detail::list<long long> offsets_{};  // of places in a panel; all panels are equally wide, or there is only one place
  convolution convolution_;
  bool turned_;
  bool unrolled_;
  bool flat_ = false;
  int area_;  // of the parameter's kernels
  int parameter_in_;
  int sums_;     // channels that are summed over
  int results_;  // channels of the result
  int in_;       // blocks of those
  int out_;
  int block_rows_ = 1;  // of the grid
  int block_columns_ = 1;
  int row_blocks_ = 0;
  int column_blocks_ = 0;
  int groups_ = 1;  // of output channels
};

}  // namespace dsl::native_cpu::TYPENET_MODE
