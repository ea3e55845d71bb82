// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/host/elementwise.hpp>
#include <dsl/executors/host/vector_tasks.hpp>
#include <dsl/executors/host/operation.hpp>
#include <dsl/graph/node.hpp>

#include <cstring>

namespace dsl::plain::TYPENET_MODE {

template <class T>
void zero_pad2d_forward(host::bound_step<T> const& b, step_context const&) {
  window const& w = b.node->window;
  for_each_channel(b.to, [&](int n, int c) {
    auto const in = b.x.pixels(n, c);
    auto const out = b.to.pixels(n, c);
    for (int i = 0; i < b.to.shape.height; ++i)
      for (int j = 0; j < b.to.shape.width; ++j) {
        int const row = i - w.pad_top, column = j - w.pad_left;
        bool const inside = row >= 0 && row < b.x.shape.height && column >= 0 && column < b.x.shape.width;
        out[1LL * i * b.to.shape.width + j] = inside ? in[1LL * row * b.x.shape.width + column] : T{0};
      }
  });
}

template <class T>
void zero_pad2d_backward(host::bound_step<T> const& b, step_context const&) {
  if (!b.to.data) return;
  window const& w = b.node->window;
  for_each_channel(b.to, [&](int n, int c) {
    auto const from = b.dy.pixels(n, c);
    auto const to = b.to.pixels(n, c);
    for (int i = 0; i < b.to.shape.height; ++i)
      for (int j = 0; j < b.to.shape.width; ++j)
        add_to(to[1LL * i * b.to.shape.width + j], from[1LL * (i + w.pad_top) * b.dy.shape.width + j + w.pad_left],
               b.accumulate);
  });
}

template <class T>
inline constexpr loops<T> loops_for<T, op::zero_pad2d>{.forward = zero_pad2d_forward<T>,
                                                       .backward = zero_pad2d_backward<T>};

}  // namespace dsl::plain::TYPENET_MODE

namespace dsl::host::TYPENET_MODE {

/// Copies an image into a larger one whose other rows and columns are zeros, or copies the gradient of that image back.
/// An item is a band of rows of a channel block of the result, or of a channel if the result has no channel blocks.
/// Only the channels of this tensor are written. vector_tasks.hpp explains Device.
template <class Device>
class zero_pad {
 public:
  zero_pad(Device& at, bound_step<float> const& s)
      : at_(&at),
        forward_(s.step->what == action::forward),
        from_(forward_ ? s.x : s.dy),
        to_(s.to),
        accumulate_(s.accumulate),
        ends_block_(s.ends_block),
        top_(s.node->window.pad_top),
        left_(s.node->window.pad_left),
        lanes_(s.to.block),
        whole_blocks_(in_blocks(from_, lanes_) && in_blocks(to_, lanes_)),
        blocks_(blocks_of(to_.channel % lanes_ + to_.shape.channels, lanes_)) {
    constexpr int most_pixels = 2048;
    int const band = most_pixels / to_.shape.width;
    band_ = band < 1 ? 1 : band;
    bands_ = (to_.shape.height + band_ - 1) / band_;
  }

  void operator()() const {
    at_->run(to_.batch * blocks_ * bands_,
             [this](int i) { fill(i / bands_ / blocks_, i / bands_ % blocks_, i % bands_ * band_); });
  }

 private:
  /// The channels of a sample that an item writes: `count` channels, and lanes behind them that become 0.
  struct channels {
    int sample;
    int first;
    int count;
    int cleared;
  };

  void fill(int n, int block, int first_row) const {
    int const begin = block * lanes_ - to_.channel % lanes_, first = begin < 0 ? 0 : begin;
    int const end = least(begin + lanes_, to_.shape.channels);
    bool const clears = ends_block_ && end == to_.shape.channels;
    channels const c{n, first, end - first, clears ? begin + lanes_ - end : 0};
    int const width = to_.shape.width, inner = from_.shape.width;
    float* y = to_.pixels(n, first).first + 1LL * first_row * width * lanes_;
    for (int i = first_row; i < least(first_row + band_, to_.shape.height); ++i, y += 1LL * width * lanes_) {
      int const row = forward_ ? i - top_ : i + top_;
      if (!forward_) {
        copy(c, y, 1LL * row * inner + left_, width);
      } else if (row < 0 || row >= from_.shape.height) {
        clear(c, y, width);
      } else {
        clear(c, y, left_);
        copy(c, y + 1LL * left_ * lanes_, 1LL * row * inner, inner);
        clear(c, y + 1LL * (left_ + inner) * lanes_, width - left_ - inner);
      }
    }
  }

  /// Writes zeros to consecutive pixels.
  void clear(channels const& c, float* y, int pixels) const {
    int const written = c.count + c.cleared;
    if (written == lanes_) {
      std::memset(y, 0, sizeof(float) * static_cast<unsigned long long>(pixels) * static_cast<unsigned>(lanes_));
      return;
    }
    for (int j = 0; j < pixels; ++j, y += lanes_)
      for (int k = 0; k < written; ++k) y[k] = 0;
  }

  /// Copies consecutive pixels, beginning with pixel `at` of the source, or adds them to the result.
  void copy(channels const& c, float* y, long long at, int pixels) const {
    if (whole_blocks_) {
      move(y, sample_of(from_, c.sample) + c.first * from_.shape.area() + at * lanes_, 1LL * pixels * lanes_);
      return;
    }
    for (int k = 0; k < c.count; ++k) {
      pixel_row<float const> const from = from_.pixels(c.sample, c.first + k);
      for (int j = 0; j < pixels; ++j) {
        float& to = y[1LL * j * lanes_ + k];
        to = accumulate_ ? to + from[at + j] : from[at + j];
      }
    }
    for (int k = c.count; k < c.count + c.cleared; ++k)
      for (int j = 0; j < pixels; ++j) y[1LL * j * lanes_ + k] = 0;
  }

  void move(float* to, float const* from, long long count) const {
    if (!accumulate_) {
      std::memcpy(to, from, sizeof(float) * static_cast<unsigned long long>(count));
      return;
    }
    int const L = at_->lanes();
    at_->vectors().row({row_function::copy, from, from, to, count / L, true});
    for (long long i = count - count % L; i < count; ++i) to[i] += from[i];
  }

  Device* at_;
  bool forward_;
  view<float const> from_;
  view<float> to_;
  bool accumulate_;
  bool ends_block_;
  int top_;
  int left_;
  int lanes_;
  bool whole_blocks_;  // of both tensors; otherwise pixels are copied channel by channel
  int blocks_;
  int band_ = 1, bands_ = 1;
};

template <>
struct step_task<op::zero_pad2d> {
  /// Returns the task of a zero_pad2d step, for tensors of any layout. It does nothing if nobody needs the gradient.
  template <operation_set, class Device>
  static task make(Device& at, bound_step<float> const& s) {
    if (!s.to.data) return [] {};
    return [made = zero_pad<Device>(at, s)] { made(); };
  }
};

}  // namespace dsl::host::TYPENET_MODE
