// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/list.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/executors/host/elementwise.hpp>
#include <dsl/executors/host/vector_tasks.hpp>
#include <dsl/executors/host/neighbours.hpp>
#include <dsl/executors/host/operation.hpp>

namespace dsl::plain::TYPENET_MODE {

using host::bilinear_of;
using host::nearest_of;
using host::neighbours;

/// Calls f(output pixel, input pixel, weight) for each of the four, or fewer, input pixels of every output pixel.
template <class F>
void for_each_neighbour(shape const& in, shape const& out, bool bilinear, F f) {
  auto const of = bilinear ? bilinear_of : nearest_of;
  for (int i = 0; i < out.height; ++i) {
    neighbours const row = of(i, out.height / in.height, in.height);
    for (int j = 0; j < out.width; ++j) {
      neighbours const column = of(j, out.width / in.width, in.width);
      long long const to = 1LL * i * out.width + j;
      auto const corner = [&](int r, int c, double weight) {
        if (weight > 0) f(to, 1LL * r * in.width + c, weight);
      };
      corner(row.low, column.low, (1 - row.share) * (1 - column.share));
      corner(row.low, column.high, (1 - row.share) * column.share);
      corner(row.high, column.low, row.share * (1 - column.share));
      corner(row.high, column.high, row.share * column.share);
    }
  }
}

template <class T, bool Bilinear>
void upsample2d_forward(host::bound_step<T> const& b, step_context const&) {
  for_each_channel(b.to, [&](int n, int c) {
    auto const in = b.x.pixels(n, c);
    auto const out = b.to.pixels(n, c);
    for (long long i = 0; i < b.to.shape.area(); ++i) out[i] = 0;
    for_each_neighbour(b.x.shape, b.to.shape, Bilinear, [&](long long to, long long from, double weight) {
      out[to] += static_cast<T>(weight) * in[from];
    });
  });
}

/// Adds to each input pixel the gradients of the output pixels that read it, with the same weights.
template <class T, bool Bilinear>
void upsample2d_backward(host::bound_step<T> const& b, step_context const&) {
  for_each_channel(b.to, [&](int n, int c) {
    auto const from = b.dy.pixels(n, c);
    auto const to = b.to.pixels(n, c);
    for (long long i = 0; !b.accumulate && i < b.to.shape.area(); ++i) to[i] = 0;
    for_each_neighbour(b.to.shape, b.dy.shape, Bilinear, [&](long long at, long long pixel, double weight) {
      to[pixel] += static_cast<T>(weight) * from[at];
    });
  });
}

template <class T, bool Bilinear>
inline constexpr loops<T> upsample2d_loops{.forward = upsample2d_forward<T, Bilinear>,
                                           .backward = upsample2d_backward<T, Bilinear>,
                                           .parts = parts_of::channels};

template <class T>
inline constexpr loops<T> loops_for<T, op::upsample_nearest> = upsample2d_loops<T, false>;
template <class T>
inline constexpr loops<T> loops_for<T, op::upsample_bilinear> = upsample2d_loops<T, true>;

}  // namespace dsl::plain::TYPENET_MODE

namespace dsl::host::TYPENET_MODE {

/// Returns the rows or columns of an image that is enlarged by a factor.
inline detail::list<resized> resized_sides(int small, int large, bool bilinear) {
  detail::list<resized> all;
  for (int i = 0; i < large; ++i) {
    neighbours const at = bilinear ? bilinear_of(i, large / small, small) : nearest_of(i, large / small, small);
    all.push({at.low, at.high, static_cast<float>(at.share), static_cast<float>(1 - at.share)});
  }
  return all;
}

/// Enlarges channel blocks, or computes the gradient of that, in bands of rows, so that there is work for all threads
/// even if there are few channels. The bits do not depend on the bands.
template <class Device>
class resize {
 public:
  resize(Device& at, bound_step<float> const& s)
      : at_(&at),
        enlarges_(s.step->what == action::forward),
        from_(enlarges_ ? s.x : s.dy),
        to_(s.to),
        accumulate_(s.accumulate),
        blocks_(blocks_of(to_.shape.channels, at.lanes())) {
    shape const small = enlarges_ ? from_.shape : to_.shape, large = enlarges_ ? to_.shape : from_.shape;
    bool const bilinear = s.node->kind == op::upsample_bilinear;
    rows_ = resized_sides(small.height, large.height, bilinear);
    columns_ = resized_sides(small.width, large.width, bilinear);
    large_ = large, small_width_ = small.width;
    constexpr int most_pixels = 2048;
    int const band = most_pixels / to_.shape.width;
    band_ = band < 1 ? 1 : band;
    bands_ = (to_.shape.height + band_ - 1) / band_;
  }

  void operator()() const {
    at_->run(to_.batch * blocks_ * bands_, [&](int i) {
      int const n = i / bands_ / blocks_, b = i / bands_ % blocks_, first = i % bands_ * band_, L = at_->lanes();
      resize_call const c{.from = sample_of(from_, n) + b * L * from_.shape.area(),
                          .to = sample_of(to_, n) + b * L * to_.shape.area(),
                          .rows = rows_.begin(),
                          .columns = columns_.begin(),
                          .first = first,
                          .last = least(first + band_, to_.shape.height),
                          .height = large_.height,
                          .width = large_.width,
                          .small_width = small_width_,
                          .accumulate = accumulate_};
      enlarges_ ? at_->vectors().enlarge(c) : at_->vectors().reduce(c);
    });
  }

 private:
  Device* at_;
  bool enlarges_;
  view<float const> from_;
  view<float> to_;
  bool accumulate_;
  int blocks_;
  detail::list<resized> rows_{}, columns_{};
  shape large_{};
  int small_width_ = 0, band_ = 1, bands_ = 1;
};

template <>
struct step_task<op::upsample_nearest> {
  /// Returns the task of an upsampling step, or an empty task if a tensor does not consist of whole channel blocks.
  template <operation_set, class Device>
  static task make(Device& at, bound_step<float> const& s) {
    view<float const> const& from = s.step->what == action::forward ? s.x : s.dy;
    int const L = at.lanes();
    if (from.block != L || s.to.block != L || !in_blocks(from, L) || !in_blocks(s.to, L)) return {};
    return [made = resize<Device>(at, s)] { made(); };
  }
};
template <>
struct step_task<op::upsample_bilinear> : step_task<op::upsample_nearest> {};

}  // namespace dsl::host::TYPENET_MODE
