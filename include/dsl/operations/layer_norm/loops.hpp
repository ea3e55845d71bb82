// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/math.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/executors/reference/step_loops.hpp>

#include <cstddef>

namespace dsl::plain::TYPENET_MODE {

/// The mean of the channels of one pixel, and 1 / sqrt(variance + epsilon) with the biased variance, in double.
struct pixel_moments {
  double mean = 0;
  double inverse = 0;

  template <class T>
  pixel_moments(view<T const> const& x, int n, long long pixel, double epsilon) {
    int const channels = x.shape.channels;
    double squares = 0;
    for (int c = 0; c < channels; ++c) mean += static_cast<double>(x(n, c, pixel));
    mean /= channels;
    for (int c = 0; c < channels; ++c) {
      double const distance = static_cast<double>(x(n, c, pixel)) - mean;
      squares += distance * distance;
    }
    inverse = 1 / detail::sqrt(squares / channels + epsilon);
  }
  template <class T>
  double normal(T x) const {
    return (static_cast<double>(x) - mean) * inverse;
  }
};

/// Computes y = gamma (x - mean) / sqrt(variance + epsilon) + beta. y may be x.
template <class T>
void layer_norm_forward(host::bound_step<T> const& b, step_context const&) {
  T const *const gamma = b.parameter(role::gamma), *const beta = b.parameter(role::beta);
  for (int n = 0; n < b.to.batch; ++n)
    for (long long pixel = 0; pixel < b.to.shape.area(); ++pixel) {
      pixel_moments const m(b.x, n, pixel, b.node->epsilon);
      for (int c = 0; c < b.to.shape.channels; ++c)
        b.to(n, c, pixel) =
            static_cast<T>(m.normal(b.x(n, c, pixel)) * static_cast<double>(gamma[c]) + static_cast<double>(beta[c]));
    }
}

/// Computes dx = (g - mean(g) - h mean(g h)) / sqrt(variance + epsilon), with g = dy gamma and h the normalised x. dx
/// may be x or dy, or null; the gradients of gamma and beta are sums over samples and pixels in double.
template <class T>
void layer_norm_backward(host::bound_step<T> const& b, step_context const&) {
  int const channels = b.x.shape.channels;
  T const* const gamma = b.parameter(role::gamma);
  constexpr int most = 256;  // channels at a time, whose sums fit on the stack
  for (int begin = 0; b.gradient(role::gamma) && begin < channels; begin += most) {
    int const count = channels - begin < most ? channels - begin : most;
    double products[most] = {}, sums[most] = {};
    for (int n = 0; n < b.x.batch; ++n)
      for (long long pixel = 0; pixel < b.x.shape.area(); ++pixel) {
        pixel_moments const m(b.x, n, pixel, b.node->epsilon);
        for (int c = 0; c < count; ++c) {
          auto const dy = static_cast<double>(b.dy(n, begin + c, pixel));
          sums[c] += dy, products[c] += dy * m.normal(b.x(n, begin + c, pixel));
        }
      }
    for (int c = 0; c < count; ++c) {
      b.gradient(role::gamma)[begin + c] = static_cast<T>(products[c]);
      b.gradient(role::beta)[begin + c] = static_cast<T>(sums[c]);
    }
  }
  for (int n = 0; b.to.data && n < b.x.batch; ++n)
    for (long long pixel = 0; pixel < b.x.shape.area(); ++pixel) {
      pixel_moments const m(b.x, n, pixel, b.node->epsilon);
      double sum = 0, product = 0;
      for (int c = 0; c < channels; ++c) {
        double const g = static_cast<double>(b.dy(n, c, pixel)) * static_cast<double>(gamma[c]);
        sum += g, product += g * m.normal(b.x(n, c, pixel));
      }
      for (int c = 0; c < channels; ++c) {
        double const g = static_cast<double>(b.dy(n, c, pixel)) * static_cast<double>(gamma[c]);
        double const h = m.normal(b.x(n, c, pixel));
        T const dx = static_cast<T>(m.inverse * (g - sum / channels - h * product / channels));
        T& to = b.to(n, c, pixel);
        to = b.accumulate ? to + dx : dx;
      }
    }
}

template <class T>
inline constexpr loops<T> loops_for<T, op::layer_norm>{
    .forward = layer_norm_forward<T>, .backward = layer_norm_backward<T>, .parts = parts_of::samples};

}  // namespace dsl::plain::TYPENET_MODE
