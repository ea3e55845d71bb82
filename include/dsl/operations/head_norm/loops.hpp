// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/list.hpp>
#include <dsl/detail/math.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/executors/reference/elementwise.hpp>
#include <dsl/executors/reference/step_loops.hpp>

namespace dsl::plain::TYPENET_MODE {

/// Returns e^gamma, at most 100, as in Swin Transformers (Liu et al. 2022); NaN stays NaN.
inline double factor_of_queries(double gamma) { return gamma >= 4.605170185988091 ? 100 : detail::exp(gamma); }

/// The queries or keys of one head at one pixel.
template <class T>
struct head_vector {
  view<T> const& v;
  int n, first, width;
  long long pixel;

  T& operator[](int c) const { return v(n, first + c, pixel); }
};
/// Returns the length of a vector, at least 1e-12, as in PyTorch; NaN if a number of the vector is NaN.
template <class T>
double length_of(head_vector<T> const& x) {
  double squares = 0;
  for (int c = 0; c < x.width; ++c) squares += static_cast<double>(x[c]) * static_cast<double>(x[c]);
  double const length = detail::sqrt(squares);
  return length < 1e-12 ? 1e-12 : length;
}

/// Calls f(sample, part, head, first channel, width, pixel) for all queries and keys; part is 0 for queries.
template <class T, class F>
void for_each_vector(view<T> const& v, int heads, F f) {
  int const channels = v.shape.channels / 3, width = channels / heads;
  for (int n = 0; n < v.batch; ++n)
    for (int part = 0; part < 2; ++part)
      for (int head = 0; head < heads; ++head)
        for (long long i = 0; i < v.shape.area(); ++i) f(n, part, head, part * channels + head * width, width, i);
}

template <class T>
void head_norm_forward(host::bound_step<T> const& b, step_context const&) {
  T const* const gamma = b.parameter(role::gamma);
  for_each_vector(b.to, b.node->groups, [&](int n, int part, int head, int first, int width, long long pixel) {
    head_vector<T const> const x{b.x, n, first, width, pixel};
    double const factor = part == 0 ? factor_of_queries(static_cast<double>(gamma[head])) : 1;
    double const times = factor / length_of(x);
    for (int c = 0; c < width; ++c) b.to(n, first + c, pixel) = static_cast<T>(static_cast<double>(x[c]) * times);
  });
  int const values = b.to.shape.channels / 3 * 2;
  for (int n = 0; n < b.to.batch; ++n)
    for (int c = values; c < b.to.shape.channels; ++c)
      for (long long i = 0; i < b.to.shape.area(); ++i) b.to(n, c, i) = b.x(n, c, i);
}

/// Computes dx = f (dy - u (u dy)) / |x|, with u = x / |x| and f the factor of the queries, and the gradient of gamma,
/// which is the sum of f u dy over all queries if f is below 100.
template <class T>
void head_norm_backward(host::bound_step<T> const& b, step_context const&) {
  T const* const gamma = b.parameter(role::gamma);
  detail::list<double> sums(b.node->groups, 0.0);
  for_each_vector(b.x, b.node->groups, [&](int n, int part, int head, int first, int width, long long pixel) {
    head_vector<T const> const x{b.x, n, first, width, pixel}, dy{b.dy, n, first, width, pixel};
    double const given = static_cast<double>(gamma[head]), factor = part == 0 ? factor_of_queries(given) : 1;
    double const length = length_of(x);
    double product = 0;
    for (int c = 0; c < width; ++c) product += static_cast<double>(x[c]) * static_cast<double>(dy[c]);
    product /= length;
    if (part == 0 && !(factor >= 100)) sums[head] += factor * product;
    for (int c = 0; b.to.data && c < width; ++c) {
      double const dx = (static_cast<double>(dy[c]) - static_cast<double>(x[c]) / length * product) * factor / length;
      add_to(b.to(n, first + c, pixel), static_cast<T>(dx), b.accumulate);
    }
  });
  for (int head = 0; b.gradient(role::gamma) && head < sums.size(); ++head)
    b.gradient(role::gamma)[head] = static_cast<T>(sums[head]);
  int const values = b.x.shape.channels / 3 * 2;
  for (int n = 0; b.to.data && n < b.to.batch; ++n)
    for (int c = values; c < b.to.shape.channels; ++c)
      for (long long i = 0; i < b.to.shape.area(); ++i) add_to(b.to(n, c, i), b.dy(n, c, i), b.accumulate);
}

template <class T>
inline constexpr loops<T> loops_for<T, op::head_norm>{.forward = head_norm_forward<T>,
                                                      .backward = head_norm_backward<T>};

}  // namespace dsl::plain::TYPENET_MODE
