// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/math.hpp>
#include <dsl/view.hpp>

namespace dsl::plain {

/// The parameters of one batch_norm, C numbers each. `bias` is that of a convolution whose arithmetic was skipped, or
/// null: the running mean includes it all the same.
template <class T>
struct batch_norm_parameters {
  T const* gamma;
  T const* beta;
  T* moving_mean;
  T* moving_variance;
  T const* bias;
};

/// y = gamma (x - mean) / sqrt(variance + epsilon) + beta, with the batch's own moments, biased variance, over (B, H,
/// W); statistics receives the C means and then the C values of 1 / sqrt(variance + epsilon). Keras's update: moving =
/// momentum * moving + (1 - momentum) * batch. Where statistics is null the running moments serve, as in inference.
template <class T>
[[gnu::cold]] void batch_norm_forward(view<T const> const& x, batch_norm_parameters<T> const& p, T* statistics,
                                      view<T> const& y, double epsilon, double momentum, bool unbiased, bool relu) {
  int const channels = x.shape.channels;
  long long const area = x.shape.area();
  T const count = static_cast<T>(x.batch * area);
  for (int c = 0; c < channels; ++c) {
    T mean = p.moving_mean[c];
    T variance = p.moving_variance[c];
    if (statistics) {
      T sum = 0;
      for (int n = 0; n < x.batch; ++n) {
        auto const in = x.pixels(n, c);
        for (long long i = 0; i < area; ++i) sum += in[i];
      }
      mean = sum / count;
      T squares = 0;
      for (int n = 0; n < x.batch; ++n) {
        auto const in = x.pixels(n, c);
        for (long long i = 0; i < area; ++i) squares += (in[i] - mean) * (in[i] - mean);
      }
      variance = squares / count;
      T const keep = static_cast<T>(momentum);
      T const moved_variance = unbiased && count > 1 ? squares / (count - 1) : variance;
      p.moving_mean[c] = keep * p.moving_mean[c] + (1 - keep) * (mean + (p.bias ? p.bias[c] : T(0)));
      p.moving_variance[c] = keep * p.moving_variance[c] + (1 - keep) * moved_variance;
    }
    T const inverse = T(1) / detail::sqrt(variance + static_cast<T>(epsilon));
    if (statistics) statistics[c] = mean, statistics[channels + c] = inverse;
    for (int n = 0; n < x.batch; ++n) {
      auto const in = x.pixels(n, c);
      auto const out = y.pixels(n, c);
      for (long long i = 0; i < area; ++i) {
        T const v = (in[i] - mean) * inverse * p.gamma[c] + p.beta[c];
        out[i] = relu && v < 0 ? T(0) : v;
      }
    }
  }
}

/// d with respect to what comes out of a batch_norm, after the relu fused with it where beta is given: its mask
/// follows from x.
template <class T>
struct batch_norm_gradient {
  view<T const> const& x;
  view<T const> const& dy;
  T const* statistics;
  T const* gamma;
  T const* beta;

  T mean(int c) const { return statistics[c]; }
  T inverse(int c) const { return statistics[x.shape.channels + c]; }
  /// f(normalised x, gradient, n, i) for every value of channel c.
  template <class F>
  void for_each(int c, F f) const {
    for (int n = 0; n < x.batch; ++n) {
      auto const in = x.pixels(n, c);
      auto const from = dy.pixels(n, c);
      for (long long i = 0; i < x.shape.area(); ++i) {
        T const normal = (in[i] - mean(c)) * inverse(c);
        f(normal, beta && normal * gamma[c] + beta[c] <= 0 ? T(0) : from[i], n, i);
      }
    }
  }
};

/// Sums over (B, H, W): of the gradient times the normalised x, and of the gradient.
template <class T>
[[gnu::cold]] void batch_norm_sums(batch_norm_gradient<T> const& d, T* dgamma, T* dbeta) {
  for (int c = 0; c < d.x.shape.channels; ++c) {
    T sum = 0;
    T product = 0;
    d.for_each(c, [&](T normal, T from, int, long long) { sum += from, product += from * normal; });
    dgamma[c] = product;
    dbeta[c] = sum;
  }
}

/// dx from those sums, over `count` values a channel. It may be x itself.
template <class T>
[[gnu::cold]] void batch_norm_backward_data(batch_norm_gradient<T> const& d, T const* products, T const* sums, T count,
                                            view<T> const& dx, bool accumulate) {
  for (int c = 0; c < d.x.shape.channels; ++c) {
    T const scale = d.gamma[c] * d.inverse(c), sum = sums[c] / count, product = products[c] / count;
    d.for_each(c, [&](T normal, T from, int n, long long i) {
      T const value = scale * (from - sum - normal * product);
      T& to = dx.pixels(n, c)[i];
      to = accumulate ? to + value : value;
    });
  }
}

}  // namespace dsl::plain
