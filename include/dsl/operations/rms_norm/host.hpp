// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/list.hpp>
#include <dsl/detail/math.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/executors/host/operation.hpp>
#include <dsl/operations/layer_norm/host.hpp>

namespace dsl::plain::TYPENET_MODE {

/// Returns 1 / sqrt(mean of the squares + epsilon) of the channels of a pixel.
template <class T>
double inverse_of_squares(view<T const> const& x, int n, long long pixel, double epsilon) {
  double squares = 0;
  for (int c = 0; c < x.shape.channels; ++c)
    squares += static_cast<double>(x(n, c, pixel)) * static_cast<double>(x(n, c, pixel));
  return 1 / detail::sqrt(squares / x.shape.channels + epsilon);
}

/// Computes y = gamma x / sqrt(mean(x^2) + epsilon). y may be x.
template <class T>
void rms_norm_forward(host::bound_step<T> const& b, step_context const&) {
  T const* const gamma = b.parameter(role::gamma);
  for (int n = 0; n < b.to.batch; ++n)
    for (long long pixel = 0; pixel < b.to.shape.area(); ++pixel) {
      double const inverse = inverse_of_squares(b.x, n, pixel, b.node->epsilon);
      for (int c = 0; c < b.to.shape.channels; ++c)
        b.to(n, c, pixel) =
            static_cast<T>(static_cast<double>(b.x(n, c, pixel)) * inverse * static_cast<double>(gamma[c]));
    }
}

/// Computes dx = (g - h mean(g h)) / sqrt(mean(x^2) + epsilon), with g = dy gamma and h the normalised x, and the
/// gradient of gamma, the sum of dy h over samples and pixels. dx may be x or dy, or null.
template <class T>
void rms_norm_backward(host::bound_step<T> const& b, step_context const&) {
  int const channels = b.x.shape.channels;
  T const* const gamma = b.parameter(role::gamma);
  detail::list<double> sums(channels, 0.0);
  for (int n = 0; n < b.x.batch; ++n)
    for (long long pixel = 0; pixel < b.x.shape.area(); ++pixel) {
      double const inverse = inverse_of_squares(b.x, n, pixel, b.node->epsilon);
      double product = 0;
      for (int c = 0; c < channels; ++c) {
        double const own = static_cast<double>(b.dy(n, c, pixel)) * static_cast<double>(b.x(n, c, pixel)) * inverse;
        sums[c] += own, product += own * static_cast<double>(gamma[c]);
      }
      for (int c = 0; b.to.data && c < channels; ++c) {
        double const g = static_cast<double>(b.dy(n, c, pixel)) * static_cast<double>(gamma[c]);
        double const h = static_cast<double>(b.x(n, c, pixel)) * inverse;
        T const dx = static_cast<T>(inverse * (g - h * product / channels));
        T& to = b.to(n, c, pixel);
        to = b.accumulate ? to + dx : dx;
      }
    }
  for (int c = 0; b.gradient(role::gamma) && c < channels; ++c) b.gradient(role::gamma)[c] = static_cast<T>(sums[c]);
}

template <class T>
inline constexpr loops<T> loops_for<T, op::rms_norm>{
    .forward = rms_norm_forward<T>, .backward = rms_norm_backward<T>, .parts = parts_of::samples};

}  // namespace dsl::plain::TYPENET_MODE

namespace dsl::host::TYPENET_MODE {

template <>
struct step_task<op::rms_norm> {
  template <operation_set, class Device>
  static task make(Device& at, bound_step<float> const& s) {
    return layer_norm_task(at, s, false);
  }
};

}  // namespace dsl::host::TYPENET_MODE
