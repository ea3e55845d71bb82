// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/view.hpp>

#include <cmath>

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
void batch_norm_forward(view<T const> const& x, batch_norm_parameters<T> const& p, T* statistics, view<T> const& y,
                        double epsilon, double momentum, bool unbiased, bool relu) {
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
    T const inverse = T(1) / std::sqrt(variance + static_cast<T>(epsilon));
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

/// dx may be x itself. beta is given where a relu is fused behind: its mask follows from x.
template <class T>
void batch_norm_backward(view<T const> const& x, T const* statistics, T const* gamma, T const* beta,
                         view<T const> const& dy, view<T> const& dx, T* dgamma, T* dbeta, bool accumulate) {
  int const channels = x.shape.channels;
  long long const area = x.shape.area();
  T const count = static_cast<T>(x.batch * area);
  for (int c = 0; c < channels; ++c) {
    T const mean = statistics[c];
    T const inverse = statistics[channels + c];
    T sum = 0;
    T product = 0;
    // First the sums, then, where somebody wants it, dx.
    for (int round = 0; round < (dx.data ? 2 : 1); ++round)
      for (int n = 0; n < x.batch; ++n) {
        auto const in = x.pixels(n, c);
        auto const from = dy.pixels(n, c);
        auto const to = round == 0 ? pixel_row<T>{} : dx.pixels(n, c);
        for (long long i = 0; i < area; ++i) {
          T const normal = (in[i] - mean) * inverse;
          T const d = beta && normal * gamma[c] + beta[c] <= 0 ? T(0) : from[i];
          if (round == 0) {
            sum += d;
            product += d * normal;
          } else {
            T const value = gamma[c] * inverse * (d - sum / count - normal * product / count);
            to[i] = accumulate ? to[i] + value : value;
          }
        }
      }
    dgamma[c] = product;
    dbeta[c] = sum;
  }
}

}  // namespace dsl::plain
