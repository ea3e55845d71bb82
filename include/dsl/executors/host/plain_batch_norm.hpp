// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/math.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/executors/host/tower.hpp>
#include <dsl/view.hpp>

namespace dsl::plain::TYPENET_MODE {

using host::batch_norm_parameters;

/// The mean of a channel and the sum of squared deviations from it.
struct channel_moments {
  double mean = 0;
  double squares = 0;
};

/// Computes the moments in double and in two passes, so that they are accurate to the last digit of a float, however
/// large the mean is.
template <class T>
channel_moments moments_of(view<T const> const& x, int c) {
  auto const for_each = [&](auto f) {
    for (int n = 0; n < x.batch; ++n) {
      auto const in = x.pixels(n, c);
      for (long long i = 0; i < x.shape.area(); ++i) f(static_cast<double>(in[i]));
    }
  };
  channel_moments m;
  for_each([&](double v) { m.mean += v; });
  if (x.batch > 0) m.mean /= static_cast<double>(x.batch * x.shape.area());
  for_each([&](double v) { m.squares += (v - m.mean) * (v - m.mean); });
  return m;
}

/// Computes y = gamma (x - mean) inverse + beta for channel c, where `inverse` is 1 / sqrt(variance + epsilon). The
/// function is not inlined, so that every caller gets the same bits.
template <class T>
[[gnu::cold, gnu::noinline]] void normalize(view<T const> const& x, int c, T mean, T inverse, T gamma, T beta,
                                            view<T> const& y, bool relu) {
  for (int n = 0; n < x.batch; ++n) {
    auto const in = x.pixels(n, c);
    auto const out = y.pixels(n, c);
    for (long long i = 0; i < x.shape.area(); ++i) {
      T const v = (in[i] - mean) * inverse * gamma + beta;
      out[i] = relu && v < 0 ? T(0) : v;
    }
  }
}

/// Normalises x with the mean and the biased variance of the batch, which are taken over (B, H, W) for each channel.
/// `statistics` receives the C means and then the C values of 1 / sqrt(variance + epsilon). Updates the running moments
/// as Keras does: moving = momentum * moving + (1 - momentum) * batch. If `statistics` is null, as in inference, uses
/// the running moments instead.
template <class T>
void batch_norm_forward(view<T const> const& x, batch_norm_parameters<T> const& p, T* statistics, view<T> const& y,
                        double epsilon, double momentum, bool unbiased, bool relu) {
  int const channels = x.shape.channels;
  auto const count = static_cast<double>(x.batch * x.shape.area());
  for (int c = 0; c < channels; ++c) {
    auto moving_mean = static_cast<double>(p.moving_mean[c]);
    auto moving_variance = static_cast<double>(p.moving_variance[c]);
    channel_moments const m = statistics ? moments_of(x, c) : channel_moments{moving_mean, 0};
    double const variance = statistics ? m.squares / count : moving_variance;
    if (statistics) {
      double const moved_variance = unbiased && count > 1 ? m.squares / (count - 1) : variance;
      moving_mean = momentum * moving_mean + (1 - momentum) * (m.mean + (p.bias ? static_cast<double>(p.bias[c]) : 0));
      moving_variance = momentum * moving_variance + (1 - momentum) * moved_variance;
      p.moving_mean[c] = static_cast<T>(moving_mean);
      p.moving_variance[c] = static_cast<T>(moving_variance);
    }
    T const mean = static_cast<T>(m.mean);
    T const inverse = static_cast<T>(1 / detail::sqrt(variance + epsilon));
    if (statistics) statistics[c] = mean, statistics[channels + c] = inverse;
    normalize(x, c, mean, inverse, p.gamma[c], p.beta[c], y, relu);
  }
}

/// Computes the output of batch_norm_forward again, from the statistics that it saved.
template <class T>
void batch_norm_again(view<T const> const& x, batch_norm_parameters<T> const& p, T const* statistics, view<T> const& y,
                      bool relu) {
  for (int c = 0; c < x.shape.channels; ++c)
    normalize(x, c, statistics[c], statistics[x.shape.channels + c], p.gamma[c], p.beta[c], y, relu);
}

/// The operands of a batch_norm's backward pass. If beta is given, a relu is fused: dy is then the gradient with
/// respect to the relu's output, and the relu's mask is computed again from x.
template <class T>
struct batch_norm_gradient {
  view<T const> const& x;
  view<T const> const& dy;
  T const* statistics;
  T const* gamma;
  T const* beta;

  T mean(int c) const { return statistics[c]; }
  T inverse(int c) const { return statistics[x.shape.channels + c]; }
  /// Calls f(normalised x, gradient, n, i) for every value of channel c. The gradient is the one before the relu.
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

/// Computes dgamma, the sum over (B, H, W) of the gradient times the normalised x, and dbeta, the sum of the gradient.
template <class T>
void batch_norm_sums(batch_norm_gradient<T> const& d, T* dgamma, T* dbeta) {
  for (int c = 0; c < d.x.shape.channels; ++c) {
    double sum = 0;
    double product = 0;
    d.for_each(c, [&](T normal, T from, int, long long) {
      sum += static_cast<double>(from);
      product += static_cast<double>(from) * static_cast<double>(normal);
    });
    dgamma[c] = static_cast<T>(product);
    dbeta[c] = static_cast<T>(sum);
  }
}

/// Computes dx from the sums that batch_norm_sums() computes, taken over `count` values per channel. dx may be x
/// itself.
template <class T>
void batch_norm_backward_data(batch_norm_gradient<T> const& d, T const* products, T const* sums, T count,
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

/// Computes dx = gamma dy / sqrt(running variance + epsilon). dx may be dy itself.
template <class T>
void frozen_batch_norm_backward(view<T const> const& dy, batch_norm_parameters<T> const& p, view<T> const& dx,
                                double epsilon, bool accumulate) {
  for (int c = 0; c < dy.shape.channels; ++c) {
    T const inverse = static_cast<T>(1 / detail::sqrt(static_cast<double>(p.moving_variance[c]) + epsilon));
    for (int n = 0; n < dy.batch; ++n) {
      auto const from = dy.pixels(n, c);
      auto const to = dx.pixels(n, c);
      for (long long i = 0; i < dy.shape.area(); ++i) {
        T const value = from[i] * inverse * p.gamma[c];
        to[i] = accumulate ? to[i] + value : value;
      }
    }
  }
}

}  // namespace dsl::plain::TYPENET_MODE
