// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/host/memory_tasks.hpp>
#include <dsl/executors/host/step_task.hpp>

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
  template <operation_set, class Place>
  static task make(Place& at, bound_step<float> const& s) {
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
          at.memory().product_sums({sample_of(a, n) + first * count, sample_of(b, n) + first * count, count, sums});
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
        at.memory().multiply({.a = sample_of(a, n) + first * count,
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
