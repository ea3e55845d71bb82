// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/host/vector.hpp>

#ifdef __CUDACC__  // nvcc's front end knows only `#pragma unroll`, which GCC does not
#pragma nv_diagnostic push
#pragma nv_diag_suppress 1675
#endif

namespace dsl::host::TYPENET_MODE {

/// Arguments for y = relu(scale x + shift), with or without the relu, for `count` vectors, which are the pixels of one
/// channel block of one image. The gradient computes again, by the same arithmetic, where the relu was positive.
struct normalize_call {
  float const* x = nullptr;
  float* y = nullptr;
  long long count = 0;
  float const* scale = nullptr;  // one vector, like the pointers below
  float const* shift = nullptr;
  bool relu = false;
};

/// Arguments for the sums of a batch_norm in double: L sums of one kind, then L sums of the other.
struct normalize_sums_call {
  float const* x = nullptr;
  float const* dy = nullptr;  // null: means and squared deviations; otherwise sums of dy and of dy * (x - mean)
  long long count = 0;
  float const* scale = nullptr;
  float const* shift = nullptr;
  float const* mean = nullptr;
  bool relu = false;
  double* to = nullptr;
};

/// Arguments for adding `count` vectors and their squares to 2 L sums in double.
struct moments_call {
  float const* x = nullptr;
  long long count = 0;
  double* to = nullptr;
};

/// Arguments for dx = scale dy + slope (x - mean) + constant, or for adding this value to dx.
struct normalize_gradient_call {
  float const* x = nullptr;
  float const* dy = nullptr;
  float* dx = nullptr;
  long long count = 0;
  float const* scale = nullptr;
  float const* shift = nullptr;
  float const* mean = nullptr;
  float const* slope = nullptr;
  float const* constant = nullptr;
  bool relu = false;
  bool accumulate = false;
};

template <int L>
struct normalize {
  using call = normalize_call;
  [[gnu::always_inline]] static inline void run(call const& c) {
    typename vector<L>::type scale, shift;
    load<L>(scale, c.scale);
    load<L>(shift, c.shift);
    for (long long i = 0; i < c.count; ++i) {
      typename vector<L>::type x, y = shift;
      load<L>(x, c.x + i * L);
      multiply_add<L>(y, x, scale);
      if (c.relu) clamp_below<L>(y);
      store<L>(c.y + i * L, y);
    }
  }
};

/// Sets dy to 0 unless the output of normalize was positive. If the output was NaN, PyTorch and `reference` do not set
/// dy to 0; this makes no difference, since the mean and all gradients are NaN then.
template <int L>
[[gnu::always_inline]] inline void mask(typename vector<L>::type& dy, typename vector<L>::type const& x,
                                        typename vector<L>::type const& scale, typename vector<L>::type const& shift) {
  typename vector<L>::type y = shift;
  typename vector<L>::type const zero{};
  multiply_add<L>(y, x, scale);
  dy = y > zero ? dy : zero;
}

template <int L>
struct normalize_sums {
  using call = normalize_sums_call;
  using half = typename vector<L>::half;
  using doubles = typename vector<L>::doubles;

  [[gnu::always_inline]] static inline void run(call const& c) { c.dy ? gradients(c) : moments(c); }

 private:
  /// Computes the means first, and then the squared deviations from them, so that a large mean does not make the result
  /// imprecise.
  [[gnu::always_inline]] static inline void moments(call const& c) {
    doubles sum[4] = {};
    // The lower half of a pixel's channels, then the upper one; two pixels at a time.
    half const* const x = reinterpret_cast<half const*>(c.x);
    long long const halves = 2 * c.count, paired = halves / 4 * 4;
    for (long long i = 0; i < paired; i += 4)
#pragma GCC unroll 4
      for (int k = 0; k < 4; ++k) sum[k] += __builtin_convertvector(x[i + k], doubles);
    for (long long i = paired; i < halves; ++i) sum[i - paired] += __builtin_convertvector(x[i], doubles);
    doubles mean[4], squares[4] = {};
    mean[0] = mean[2] = (sum[0] + sum[2]) / static_cast<double>(c.count);
    mean[1] = mean[3] = (sum[1] + sum[3]) / static_cast<double>(c.count);
    for (long long i = 0; i < paired; i += 4)
#pragma GCC unroll 4
      for (int k = 0; k < 4; ++k) {
        doubles const d = __builtin_convertvector(x[i + k], doubles) - mean[k];
        multiply_add_doubles<L>(squares[k], d, d);
      }
    for (long long i = paired; i < halves; ++i) {
      doubles const d = __builtin_convertvector(x[i], doubles) - mean[i - paired];
      multiply_add_doubles<L>(squares[i - paired], d, d);
    }
    doubles* const to = reinterpret_cast<doubles*>(c.to);
    to[0] = mean[0], to[1] = mean[1];
    to[2] = squares[0] + squares[2], to[3] = squares[1] + squares[3];
  }
  [[gnu::always_inline]] static inline void gradients(call const& c) {
    typename vector<L>::type scale, shift, mean, sums[2] = {}, products[2] = {};
    load<L>(scale, c.scale);
    load<L>(shift, c.shift);
    load<L>(mean, c.mean);
    for (long long i = 0; i < c.count; ++i) {
      typename vector<L>::type x, dy;
      load<L>(x, c.x + i * L);
      load<L>(dy, c.dy + i * L);
      if (c.relu) mask<L>(dy, x, scale, shift);
      x -= mean;
      sums[i & 1] += dy;
      multiply_add<L>(products[i & 1], dy, x);
    }
    sums[0] += sums[1];
    products[0] += products[1];
    half const* const from[2] = {reinterpret_cast<half const*>(&sums[0]), reinterpret_cast<half const*>(&products[0])};
    doubles* const to = reinterpret_cast<doubles*>(c.to);
    for (int k = 0; k < 4; ++k) to[k] = __builtin_convertvector(from[k / 2][k % 2], doubles);
  }
};

template <int L>
struct moments {
  using call = moments_call;
  [[gnu::always_inline]] static inline void run(call const& c) {
    typename vector<L>::doubles sums[4];
    __builtin_memcpy(&sums, c.to, sizeof sums);
    for (long long i = 0; i < c.count; ++i) add_moments<L>(sums, c.x + i * L);
    __builtin_memcpy(c.to, &sums, sizeof sums);
  }
};

template <int L>
struct normalize_gradient {
  using call = normalize_gradient_call;
  [[gnu::always_inline]] static inline void run(call const& c) {
    typename vector<L>::type scale, shift, mean, slope, constant;
    load<L>(scale, c.scale);
    load<L>(shift, c.shift);
    load<L>(mean, c.mean);
    load<L>(slope, c.slope);
    load<L>(constant, c.constant);
    for (long long i = 0; i < c.count; ++i) {
      typename vector<L>::type x, dy, dx = constant;
      load<L>(x, c.x + i * L);
      load<L>(dy, c.dy + i * L);
      if (c.relu) mask<L>(dy, x, scale, shift);
      x -= mean;
      multiply_add<L>(dx, x, slope);
      multiply_add<L>(dx, dy, scale);
      if (c.accumulate) {
        load<L>(x, c.dx + i * L);
        dx += x;
      }
      store<L>(c.dx + i * L, dx);
    }
  }
};

}  // namespace dsl::host::TYPENET_MODE

#ifdef __CUDACC__
#pragma nv_diagnostic pop
#endif
