// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/host/memory_tasks.hpp>

#include <cstring>

namespace dsl::host::TYPENET_MODE {

/// Runs the steps that copy tokens, vector by vector: merge_pixels, class_token, token_slice, position_embedding, and,
/// tile by tile, transpose_tokens.
/// An item is a channel block of a sample, so that no two threads write to the same numbers. memory_tasks.hpp explains
/// Place.
template <class Place>
class token_steps {
 public:
  token_steps(Place& at, bound_step<float> const& s) : at_(&at), step_(&s), lanes_(at.lanes()) {}

  /// Whether the channels of all tensors are whole vectors.
  bool fits() const {
    auto const whole = [this](auto const& v) {
      return !v.data || (v.shape.channels % lanes_ == 0 && in_blocks(v, lanes_));
    };
    return whole(step_->x) && whole(step_->dy) && whole(step_->to);
  }

  /// Whether both tensors of a transpose_tokens are in channel blocks, of which the last one need not be full.
  bool fits_transposed() const {
    auto const blocked = [this](auto const& v) { return !v.data || (v.block == lanes_ && in_blocks(v, lanes_)); };
    return blocked(step_->x) && blocked(step_->dy) && blocked(step_->to);
  }

  void merge() const {
    each_block(step_->to, [this](int n, int block) {
      float* const to = numbers(step_->to, n, block);
      for_each_merged(step_->x, step_->to.shape, n, block,
                      [&](float const* from, long long pixel) { move(to + pixel * lanes_, from, lanes_, false); });
    });
  }
  void divide() const {
    if (!step_->to.data) return;
    each_block(step_->dy, [this](int n, int block) {
      float const* const dy = numbers(step_->dy, n, block);
      for_each_merged(step_->to, step_->dy.shape, n, block,
                      [&](float* to, long long pixel) { move(to, dy + pixel * lanes_, lanes_, step_->accumulate); });
    });
  }

  void put_token() const {
    each_block(step_->to, [this](int n, int block) {
      float* const to = numbers(step_->to, n, block);
      move(to, step_->parameter(role::kernel) + 1LL * block * lanes_, lanes_, false);
      move(to + lanes_, numbers(step_->x, n, block), step_->x.shape.area() * lanes_, false);
    });
  }
  void take_token() const {
    if (float* const gradient = step_->gradient(role::kernel)) sum_samples(0, gradient);
    if (!step_->to.data) return;
    each_block(step_->to, [this](int n, int block) {
      move(numbers(step_->to, n, block), numbers(step_->dy, n, block) + lanes_, step_->to.shape.area() * lanes_,
           step_->accumulate);
    });
  }

  void select() const {
    each_block(step_->to, [this](int n, int block) {
      move(numbers(step_->to, n, block), numbers(step_->x, n, block) + 1LL * step_->node->first_channel * lanes_,
           step_->to.shape.area() * lanes_, false);
    });
  }
  void select_backward() const {
    if (!step_->to.data) return;
    each_block(step_->to, [this](int n, int block) {
      float* const to = numbers(step_->to, n, block);
      long long const all = step_->to.shape.area() * lanes_;
      if (!step_->accumulate) std::memset(to, 0, sizeof(float) * static_cast<unsigned long long>(all));
      move(to + 1LL * step_->node->first_channel * lanes_, numbers(step_->dy, n, block),
           step_->dy.shape.area() * lanes_, step_->accumulate);
    });
  }

  /// Swaps channels and pixels. The pixels and channels of a tile, which has as many of both as a vector has lanes, are
  /// consecutive in both tensors.
  void transpose(view<float const> const& from) const {
    view<float> const& to = step_->to;
    if (!to.data) return;
    bool const accumulate = step_->accumulate;
    int const blocks = blocks_of(to.shape.channels, lanes_);
    at_->run(to.batch * blocks, [&](int i) {
      int const n = i / blocks, block = i % blocks, first = block * lanes_;
      int const used = least(lanes_, to.shape.channels - first);
      float* y = numbers(to, n, block);
      for (int c = 0; c < from.shape.channels; ++c, y += lanes_) {
        float const* const x = numbers(from, n, c / lanes_) + 1LL * first * lanes_ + c % lanes_;
        for (int l = 0; l < used; ++l) y[l] = accumulate ? y[l] + x[1LL * l * lanes_] : x[1LL * l * lanes_];
        for (int l = used; l < lanes_; ++l) y[l] = 0;
      }
    });
  }

  void add_positions() const {
    int const channels = step_->to.shape.channels;
    each_block(step_->to, [this, channels](int n, int block) {
      float* to = numbers(step_->to, n, block);
      float const *x = numbers(step_->x, n, block), *added = step_->parameter(role::kernel) + 1LL * block * lanes_;
      for (long long i = 0; i < step_->to.shape.area(); ++i, x += lanes_, to += lanes_, added += channels)
        for (int l = 0; l < lanes_; ++l) to[l] = x[l] + added[l];
    });
  }
  void add_positions_backward() const {
    if (float* const gradient = step_->gradient(role::kernel)) {
      int const channels = step_->dy.shape.channels;
      at_->run(static_cast<int>(step_->dy.shape.area()),
               [&](int pixel) { sum_samples(pixel, gradient + 1LL * pixel * channels); });
    }
    if (!step_->to.data || (step_->to.data == step_->dy.data && !step_->accumulate)) return;
    each_block(step_->to, [this](int n, int block) {
      move(numbers(step_->to, n, block), numbers(step_->dy, n, block), step_->to.shape.area() * lanes_,
           step_->accumulate);
    });
  }

 private:
  template <class T>
  T* numbers(view<T> const& v, int n, int block) const {
    return sample_of(v, n) + 1LL * block * lanes_ * v.shape.area();
  }
  /// Calls f(sample, channel block) for all channel blocks of a tensor.
  template <class V, class F>
  void each_block(V const& v, F const& f) const {
    int const blocks = v.shape.channels / lanes_;
    at_->run(v.batch * blocks, [&f, blocks](int i) { f(i / blocks, i % blocks); });
  }
  /// Calls f(address in the larger image, pixel of the merged one) for the pixels of a channel block of the merged one.
  template <class T, class F>
  void for_each_merged(view<T> const& image, shape const& merged, int n, int block, F const& f) const {
    int const side = image.shape.height / merged.height, first = block * lanes_;
    int const place = first / image.shape.channels, down = place % side, right = place / side;
    T* const from = numbers(image, n, first % image.shape.channels / lanes_);
    long long pixel = 0;
    for (int y = 0; y < merged.height; ++y)
      for (int x = 0; x < merged.width; ++x)
        f(from + ((1LL * y * side + down) * image.shape.width + 1LL * x * side + right) * lanes_, pixel++);
  }
  /// Sums the gradient of one pixel over the samples, in double.
  void sum_samples(long long pixel, float* to) const {
    for (int c = 0; c < step_->dy.shape.channels; ++c) {
      double sum = 0;
      for (int n = 0; n < step_->dy.batch; ++n)
        sum += static_cast<double>(numbers(step_->dy, n, c / lanes_)[pixel * lanes_ + c % lanes_]);
      to[c] = static_cast<float>(sum);
    }
  }
  static void move(float* to, float const* from, long long count, bool accumulate) {
    if (!accumulate) std::memcpy(to, from, sizeof(float) * static_cast<unsigned long long>(count));
    for (long long i = 0; accumulate && i < count; ++i) to[i] += from[i];
  }

  Place* at_;
  bound_step<float> const* step_;
  int lanes_;
};

/// Returns the task of a step that copies tokens, or an empty task for other steps and for tensors whose channels are
/// not whole vectors. transpose_tokens only needs tensors that begin and end with channel blocks.
template <class Place>
task token_task(Place& at, bound_step<float> const& s) {
  token_steps<Place> const made(at, s);
  bool const forward = s.step->what == action::forward;
  if (s.node->kind == op::transpose_tokens) {
    if (!made.fits_transposed()) return {};
    return [made, &from = forward ? s.x : s.dy] { made.transpose(from); };
  }
  if (!made.fits()) return {};
  switch (s.node->kind) {
    case op::merge_pixels:
      if (forward) return [made] { made.merge(); };
      return [made] { made.divide(); };
    case op::class_token:
      if (forward) return [made] { made.put_token(); };
      return [made] { made.take_token(); };
    case op::token_slice:
      if (forward) return [made] { made.select(); };
      return [made] { made.select_backward(); };
    case op::position_embedding:
      if (forward) return [made] { made.add_positions(); };
      return [made] { made.add_positions_backward(); };
    default: return {};
  }
}

}  // namespace dsl::host::TYPENET_MODE
