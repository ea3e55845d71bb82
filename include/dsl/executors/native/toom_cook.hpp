// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>

namespace dsl::native_cpu::TYPENET_MODE {

/// Three matrices that compute m outputs of a one-dimensional convolution with r weights from n = m + r - 1 inputs with
/// n products: y = A^T [(G w) * (B^T x)]. The gradients are transposes: dx = B [(G w) * (A dy)], dw = G^T [(B^T x) * (A
/// dy)]. In two dimensions each matrix is applied to columns, then to rows.
template <int M, int R>
struct bilinear_algorithm {
  static constexpr int outputs = M;
  static constexpr int weights = R;
  static constexpr int products = M + R - 1;
  double bt[products][products];
  double g[products][R];
  double at[M][products];
};

template <int Points>
struct interpolation_points {
  double at[Points];
};

/// Returns the algorithm of Toom (1963) and Cook (1966), which multiplies two polynomials by multiplying their values
/// at infinity and at M + R - 2 points. The point 0 must come first.
///
/// For M = 2, R = 3 and the points 0, 1, -1: row i of B^T has the coefficients of the product of (x - q) over the other
/// points q, x^2 - 1 for the point 0; row i of A has the powers of point i; row i of G has them, too, divided by the
/// product of (point i - q).
///   B^T = | 1  0 -1  0 |   G = |  1    0    0  |   A^T = | 1  1  1  0 |
///         | 0  1  1  0 |       | 1/2  1/2  1/2 |         | 0  1 -1  1 |
///         | 0 -1  1  0 |       | 1/2 -1/2  1/2 |
///         | 0 -1  0  1 |       |  0    0    1  |
/// In the first row, this product divides B^T instead of G, so that no row of a matrix is a single product
/// (host/vector.hpp explains why products are fused).
template <int M, int R>
constexpr bilinear_algorithm<M, R> toom_cook(interpolation_points<M + R - 2> const& points) {
  constexpr int n = M + R - 1;
  bilinear_algorithm<M, R> a{};
  for (int i = 0; i < n; ++i) {
    bool const infinity = i == n - 1;
    double coefficients[n + 1] = {1};  // of the product of (x - q)
    double norm = 1;
    int degree = 0;
    for (int j = 0; j < n - 1; ++j) {
      if (j == i) continue;
      double const q = points.at[j];
      for (int k = ++degree; k > 0; --k) coefficients[k] = coefficients[k - 1] - q * coefficients[k];
      coefficients[0] *= -q;
      if (!infinity) norm *= points.at[i] - q;
    }
    double const moved = i == 0 ? norm : 1;
    for (int k = 0; k <= degree; ++k) a.bt[i][k] = coefficients[k] / moved;
    if (infinity) {
      a.at[M - 1][i] = 1;
      a.g[i][R - 1] = 1;
      continue;
    }
    double power = 1;
    for (int k = 0; k < (M < R ? R : M); ++k, power *= points.at[i]) {
      if (k < M) a.at[k][i] = power;
      if (k < R) a.g[i][k] = power * moved / norm;
    }
  }
  return a;
}

/// F(4, 3): 4x4 outputs of a 3x3 convolution with 36 products instead of 144. The rounding error is half as large as
/// with the points 0, +-1 and +-2.
struct f43 {
  static constexpr auto matrices = toom_cook<4, 3>({{0, 0.625, -0.625, 1.5, -1.5}});
};

}  // namespace dsl::native_cpu::TYPENET_MODE
