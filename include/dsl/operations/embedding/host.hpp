// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/host/elementwise.hpp>
#include <dsl/executors/host/vector_tasks.hpp>
#include <dsl/executors/host/operation.hpp>
#include <dsl/executors/host/token_number.hpp>

namespace dsl::plain::TYPENET_MODE {

/// Copies the row of each token. The kernel is (vocabulary, features), as in PyTorch. For a token outside the
/// vocabulary, the row is NaNs.
template <class T>
void embedding_forward(host::bound_step<T> const& b, step_context const&) {
  int const features = b.to.shape.channels;
  for (int n = 0; n < b.to.batch; ++n)
    for (long long i = 0; i < b.to.shape.area(); ++i) {
      int const token = host::token_of(b.x(n, 0, i), b.node->groups);
      T const* const row = token < 0 ? nullptr : b.parameter(role::kernel) + 1LL * token * features;
      for (int c = 0; c < features; ++c) b.to(n, c, i) = row ? row[c] : static_cast<T>(__builtin_nan(""));
    }
}

/// Computes the gradient of each row of the kernel, which is summed over the places of its token in the samples' order.
/// The input's gradient is 0, since small changes of a token's number do not change the output.
template <class T>
void embedding_backward(host::bound_step<T> const& b, step_context const&) {
  int const features = b.dy.shape.channels;
  if (T* const all = b.gradient(role::kernel)) {
    for (long long k = 0; k < 1LL * b.node->groups * features; ++k) all[k] = 0;
    for (int n = 0; n < b.dy.batch; ++n)
      for (long long i = 0; i < b.dy.shape.area(); ++i) {
        int const token = host::token_of(b.x(n, 0, i), b.node->groups);
        for (int c = 0; token >= 0 && c < features; ++c) all[1LL * token * features + c] += b.dy(n, c, i);
      }
  }
  if (!b.to.data || b.accumulate) return;
  for_each_channel(b.to, [&](int n, int c) {
    auto const to = b.to.pixels(n, c);
    for (long long i = 0; i < b.to.shape.area(); ++i) to[i] = 0;
  });
}

template <class T>
inline constexpr loops<T> loops_for<T, op::embedding>{
    .forward = embedding_forward<T>, .backward = embedding_backward<T>, .parts = parts_of::samples};

}  // namespace dsl::plain::TYPENET_MODE

namespace dsl::host::TYPENET_MODE {

/// Copies the rows of an embedding's kernel into channel blocks, and sums their gradients. An item is a channel block,
/// of one sample or, for the gradients, of all: each number of a gradient is summed by one thread in the samples'
/// order, as the plain loops do. vector_tasks.hpp explains Device.
template <class Device>
class embedding_steps {
 public:
  embedding_steps(Device& at, bound_step<float> const& s) : at_(&at), step_(&s), lanes_(at.lanes()) {}

  void look_up() const {
    view<float> const& to = step_->to;
    int const features = to.shape.channels, blocks = blocks_of(features, lanes_);
    at_->run(to.batch * blocks, [&](int i) {
      int const n = i / blocks, first = i % blocks * lanes_, used = least(lanes_, features - first);
      float* y = sample_of(to, n) + first * to.shape.area();
      for (long long place = 0; place < to.shape.area(); ++place, y += lanes_) {
        int const token = token_of(step_->x(n, 0, place), step_->node->groups);
        float const* const row = step_->parameter(role::kernel) + 1LL * token * features + first;
        for (int l = 0; l < used; ++l) y[l] = token < 0 ? __builtin_nanf("") : row[l];
        for (int l = used; l < lanes_; ++l) y[l] = 0;
      }
    });
  }

  void sum_gradients() const {
    view<float const> const& dy = step_->dy;
    int const features = dy.shape.channels, vocabulary = step_->node->groups;
    at_->run(blocks_of(features, lanes_), [&](int block) {
      int const first = block * lanes_, used = least(lanes_, features - first);
      float* const gradients = step_->gradient(role::kernel) + first;
      for (long long token = 0; token < vocabulary; ++token)
        for (int l = 0; l < used; ++l) gradients[token * features + l] = 0;
      for (int n = 0; n < dy.batch; ++n) {
        float const* from = sample_of(dy, n) + first * dy.shape.area();
        for (long long place = 0; place < dy.shape.area(); ++place, from += lanes_) {
          int const token = token_of(step_->x(n, 0, place), vocabulary);
          for (int l = 0; token >= 0 && l < used; ++l) gradients[1LL * token * features + l] += from[l];
        }
      }
    });
  }

 private:
  Device* at_;
  bound_step<float> const* step_;
  int lanes_;
};

template <>
struct step_task<op::embedding> {
  /// Returns the task of an embedding, or an empty task if its output is not in channel blocks, or if the gradient of
  /// its input, which is 0, must be written.
  template <operation_set, class Device>
  static task make(Device& at, bound_step<float> const& s) {
    bool const forward = s.step->what == action::forward;
    view<float const> const y =
        forward ? view<float const>{s.to.data, s.to.shape, s.to.batch, s.to.block, s.to.buffer_channels, s.to.channel}
                : s.dy;
    if (y.block != at.lanes() || !in_blocks(y, at.lanes())) return {};
    embedding_steps<Device> const made(at, s);
    if (forward) return [made] { made.look_up(); };
    if (s.to.data || !s.gradient(role::kernel)) return {};
    return [made] { made.sum_gradients(); };
  }
};

}  // namespace dsl::host::TYPENET_MODE
