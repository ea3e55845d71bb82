// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/math.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/executors/host/operation.hpp>
#include <dsl/executors/host/pixel_task.hpp>

namespace dsl::plain::TYPENET_MODE {

/// The divisors (k + alpha / size * the sum of squares) ^ beta of one pixel, in double. The sum is over `size`
/// channels, with the channel itself in the middle; channels that do not exist count as 0.
template <class T>
class response {
 public:
  explicit response(host::bound_step<T> const& b)
      : x_(b.x),
        reach_(b.node->groups / 2),
        share_(b.node->rate / b.node->groups),
        least_(b.node->epsilon),
        power_(b.node->power) {}

  /// Returns the first of the channels on which a channel's divisor depends; last() returns the channel after the last
  /// of them.
  int first(int c) const { return c < reach_ ? 0 : c - reach_; }
  int last(int c) const { return c + reach_ < x_.shape.channels ? c + reach_ + 1 : x_.shape.channels; }
  double value(int n, int c, long long pixel) const { return static_cast<double>(x_(n, c, pixel)); }
  /// Returns the base of the power, k + alpha / size * the sum of squares.
  double base(int n, int c, long long pixel) const {
    double squares = 0;
    for (int i = first(c); i < last(c); ++i) squares += value(n, i, pixel) * value(n, i, pixel);
    return least_ + share_ * squares;
  }
  /// Returns the factor 1 / divisor for this base.
  double factor(double base) const { return detail::pow(base, -power_); }
  /// Returns the derivative of y = x * factor in channel c with respect to the x of a neighbouring channel, divided by
  /// the latter x.
  double slope(int n, int c, long long pixel) const {
    double const at = base(n, c, pixel);
    return -2 * share_ * power_ * value(n, c, pixel) * factor(at) / at;
  }

 private:
  view<T const> x_;
  int reach_;
  double share_, least_, power_;
};

template <class T>
void local_response_norm_forward(host::bound_step<T> const& b, step_context const&) {
  response const r(b);
  for_each_channel(b.to, [&](int n, int c) {
    for (long long i = 0; i < b.to.shape.area(); ++i)
      b.to(n, c, i) = static_cast<T>(r.value(n, c, i) * r.factor(r.base(n, c, i)));
  });
}

/// Computes dx. Since the size is odd, each channel is a neighbour of all channels that are its neighbours.
template <class T>
void local_response_norm_backward(host::bound_step<T> const& b, step_context const&) {
  response const r(b);
  for_each_channel(b.to, [&](int n, int c) {
    for (long long i = 0; i < b.to.shape.area(); ++i) {
      double others = 0;
      for (int k = r.first(c); k < r.last(c); ++k) others += static_cast<double>(b.dy(n, k, i)) * r.slope(n, k, i);
      double const own = static_cast<double>(b.dy(n, c, i)) * r.factor(r.base(n, c, i));
      T const dx = static_cast<T>(own + r.value(n, c, i) * others);
      T& to = b.to(n, c, i);
      to = b.accumulate ? to + dx : dx;
    }
  });
}

template <class T>
inline constexpr loops<T> loops_for<T, op::local_response_norm>{
    .forward = local_response_norm_forward<T>, .backward = local_response_norm_backward<T>, .parts = parts_of::samples};

}  // namespace dsl::plain::TYPENET_MODE

namespace dsl::host::TYPENET_MODE {

template <>
struct step_task<op::local_response_norm> {
  /// Returns the task of a local_response_norm; it is empty for tensors without channel blocks, and if a channel has
  /// neighbours beyond the next block.
  template <operation_set, class Device>
  static task make(Device& at, bound_step<float> const& s) {
    if (!is_blocked(s, at.lanes()) || s.node->groups / 2 > at.lanes()) return {};
    return [&at, &s] {
      for_each_part(at, s.to.batch, s.to.shape.area(), [&](int n, long long first, long long count) {
        long long const offset = first * at.lanes();
        at.vectors().local_response({.x = sample_of(s.x, n) + offset,
                                     .dy = s.dy.data ? sample_of(s.dy, n) + offset : nullptr,
                                     .to = sample_of(s.to, n) + offset,
                                     .apart = s.to.shape.area() * at.lanes(),
                                     .pixels = count,
                                     .blocks = blocks_of(s.to.shape.channels, at.lanes()),
                                     .reach = s.node->groups / 2,
                                     .constant = static_cast<float>(s.node->epsilon),
                                     .share = static_cast<float>(s.node->rate / s.node->groups),
                                     .power = static_cast<float>(s.node->power),
                                     .accumulate = s.accumulate});
      });
    };
  }
};

}  // namespace dsl::host::TYPENET_MODE
