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

/// Normalises with the batch's own moments, biased variance, over (B, H, W); statistics receives the C means and then
/// the C values of 1 / sqrt(variance + epsilon). Keras's update: moving = momentum * moving + (1 - momentum) * batch.
template <class T>
void batch_norm_forward(view<T const> x, batch_norm_parameters<T> p, T* statistics, view<T> y, double epsilon,
                        double momentum, bool unbiased, bool relu) {
  int const channels = x.shape.channels;
  long long const area = x.shape.area();
  T const count = static_cast<T>(x.batch * area);
  for (int c = 0; c < channels; ++c) {
    T sum = 0;
    for (int n = 0; n < x.batch; ++n)
      for (long long i = 0; i < area; ++i) sum += x(n, c, i);
    T const mean = sum / count;
    T squares = 0;
    for (int n = 0; n < x.batch; ++n)
      for (long long i = 0; i < area; ++i) {
        T const d = x(n, c, i) - mean;
        squares += d * d;
      }
    T const variance = squares / count;
    T const inverse = T(1) / std::sqrt(variance + static_cast<T>(epsilon));
    statistics[c] = mean;
    statistics[channels + c] = inverse;
    T const keep = static_cast<T>(momentum);
    T const batch_mean = mean + (p.bias ? p.bias[c] : T(0));
    T const batch_variance = unbiased && count > 1 ? squares / (count - 1) : variance;
    p.moving_mean[c] = keep * p.moving_mean[c] + (1 - keep) * batch_mean;
    p.moving_variance[c] = keep * p.moving_variance[c] + (1 - keep) * batch_variance;
    for (int n = 0; n < x.batch; ++n)
      for (long long i = 0; i < area; ++i) {
        T const v = (x(n, c, i) - mean) * inverse * p.gamma[c] + p.beta[c];
        y(n, c, i) = relu && v < 0 ? T(0) : v;
      }
  }
}

/// Normalises with the running moments: y = gamma (x - mean) / sqrt(variance + epsilon) + beta.
template <class T>
void batch_norm_inference(view<T const> x, batch_norm_parameters<T> p, view<T> y, double epsilon, bool relu) {
  for (int n = 0; n < x.batch; ++n)
    for (int c = 0; c < x.shape.channels; ++c) {
      T const scale = p.gamma[c] / std::sqrt(p.moving_variance[c] + static_cast<T>(epsilon));
      for (long long i = 0; i < x.shape.area(); ++i) {
        T const v = (x(n, c, i) - p.moving_mean[c]) * scale + p.beta[c];
        y(n, c, i) = relu && v < 0 ? T(0) : v;
      }
    }
}

/// dx may be x itself. beta is given where a relu is fused behind: its mask follows from x.
template <class T>
void batch_norm_backward(view<T const> x, T const* statistics, T const* gamma, T const* beta, view<T const> dy,
                         view<T> dx, T* dgamma, T* dbeta, bool accumulate) {
  int const channels = x.shape.channels;
  long long const area = x.shape.area();
  T const count = static_cast<T>(x.batch * area);
  for (int c = 0; c < channels; ++c) {
    T const mean = statistics[c];
    T const inverse = statistics[channels + c];
    auto const gradient = [&](int n, long long i, T normal) {
      T const d = dy(n, c, i);
      return beta && normal * gamma[c] + beta[c] <= 0 ? T(0) : d;
    };
    T sum = 0;
    T product = 0;
    for (int n = 0; n < x.batch; ++n)
      for (long long i = 0; i < area; ++i) {
        T const normal = (x(n, c, i) - mean) * inverse;
        T const d = gradient(n, i, normal);
        sum += d;
        product += d * normal;
      }
    dgamma[c] = product;
    dbeta[c] = sum;
    if (!dx.data) continue;
    for (int n = 0; n < x.batch; ++n)
      for (long long i = 0; i < area; ++i) {
        T const normal = (x(n, c, i) - mean) * inverse;
        T const d = gradient(n, i, normal);
        T const value = gamma[c] * inverse * (d - sum / count - normal * product / count);
        T& to = dx(n, c, i);
        to = accumulate ? to + value : value;
      }
  }
}

}  // namespace dsl::plain
