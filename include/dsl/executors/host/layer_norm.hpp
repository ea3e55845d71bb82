// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/host/vector.hpp>

#ifdef __CUDACC__  // nvcc's front end knows only `#pragma unroll`, which GCC does not
#pragma nv_diagnostic push
#pragma nv_diag_suppress 1675
#endif

namespace dsl::host::TYPENET_MODE {

/// Arguments for normalising each pixel of one sample over its channels: y = gamma (x - mean) / sqrt(variance +
/// epsilon) + beta. The mean and the variance are computed in double. Channel blocks are `apart` floats from each
/// other; the unused lanes of the last block do not count, and become 0.
struct layer_norm_call {
  float const* x = nullptr;
  float const* dy = nullptr;  // for the backward pass
  float* to = nullptr;        // y or dx; null if dx is not needed
  long long apart = 0;
  long long pixels = 0;
  int blocks = 0;
  int channels = 0;
  double const* gamma = nullptr;  // 0 from the last channel to the block's end, like beta
  double const* beta = nullptr;
  double epsilon = 0;
  double* products = nullptr;  // backward: sums per channel of dy times the normalised x, to be added to
  double* sums = nullptr;      // backward: sums per channel of dy, to be added to
  bool accumulate = false;     // dx += instead of dx =
  bool centred = true;         // false: neither the mean is subtracted nor are there sums
};

template <int L>
struct layer_norm_rows {
  using call = layer_norm_call;
  using half = typename vector<L>::half;
  using doubles = typename vector<L>::doubles;

  [[gnu::always_inline]] static inline void run(call const& c) {
    for (long long i = 0; i < c.pixels; ++i) c.dy ? backward(c, i) : forward(c, i);
  }

 private:
  /// Reads half k of the values of a pixel in `double`; a channel block has two halves.
  [[gnu::always_inline]] static inline void read(doubles& v, float const* from, call const& c, long long i, int k) {
    half h;
    __builtin_memcpy(&h, from + k / 2 * c.apart + i * L + k % 2 * (L / 2), sizeof h);
    v = __builtin_convertvector(h, doubles);
  }
  [[gnu::always_inline]] static inline void write(call const& c, long long i, int k, doubles const& v) {
    float* const at = c.to + k / 2 * c.apart + i * L + k % 2 * (L / 2);
    half h = __builtin_convertvector(v, half), old;
    if (c.accumulate) {
      __builtin_memcpy(&old, at, sizeof old);
      h += old;
    }
    __builtin_memcpy(at, &h, sizeof h);
  }
  /// Sets the lanes after the last channel to zero.
  [[gnu::always_inline]] static inline void drop_unused(doubles& v, call const& c, int k) {
    int const used = c.channels - k * (L / 2);
    if (used >= L / 2) return;
#pragma GCC unroll 8
    for (int l = 0; l < L / 2; ++l)
      if (l >= used) v[l] = 0;
  }
  [[gnu::always_inline]] static inline double sum_of(doubles const& v) {
    double sum = v[0];
#pragma GCC unroll 8
    for (int l = 1; l < L / 2; ++l) sum += v[l];
    return sum;
  }
  [[gnu::always_inline]] static inline void moments(call const& c, long long i, double& mean, double& inverse) {
    doubles sum{}, squares{}, v;
    for (int k = 0; k < 2 * c.blocks; ++k) {
      read(v, c.x, c, i, k);
      sum += v;
    }
    mean = c.centred ? sum_of(sum) / c.channels : 0;
    for (int k = 0; k < 2 * c.blocks; ++k) {
      read(v, c.x, c, i, k);
      v -= mean;
      drop_unused(v, c, k);
      multiply_add_doubles<L>(squares, v, v);
    }
    inverse = 1 / __builtin_sqrt(sum_of(squares) / c.channels + c.epsilon);
  }
  [[gnu::always_inline]] static inline void load_doubles(doubles& v, double const* from, int k) {
    __builtin_memcpy(&v, from + k * (L / 2), sizeof v);
  }
  [[gnu::always_inline]] static inline void add_to(double* to, int k, doubles const& v) {
    doubles old;
    load_doubles(old, to, k);
    old += v;
    __builtin_memcpy(to + k * (L / 2), &old, sizeof old);
  }
  /// Computes the normalised values.
  [[gnu::always_inline]] static inline void normal(doubles& v, call const& c, long long i, int k, double mean,
                                                   double inverse) {
    read(v, c.x, c, i, k);
    v -= mean;
    v *= inverse;
    drop_unused(v, c, k);
  }

  [[gnu::always_inline]] static inline void forward(call const& c, long long i) {
    double mean, inverse;
    moments(c, i, mean, inverse);
    for (int k = 0; k < 2 * c.blocks; ++k) {
      doubles h, gamma, y;
      normal(h, c, i, k, mean, inverse);
      load_doubles(gamma, c.gamma, k);
      load_doubles(y, c.beta, k);
      multiply_add_doubles<L>(y, h, gamma);
      write(c, i, k, y);
    }
  }
  /// Computes dx = (g - mean(g) - h mean(g h)) / sqrt(variance + epsilon), with g = dy gamma and h the normalised x.
  [[gnu::always_inline]] static inline void backward(call const& c, long long i) {
    double mean, inverse;
    moments(c, i, mean, inverse);
    doubles sum{}, product{};
    for (int k = 0; k < 2 * c.blocks; ++k) {
      doubles h, dy, gamma, products{};
      normal(h, c, i, k, mean, inverse);
      read(dy, c.dy, c, i, k);
      drop_unused(dy, c, k);
      if (c.sums) add_to(c.sums, k, dy);
      multiply_add_doubles<L>(products, dy, h);
      add_to(c.products, k, products);
      load_doubles(gamma, c.gamma, k);
      multiply_add_doubles<L>(sum, dy, gamma);
      multiply_add_doubles<L>(product, products, gamma);
    }
    double const mean_g = c.centred ? sum_of(sum) / c.channels : 0, mean_gh = -sum_of(product) / c.channels;
    for (int k = 0; c.to && k < 2 * c.blocks; ++k) {
      doubles h, dy, gamma, dx = doubles{} - mean_g, slope = doubles{} + mean_gh;
      normal(h, c, i, k, mean, inverse);
      read(dy, c.dy, c, i, k);
      load_doubles(gamma, c.gamma, k);
      multiply_add_doubles<L>(dx, dy, gamma);
      multiply_add_doubles<L>(dx, h, slope);
      dx *= inverse;
      drop_unused(dx, c, k);
      write(c, i, k, dx);
    }
  }
};

}  // namespace dsl::host::TYPENET_MODE

#ifdef __CUDACC__
#pragma nv_diagnostic pop
#endif
