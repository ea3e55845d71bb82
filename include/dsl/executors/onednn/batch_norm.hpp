// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/math.hpp>
#include <dsl/executors/onednn/parallel.hpp>
#include <dsl/executors/onednn/simd.hpp>
#include <dsl/executors/reference/batch_norm.hpp>

namespace dsl::dnn {

/// A batch_norm over channel blocks: x packed, y maybe channels of a larger buffer. One block at a time: the second
/// pass over it finds most of it in the cache. Each sample's moments are summed apart and joined in sample order, so
/// the result does not depend on the number of threads. Where other towers have parts of the batch, a call makes the
/// samples' sums, the towers meet, and a second call takes those of the whole batch. Without statistics the running
/// moments serve, and nothing is summed.
struct batch_norm_call {
  view<float const> x{};
  view<float> y{};  // or dx
  view<float const> dy{};
  plain::batch_norm_parameters<float> parameters{};
  float* statistics = nullptr;  // means, then 1 / sqrt(variance + epsilon); null but in training
  double* partial = nullptr;    // 2 x batch x padded channels, in training
  float* dgamma = nullptr;
  float* dbeta = nullptr;
  double epsilon = 0;
  double momentum = 0;
  bool unbiased = false;
  bool relu = false;
  bool accumulate = false;
  double const* whole = nullptr;  // of the whole batch: C means and C squares, or C dgammas and C dbetas
  double count = 0;               // its values a channel; 0: it is all here. Below 0: only the samples' sums
};

struct batch_norm_forward {
  using call = batch_norm_call;

  template <int L>
  [[gnu::always_inline]] static inline void run(batch_norm_call const& c, int thread, int threads) {
    using floats = typename simd<L>::floats;
    using halves = typename simd<L>::halves;
    using doubles = typename simd<L>::doubles;
    int const batch = c.x.batch;
    int const blocks = c.x.buffer_channels / L;
    long long const area = c.x.shape.area();
    share const mine(batch, thread, threads);
    int const summed = c.whole || !c.statistics ? mine.begin : mine.end;
    for (int b = 0; b < blocks; ++b) {
      double* const partial = c.statistics ? c.partial + 2LL * b * batch * L : nullptr;
      for (int n = mine.begin; n < summed; ++n) {
        // The lower half of a pixel's channels, then the upper one.
        halves const* const x = reinterpret_cast<halves const*>(simd<L>::plane(c.x, n, b));
        doubles s0{}, s1{}, s2{}, s3{};
        for (long long i = 0; i < area; ++i) {
          s0 += __builtin_convertvector(x[2 * i], doubles);
          s1 += __builtin_convertvector(x[2 * i + 1], doubles);
          if (++i == area) break;
          s2 += __builtin_convertvector(x[2 * i], doubles);
          s3 += __builtin_convertvector(x[2 * i + 1], doubles);
        }
        doubles const lower = (s0 + s2) / static_cast<double>(area), upper = (s1 + s3) / static_cast<double>(area);
        doubles q0{}, q1{}, q2{}, q3{};
        for (long long i = 0; i < area; ++i) {
          doubles const d0 = __builtin_convertvector(x[2 * i], doubles) - lower;
          doubles const d1 = __builtin_convertvector(x[2 * i + 1], doubles) - upper;
          q0 += d0 * d0, q1 += d1 * d1;
          if (++i == area) break;
          doubles const d2 = __builtin_convertvector(x[2 * i], doubles) - lower;
          doubles const d3 = __builtin_convertvector(x[2 * i + 1], doubles) - upper;
          q2 += d2 * d2, q3 += d3 * d3;
        }
        doubles* const to = reinterpret_cast<doubles*>(partial) + 4 * n;
        to[0] = lower, to[1] = upper;
        to[2] = q0 + q2, to[3] = q1 + q3;
      }
      if (c.count < 0) continue;
      float scales[L], shifts[L];
      if (c.statistics) {
        barrier(threads);
        join(c, L, b, partial, scales, shifts, thread == 0);
      } else {
        take_running(c, L, b, scales, shifts);
      }
      floats const scale = *reinterpret_cast<floats const*>(scales);
      floats const shift = *reinterpret_cast<floats const*>(shifts);
      floats const least = floats{} + (c.relu ? 0.0F : -__builtin_inff());
      for (int n = mine.begin; n < mine.end; ++n) {
        floats const* const x = simd<L>::plane(c.x, n, b);
        floats* const y = simd<L>::plane(c.y, n, b);
        for (long long i = 0; i < area; ++i) {
          floats const v = x[i] * scale + shift;
          y[i] = v < least ? least : v;  // a NaN stays one
        }
      }
    }
  }

  /// y = scale * x + shift with the running moments.
  [[gnu::noinline]] static void take_running(batch_norm_call const& c, int lanes, int b, float* scales, float* shifts) {
    auto const& p = c.parameters;
    for (int l = 0; l < lanes; ++l) {
      int const k = b * lanes + l;
      scales[l] = shifts[l] = 0;
      if (k >= c.x.shape.channels) continue;  // the block's unused places stay 0
      double const inverse = 1.0 / detail::sqrt(static_cast<double>(p.moving_variance[k]) + c.epsilon);
      double const scale = static_cast<double>(p.gamma[k]) * inverse;
      scales[l] = static_cast<float>(scale);
      shifts[l] = static_cast<float>(static_cast<double>(p.beta[k]) - static_cast<double>(p.moving_mean[k]) * scale);
    }
  }

  /// Moments of the whole batch from those of its samples (Chan, Golub, LeVeque 1979, for equal counts).
  [[gnu::noinline]] static void join(batch_norm_call const& c, int lanes, int b, double const* partial, float* scales,
                                     float* shifts, bool keep) {
    int const batch = c.x.batch, samples = c.whole ? 0 : batch;
    int const channels = c.x.shape.channels;
    auto const area = static_cast<double>(c.x.shape.area());
    double const count = c.whole ? c.count : area * batch;
    for (int l = 0; l < lanes; ++l) {
      int const k = b * lanes + l;
      scales[l] = shifts[l] = 0;
      if (k >= channels) continue;  // the block's unused places stay 0
      double mean = c.whole ? c.whole[k] : 0;
      for (int n = 0; n < samples; ++n) mean += partial[2 * n * lanes + l];
      if (!c.whole) mean /= batch;
      double squares = c.whole ? c.whole[channels + k] : 0;
      for (int n = 0; n < samples; ++n) {
        double const d = partial[2 * n * lanes + l] - mean;
        squares += partial[(2 * n + 1) * lanes + l] + area * d * d;
      }
      double const variance = squares / count;
      double const inverse = 1.0 / detail::sqrt(variance + c.epsilon);
      auto const& p = c.parameters;
      scales[l] = static_cast<float>(static_cast<double>(p.gamma[k]) * inverse);
      shifts[l] = static_cast<float>(static_cast<double>(p.beta[k]) - mean * static_cast<double>(p.gamma[k]) * inverse);
      if (!keep) continue;
      c.statistics[k] = static_cast<float>(mean);
      c.statistics[channels + k] = static_cast<float>(inverse);
      if (c.whole) continue;  // the towers have moved them
      double const moved_mean = mean + (p.bias ? static_cast<double>(p.bias[k]) : 0.0);
      double const moved_variance = c.unbiased && count > 1 ? squares / (count - 1) : variance;
      auto const move = [&](float& old, double now) {
        old = static_cast<float>(c.momentum * static_cast<double>(old) + (1 - c.momentum) * now);
      };
      move(p.moving_mean[k], moved_mean);
      move(p.moving_variance[k], moved_variance);
    }
  }
};

struct batch_norm_backward {
  using call = batch_norm_call;

  template <int L>
  [[gnu::always_inline]] static inline void run(batch_norm_call const& c, int thread, int threads) {
    using floats = typename simd<L>::floats;
    using halves = typename simd<L>::halves;
    using doubles = typename simd<L>::doubles;
    int const batch = c.x.batch;
    int const channels = c.x.shape.channels;
    int const blocks = c.x.buffer_channels / L;
    long long const area = c.x.shape.area();
    share const mine(batch, thread, threads);
    int const summed = c.whole ? mine.begin : mine.end;
    for (int b = 0; b < blocks; ++b) {
      double* const partial = c.partial + 2LL * b * batch * L;
      float means[L] = {}, scales[L] = {}, shifts[L] = {};
      for (int l = 0; l < L && b * L + l < channels; ++l) {
        int const k = b * L + l;
        means[l] = c.statistics[k];
        scales[l] = c.parameters.gamma[k] * c.statistics[channels + k];
        shifts[l] = c.relu ? c.parameters.beta[k] - means[l] * scales[l] : 0.0F;
      }
      floats const mean = *reinterpret_cast<floats const*>(means);
      floats const scale = *reinterpret_cast<floats const*>(scales);
      floats const shift = *reinterpret_cast<floats const*>(shifts);
      floats const zero{};
      for (int n = mine.begin; n < summed; ++n) {
        floats const* const x = simd<L>::plane(c.x, n, b);
        floats const* const dy = simd<L>::plane(c.dy, n, b);
        floats s0{}, s1{}, p0{}, p1{};
        long long i = 0;
        for (; i + 2 <= area; i += 2) {
          floats const x0 = x[i], x1 = x[i + 1];
          floats d0 = dy[i], d1 = dy[i + 1];
          if (c.relu) {
            d0 = x0 * scale + shift > zero ? d0 : zero;
            d1 = x1 * scale + shift > zero ? d1 : zero;
          }
          s0 += d0, s1 += d1;
          p0 += d0 * (x0 - mean), p1 += d1 * (x1 - mean);
        }
        for (; i < area; ++i) {
          floats const x0 = x[i];
          floats d0 = dy[i];
          if (c.relu) d0 = x0 * scale + shift > zero ? d0 : zero;
          s0 += d0;
          p0 += d0 * (x0 - mean);
        }
        floats const sums[2] = {s0 + s1, p0 + p1};
        for (int half = 0; half < 4; ++half)
          reinterpret_cast<doubles*>(partial)[4 * n + half] =
              __builtin_convertvector(reinterpret_cast<halves const*>(sums)[half], doubles);
      }
      if (c.count < 0) continue;
      barrier(threads);
      float constants[L], slopes[L];
      join(c, L, b, partial, constants, slopes, thread == 0);
      if (!c.y.data) continue;
      floats const constant = *reinterpret_cast<floats const*>(constants);
      floats const slope = *reinterpret_cast<floats const*>(slopes);
      for (int n = mine.begin; n < mine.end; ++n) {
        floats const* const x = simd<L>::plane(c.x, n, b);
        floats const* const dy = simd<L>::plane(c.dy, n, b);
        floats* const dx = simd<L>::plane(c.y, n, b);
        for (long long i = 0; i < area; ++i) {
          floats const v = x[i];
          floats d = dy[i];
          if (c.relu) d = v * scale + shift > zero ? d : zero;
          floats const to = d * scale + (v - mean) * slope + constant;
          dx[i] = c.accumulate ? dx[i] + to : to;
        }
      }
    }
  }

  /// dx = scale * d + constant + slope * (x - mean), from the batch's sums; dgamma and dbeta on the way.
  [[gnu::noinline]] static void join(batch_norm_call const& c, int lanes, int b, double const* partial,
                                     float* constants, float* slopes, bool keep) {
    int const samples = c.whole ? 0 : c.x.batch;
    int const channels = c.x.shape.channels;
    double const count = c.whole ? c.count : static_cast<double>(c.x.shape.area()) * c.x.batch;
    for (int l = 0; l < lanes; ++l) {
      int const k = b * lanes + l;
      constants[l] = slopes[l] = 0;
      if (k >= channels) continue;
      double const inverse = static_cast<double>(c.statistics[channels + k]);
      double sum = c.whole ? c.whole[channels + k] : 0;
      double product = c.whole ? c.whole[k] / inverse : 0;
      for (int n = 0; n < samples; ++n) {
        sum += partial[2 * n * lanes + l];
        product += partial[(2 * n + 1) * lanes + l];
      }
      double const scale = static_cast<double>(c.parameters.gamma[k]) * inverse;
      constants[l] = static_cast<float>(-scale * sum / count);
      slopes[l] = static_cast<float>(-scale * inverse * inverse * product / count);
      if (!keep || c.whole) continue;
      c.dgamma[k] = static_cast<float>(product * inverse);
      c.dbeta[k] = static_cast<float>(sum);
    }
  }
};

}  // namespace dsl::dnn
