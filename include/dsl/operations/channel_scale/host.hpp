// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/host/elementwise.hpp>
#include <dsl/executors/host/operation.hpp>
#include <dsl/executors/host/pixel_task.hpp>

namespace dsl::plain::TYPENET_MODE {

/// Computes y = gamma x for each channel. y may be x.
template <class T>
void channel_scale_forward(host::bound_step<T> const& b, step_context const&) {
  for_each_channel(b.to, [&](int n, int c) {
    auto const in = b.x.pixels(n, c);
    auto const out = b.to.pixels(n, c);
    T const scale = b.parameter(role::gamma)[c];
    for (long long i = 0; i < b.to.shape.area(); ++i) out[i] = in[i] * scale;
  });
}

/// Computes dx and each scale's gradient, which is a sum over samples and pixels in double. dx may be x or dy.
template <class T>
void channel_scale_backward(host::bound_step<T> const& b, step_context const&) {
  for (int c = 0; c < b.x.shape.channels; ++c) {
    double sum = 0;
    for (int n = 0; b.gradient(role::gamma) && n < b.x.batch; ++n) {
      auto const x = b.x.pixels(n, c), dy = b.dy.pixels(n, c);
      for (long long i = 0; i < b.x.shape.area(); ++i) sum += static_cast<double>(x[i]) * static_cast<double>(dy[i]);
    }
    if (b.gradient(role::gamma)) b.gradient(role::gamma)[c] = static_cast<T>(sum);
    for (int n = 0; b.to.data && n < b.x.batch; ++n) {
      auto const dy = b.dy.pixels(n, c);
      auto const to = b.to.pixels(n, c);
      for (long long i = 0; i < b.x.shape.area(); ++i) add_to(to[i], dy[i] * b.parameter(role::gamma)[c], b.accumulate);
    }
  }
}

template <class T>
inline constexpr loops<T> loops_for<T, op::channel_scale>{.forward = channel_scale_forward<T>,
                                                          .backward = channel_scale_backward<T>};

}  // namespace dsl::plain::TYPENET_MODE

namespace dsl::host::TYPENET_MODE {

template <>
struct step_task<op::channel_scale> {
  /// Returns the task of a channel_scale step, or an empty task if a tensor does not consist of whole channel blocks.
  /// The sums for gamma's gradient are computed in double for each sample, and added in the order of the samples.
  template <operation_set, class Device>
  static task make(Device& at, bound_step<float> const& s) {
    int const L = at.lanes();
    if (!is_blocked(s, L)) return {};
    bool const forward = s.step->what == action::forward;
    view<float const> const& read = forward ? s.x : s.dy;  // a frozen layer's backward step reads nothing else
    int const channels = read.shape.channels, blocks = blocks_of(channels, L);
    at.need_shared(forward ? 0 : 2LL * read.batch * blocks * L);
    return [&at, &s, forward, channels, blocks, L] {
      if (float* const gradient = forward ? nullptr : s.gradient(role::gamma)) {
        auto* const sums = reinterpret_cast<double*>(at.shared());
        long long const each = 1LL * blocks * L, area = s.x.shape.area();
        at.run(s.x.batch * blocks, [&](int i) {
          int const n = i / blocks, b = i % blocks;
          at.vectors().product_sums({sample_of(s.x, n) + b * L * area, sample_of(s.dy, n) + b * L * area, area,
                                     sums + n * each + 1LL * b * L});
        });
        for (int c = 0; c < channels; ++c) {
          double sum = 0;
          for (int n = 0; n < s.x.batch; ++n) sum += sums[n * each + c];
          gradient[c] = static_cast<float>(sum);
        }
      }
      if (!s.to.data) return;
      at.run(s.to.batch * blocks, [&](int i) {
        float gamma[16] = {};
        int const b = i % blocks;
        for (int l = 0; l < L && b * L + l < channels; ++l) gamma[l] = s.parameter(role::gamma)[b * L + l];
        multiply_block(at, forward ? s.x : s.dy, s.to, i / blocks, b, gamma, s.accumulate);
      });
    };
  }
};

}  // namespace dsl::host::TYPENET_MODE
