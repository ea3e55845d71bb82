// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/host/vector_tasks.hpp>
#include <dsl/executors/host/operation.hpp>

namespace dsl::plain::TYPENET_MODE {

/// An operand of multiply, broadcast to the output's shape: row(n, c)[i * step] is its value for channel c and pixel i.
template <class T>
struct broadcast {
  view<T> const& from;
  pixel_row<T> row(int n, int c) const {
    pixel_row<T> r = from.pixels(n, from.shape.channels > 1 ? c : 0);
    if (from.shape.is_flat()) r.step = 0;
    return r;
  }
};

template <class T>
void multiply_forward(host::bound_step<T> const& b, step_context const&) {
  broadcast<T const> const first{b.x}, second{b.x2};
  for (int n = 0; n < b.to.batch; ++n)
    for (int c = 0; c < b.to.shape.channels; ++c) {
      auto const x = first.row(n, c), y = second.row(n, c);
      auto const out = b.to.pixels(n, c);
      for (long long i = 0; i < b.to.shape.area(); ++i) out[i] = x[i] * y[i];
    }
}

/// Computes the gradient of one operand. It is dy times the other operand, summed over the channels and pixels to which
/// the first operand was broadcast. Pixels are summed in double.
template <class T>
void multiply_backward(host::bound_step<T> const& b, step_context const&) {
  broadcast<T const> const other{b.x};
  bool const one_channel = b.to.shape.channels == 1;
  bool const one_pixel = b.to.shape.is_flat();
  for (int n = 0; n < b.dy.batch; ++n)
    for (int c = 0; c < b.dy.shape.channels; ++c) {
      auto const dy = b.dy.pixels(n, c), x = other.row(n, c);
      auto const to = b.to.pixels(n, one_channel ? 0 : c);
      bool const adds = b.accumulate || (one_channel && c > 0);
      long long const area = b.dy.shape.area();
      double sum = 0;
      for (long long i = 0; one_pixel && i < area; ++i) sum += static_cast<double>(dy[i]) * static_cast<double>(x[i]);
      if (one_pixel) to[0] = static_cast<T>(sum) + (adds ? to[0] : T(0));
      for (long long i = 0; !one_pixel && i < area; ++i) to[i] = dy[i] * x[i] + (adds ? to[i] : T(0));
    }
}

template <class T>
inline constexpr loops<T> loops_for<T, op::multiply>{
    .forward = multiply_forward<T>, .backward = multiply_backward<T>, .parts = parts_of::samples};

}  // namespace dsl::plain::TYPENET_MODE

namespace dsl::host::TYPENET_MODE {

/// The ways in which an operand of multiply is repeated to get the result's shape.
enum class extent_of : unsigned char { other, all, channels, pixels };

/// Returns how an operand is broadcast, or `other` if no kernel fits the operand's layout. With `channels`, the operand
/// has one number per channel; with `pixels`, one number per pixel.
inline extent_of extent(view<float const> const& v, shape const& all, int lanes) {
  if (all.is_flat())
    return v.shape == all && v.block == 1 && all.size() % lanes == 0 ? extent_of::all : extent_of::other;
  if (v.shape == all) return v.block == lanes && in_blocks(v, lanes) ? extent_of::all : extent_of::other;
  if (v.shape.is_flat() && v.shape.channels == all.channels) return extent_of::channels;
  bool const pixels = v.shape.channels == 1 && v.shape.height == all.height && v.shape.width == all.width;
  return pixels ? extent_of::pixels : extent_of::other;
}

template <>
struct step_task<op::multiply> {
  /// Returns the task of a multiply's forward step, or of the gradient with respect to one operand: dy times the other
  /// operand, summed in double over the pixels to which the first operand was broadcast. The task is empty for tensors
  /// that do not consist of whole blocks, and for the gradient with respect to an operand with one number per pixel.
  template <operation_set, class Device>
  static task make(Device& at, bound_step<float> const& s) {
    bool const forward = s.step->what == action::forward;
    view<float const> a = forward ? s.x : s.dy, b = forward ? s.x2 : s.x;
    view<float const> const to{s.to.data, s.to.shape, s.to.batch, s.to.block, s.to.buffer_channels, s.to.channel};
    shape const all = forward ? to.shape : a.shape;
    int const L = at.lanes(), blocks = all.is_flat() ? 1 : blocks_of(all.channels, L);
    long long const count = all.is_flat() ? all.size() / L : all.area();
    if (forward && extent(a, all, L) != extent_of::all) std::swap(a, b);
    extent_of const of_b = extent(b, all, L), of_to = extent(to, all, L);
    if (extent(a, all, L) != extent_of::all || of_b == extent_of::other) return {};
    if (of_to == extent_of::channels && of_b == extent_of::all)
      return [&at, a, b, to = s.to, accumulate = s.accumulate, blocks, count, L] {
        at.run(to.batch * blocks, [&](int i) {
          int const n = i / blocks, first = i % blocks * L;
          double sums[16];
          at.vectors().product_sums({sample_of(a, n) + first * count, sample_of(b, n) + first * count, count, sums});
          for (int l = 0; l < L && first + l < to.shape.channels; ++l) {
            float& sum = to(n, first + l, 0);
            sum = static_cast<float>(sums[l]) + (accumulate ? sum : 0.0F);
          }
        });
      };
    if (of_to != extent_of::all) return {};
    return [&at, a, b, to = s.to, accumulate = s.accumulate, of_b, blocks, count, L] {
      at.run(to.batch * blocks, [&](int i) {
        int const n = i / blocks, first = i % blocks * L;
        float own[16] = {};
        for (int l = 0; of_b == extent_of::channels && l < L && first + l < b.shape.channels; ++l)
          own[l] = b(n, first + l, 0);
        bool const pixels = of_b == extent_of::pixels;
        at.vectors().multiply({.a = sample_of(a, n) + first * count,
                               .b = pixels                        ? &b(n, 0, 0)
                                    : of_b == extent_of::channels ? own
                                                                  : sample_of(b, n) + first * count,
                               .b_step = pixels                   ? b.block
                                         : of_b == extent_of::all ? L
                                                                  : 0,
                               .numbers = pixels,
                               .to = sample_of(to, n) + first * count,
                               .count = count,
                               .accumulate = accumulate});
      });
    };
  }
};

}  // namespace dsl::host::TYPENET_MODE
