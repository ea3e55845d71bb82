// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/math.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/executors/reference/step_loops.hpp>

namespace dsl::plain::TYPENET_MODE {

/// A group of consecutive channels that are normalised together.
struct channel_group {
  int first = 0;
  int count = 0;
};

/// The mean of a group in one sample, and 1 / sqrt(variance + epsilon) with the biased variance, in double.
struct group_moments {
  double mean = 0;
  double inverse = 0;

  template <class T>
  group_moments(view<T const> const& x, int n, channel_group const& g, double epsilon) {
    double const numbers = static_cast<double>(g.count) * static_cast<double>(x.shape.area());
    double squares = 0;
    for (int c = g.first; c < g.first + g.count; ++c) {
      auto const from = x.pixels(n, c);
      for (long long i = 0; i < x.shape.area(); ++i) mean += static_cast<double>(from[i]);
    }
    mean /= numbers;
    for (int c = g.first; c < g.first + g.count; ++c) {
      auto const from = x.pixels(n, c);
      for (long long i = 0; i < x.shape.area(); ++i) {
        double const distance = static_cast<double>(from[i]) - mean;
        squares += distance * distance;
      }
    }
    inverse = 1 / detail::sqrt(squares / numbers + epsilon);
  }
  template <class T>
  double normal(T x) const {
    return (static_cast<double>(x) - mean) * inverse;
  }
};

/// Calls f(sample, group) for all groups of all samples.
template <class F>
void for_each_group(shape const& s, int batch, int groups, F f) {
  int const count = s.channels / groups;
  for (int n = 0; n < batch; ++n)
    for (int g = 0; g < groups; ++g) f(n, channel_group{g * count, count});
}

/// Computes y = gamma (x - mean) / sqrt(variance + epsilon) + beta. y may be the same memory as x.
template <class T>
void group_norm_forward(host::bound_step<T> const& b, step_context const&) {
  for_each_group(b.to.shape, b.to.batch, b.node->groups, [&](int n, channel_group const& g) {
    group_moments const m(b.x, n, g, b.node->epsilon);
    for (int c = g.first; c < g.first + g.count; ++c) {
      auto const from = b.x.pixels(n, c);
      auto const to = b.to.pixels(n, c);
      auto const gamma = static_cast<double>(b.parameter(role::gamma)[c]);
      auto const beta = static_cast<double>(b.parameter(role::beta)[c]);
      for (long long i = 0; i < b.to.shape.area(); ++i) to[i] = static_cast<T>(m.normal(from[i]) * gamma + beta);
    }
  });
}

/// Computes the gradients of gamma and beta, which are summed over samples and pixels in double.
template <class T>
void group_norm_weights(host::bound_step<T> const& b) {
  int const groups = b.node->groups, each = b.x.shape.channels / groups;
  constexpr int most = 256;  // channels at a time, whose sums fit on the stack
  for (int g = 0; g < groups; ++g)
    for (int begin = g * each, end = begin + each; begin < end; begin += most) {
      int const count = end - begin < most ? end - begin : most;
      double products[most] = {}, sums[most] = {};
      for (int n = 0; n < b.x.batch; ++n) {
        group_moments const m(b.x, n, {g * each, each}, b.node->epsilon);
        for (int c = 0; c < count; ++c) {
          auto const x = b.x.pixels(n, begin + c), from = b.dy.pixels(n, begin + c);
          for (long long i = 0; i < b.x.shape.area(); ++i) {
            auto const dy = static_cast<double>(from[i]);
            sums[c] += dy, products[c] += dy * m.normal(x[i]);
          }
        }
      }
      for (int c = 0; c < count; ++c) {
        b.gradient(role::gamma)[begin + c] = static_cast<T>(products[c]);
        b.gradient(role::beta)[begin + c] = static_cast<T>(sums[c]);
      }
    }
}

/// Computes dx = (g - mean(g) - h mean(g h)) / sqrt(variance + epsilon), with g = dy gamma and h the normalised x; the
/// means are over the group. dx may be x or dy, or null.
template <class T>
void group_norm_backward(host::bound_step<T> const& b, step_context const&) {
  if (b.gradient(role::gamma)) group_norm_weights(b);
  if (!b.to.data) return;
  long long const area = b.x.shape.area();
  for_each_group(b.x.shape, b.x.batch, b.node->groups, [&](int n, channel_group const& g) {
    group_moments const m(b.x, n, g, b.node->epsilon);
    double const numbers = static_cast<double>(g.count) * static_cast<double>(area);
    double sum = 0, product = 0;
    auto const scaled = [&](int c, T dy) {
      return static_cast<double>(dy) * static_cast<double>(b.parameter(role::gamma)[c]);
    };
    for (int c = g.first; c < g.first + g.count; ++c) {
      auto const x = b.x.pixels(n, c), dy = b.dy.pixels(n, c);
      for (long long i = 0; i < area; ++i) {
        double const v = scaled(c, dy[i]);
        sum += v, product += v * m.normal(x[i]);
      }
    }
    for (int c = g.first; c < g.first + g.count; ++c) {
      auto const x = b.x.pixels(n, c), dy = b.dy.pixels(n, c);
      auto const to = b.to.pixels(n, c);
      for (long long i = 0; i < area; ++i) {
        double const h = m.normal(x[i]);
        T const dx = static_cast<T>(m.inverse * (scaled(c, dy[i]) - sum / numbers - h * product / numbers));
        to[i] = b.accumulate ? to[i] + dx : dx;
      }
    }
  });
}

template <class T>
inline constexpr loops<T> loops_for<T, op::group_norm>{
    .forward = group_norm_forward<T>, .backward = group_norm_backward<T>, .parts = parts_of::samples};

}  // namespace dsl::plain::TYPENET_MODE
