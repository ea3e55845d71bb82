// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/executors/host/plain_batch_norm.hpp>

#include <vector>

#include "support/run_kernel.hpp"

namespace dsl_test {

namespace kernels = dsl::cu::kernels;

/// A batch_norm with all that its kernels and the plain loops need.
template <class T>
struct layer {
  kernels::batch_norm_layer spec;
  tensor<T> x, y, dy, dx;
  numbers gamma, beta, moving_mean, moving_variance, bias, statistics, dgamma, dbeta;
  bool with_bias;

  layer(int batch, dsl::shape const& s, kernels::batch_norm_layer const& how, bool with_bias_)
      : spec(how),
        x(batch, s, how.x, -3, 5),
        y(batch, s, how.y),
        dy(batch, s, how.y),
        dx(batch, s, how.dx),
        gamma(s.channels, 0.5, 1.5),
        beta(s.channels, -1, 1),
        moving_mean(s.channels, -1, 1),
        moving_variance(s.channels, 0.5, 2),
        bias(s.channels, -1, 1),
        statistics(2 * s.channels, 0, 0),
        dgamma(s.channels, 0, 0),
        dbeta(s.channels, 0, 0),
        with_bias(with_bias_) {}

  kernels::batch_norm_forward forward() {
    return {elements(x.data()),
            elements(y.data()),
            gamma.data(),
            beta.data(),
            moving_mean.data(),
            moving_variance.data(),
            with_bias ? bias.data() : nullptr,
            statistics.data()};
  }
  kernels::batch_norm_gradient backward(bool in_place) {
    return {elements(x.data()), elements(dy.data()), elements(in_place ? x.data() : dx.data()),
            gamma.data(),       beta.data(),         statistics.data(),
            dgamma.data(),      dbeta.data()};
  }
  dsl::plain::batch_norm_parameters<double> parameters() {
    return {gamma.wanted(), beta.wanted(), moving_mean.wanted(), moving_variance.wanted(),
            with_bias ? bias.wanted() : nullptr};
  }
  /// Computes the plain loops' gradients from all of the batch's values.
  void plain_backward(dsl::view<double> const& to, bool accumulate) {
    auto const in = x.read(), from = dy.read();
    dsl::plain::batch_norm_gradient<double> const d{in, from, statistics.wanted(), gamma.wanted(),
                                                    spec.relu ? beta.wanted() : nullptr};
    dsl::plain::batch_norm_sums(d, dgamma.wanted(), dbeta.wanted());
    dsl::plain::batch_norm_backward_data<double>(d, dgamma.wanted(), dbeta.wanted(), static_cast<double>(x.pixels()),
                                                 to, accumulate);
  }
  /// Sets gradients to 0 near the relu's edge, where float and double disagree on the side of a few values.
  void avoid_edge() {
    int const channels = x.shape.channels;
    dy.fill([&](int n, int c, long long i) {
      auto const k = static_cast<std::size_t>(c);
      double const normal =
          (x.read()(n, c, i) - statistics.expected[k]) * statistics.expected[k + static_cast<std::size_t>(channels)];
      return std::fabs(normal * gamma.expected[k] + beta.expected[k]) < 1e-4 ? 0.0 : uniform(-1, 1);
    });
  }
};

struct group {
  int batch;
  int height, width;
  std::vector<kernels::batch_norm_layer> layers;  // channels, x, y, dx, relu, accumulate
};

// Layers alone and in groups, with and without vectors, with one chunk and many, and with one tile of channels and
// several.
inline std::vector<group> const groups = {
    {2, 3, 5, {{3, {3}, {8, 4}, {3}, true, false, 1e-3, 0.9}}},
    {1, 1, 1, {{5, {5}, {5}, {7, 1}, false, true, 1e-3, 0.99}}},
    {3, 40, 41, {{8, {8}, {24, 16}, {8}, true, true, 1e-3, 0.9}}},
    {4,
     16,
     16,
     {{32, {32}, {80, 0}, {32}, true, false, 1e-3, 0.99}, {48, {48}, {80, 32}, {48}, true, false, 2e-3, 0.9}}},
    {2,
     9,
     8,
     {{4, {4}, {8}, {4}, true, false, 1e-3, 0.99},
      {6, {6}, {14, 8}, {6}, false, false, 1e-3, 0.99},
      {1, {2, 1}, {4, 3}, {1}, true, false, 1e-3, 0.99},
      {7, {7}, {7}, {7}, true, true, 1e-2, 0.5}}},
    {5, 4, 3, {{640, {640}, {640}, {640}, true, false, 1e-3, 0.99}}},
    {3, 2, 2, {{301, {301}, {303, 2}, {301}, true, false, 1e-3, 0.99}}},
};

}  // namespace dsl_test
