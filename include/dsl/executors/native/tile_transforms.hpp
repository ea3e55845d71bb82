// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/executors/native/vector.hpp>

#ifdef __CUDACC__  // whose front end knows `#pragma unroll` alone, which GCC does not
#pragma nv_diagnostic push
#pragma nv_diag_suppress 1675
#endif

namespace dsl::cpu {

/// y = the sum of c[k] * x[k] over the terms that are not 0. What is only added comes first, so that a product
/// is always fused with an addition: bits then follow from the matrix alone. A row with one term must have +-1.
template <int L, int Terms>
[[gnu::always_inline]] inline void combine(double const (&c)[Terms], typename vector<L>::type const* x,
                                           typename vector<L>::type& y) {
  using floats = typename vector<L>::type;
  floats sum{};
  bool begun = false;
#pragma GCC unroll 8
  for (int k = 0; k < Terms; ++k) {
    if (c[k] != 1 && c[k] != -1) continue;
    if (begun)
      sum = c[k] == 1 ? sum + x[k] : sum - x[k];
    else
      sum = c[k] == 1 ? x[k] : -x[k];
    begun = true;
  }
#pragma GCC unroll 8
  for (int k = 0; k < Terms; ++k) {
    if (c[k] == 0 || c[k] == 1 || c[k] == -1) continue;
    floats const factor = static_cast<float>(c[k]) - floats{};
    if (begun)
      multiply_add<L>(sum, x[k], factor);
    else
      multiply<L>(sum, x[k], factor);
    begun = true;
  }
  y = sum;
}

/// y = M x M^T for a matrix M of Rows x Columns. Elements (i, j) are the vectors x[i * x_row + j], and begin at
/// y[i * y_row + j * y_step].
template <int L, int Rows, int Columns>
[[gnu::always_inline]] inline void transform(double const (&m)[Rows][Columns], typename vector<L>::type const* x,
                                             long long x_row, float* y, long long y_row, long long y_step) {
  using floats = typename vector<L>::type;
  floats t[Rows][Columns];  // M x
#pragma GCC unroll 8
  for (int j = 0; j < Columns; ++j) {
    floats column[Columns];
#pragma GCC unroll 8
    for (int i = 0; i < Columns; ++i) column[i] = x[i * x_row + j];
#pragma GCC unroll 8
    for (int i = 0; i < Rows; ++i) combine<L>(m[i], column, t[i][j]);
  }
#pragma GCC unroll 8
  for (int i = 0; i < Rows; ++i)
#pragma GCC unroll 8
    for (int j = 0; j < Rows; ++j) {
      floats v;
      combine<L>(m[j], t[i], v);
      store<L>(y + i * y_row + j * y_step, v);
    }
}

/// M^T, where an algorithm has the other way round.
template <int Rows, int Columns>
struct transposed {
  double at[Columns][Rows]{};
  constexpr explicit transposed(double const (&m)[Rows][Columns]) {
    for (int i = 0; i < Rows; ++i)
      for (int j = 0; j < Columns; ++j) at[j][i] = m[i][j];
  }
};

}  // namespace dsl::cpu

#ifdef __CUDACC__
#pragma nv_diagnostic pop
#endif
