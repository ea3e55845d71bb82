// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/native/vector.hpp>

#ifdef __CUDACC__  // whose front end knows `#pragma unroll` alone, which GCC does not
#pragma nv_diagnostic push
#pragma nv_diag_suppress 1675
#endif

namespace dsl::native_cpu::TYPENET_MODE {

/// A matrix, rewritten so that a product with it takes few operations. Points p and -p give an algorithm's matrices
/// pairs of rows, or of columns, that differ only in signs. Of a pair of rows, the common terms are `even` and the
/// others `odd`, and the results are even + factor * odd and even - factor * odd: rows (4, 2, 1) and (4, -2, 1) become
/// (4, 0, 1) and (0, 1, 0) with a factor of 2. For a pair of columns, the two numbers of x are replaced by their sum
/// and their difference, and each row uses one of them.
template <int Rows, int Columns>
struct linear_map {
  static constexpr int rows = Rows;
  static constexpr int columns = Columns;
  double m[Rows][Columns]{};
  double factor[Rows]{};         // not 0: this row and the next one are a pair
  bool column_pairs[Columns]{};  // this column and the next one

  constexpr explicit linear_map(double const (&of)[Rows][Columns]) {
    bool by_rows = false;
    for (int i = 0; i < Rows; ++i)
      for (int k = 0; k < Columns; ++k) m[i][k] = of[i][k];
    for (int i = 0; i + 1 < Rows; ++i)
      if (differ_in_signs(i, 0, i + 1, 0, 0, 1, Columns)) pair_rows(i++), by_rows = true;
    for (int k = 0; k + 1 < Columns && !by_rows; ++k)
      if (differ_in_signs(0, k, 0, k + 1, 1, 0, Rows)) pair_columns(k++);
  }

  /// Returns the first column that row i only adds or subtracts, or -1 if there is none. first_factor() returns the
  /// first column that it multiplies.
  constexpr int first_term(int i) const {
    for (int k = 0; k < Columns; ++k)
      if (m[i][k] == 1 || m[i][k] == -1) return k;
    return -1;
  }
  constexpr int first_factor(int i) const {
    for (int k = 0; k < Columns; ++k)
      if (m[i][k] != 0 && m[i][k] != 1 && m[i][k] != -1) return k;
    return -1;
  }

 private:
  /// Whether two rows or columns, which begin at (i, j) and (k, l), have the same magnitudes, some with equal signs and
  /// some with different signs.
  constexpr bool differ_in_signs(int i, int j, int k, int l, int down, int right, int count) const {
    bool same = false, other = false;
    for (int n = 0; n < count; ++n) {
      double const a = m[i + n * down][j + n * right], b = m[k + n * down][l + n * right];
      if (a != b && a != -b) return false;
      if (a != 0) (a == b ? same : other) = true;
    }
    return same && other;
  }
  constexpr void pair_rows(int i) {
    for (int k = 0; k < Columns; ++k)
      if (m[i][k] != m[i + 1][k]) factor[i] = m[i][k];
    for (int k = 0; k < Columns; ++k) {
      bool const odd = m[i][k] != m[i + 1][k];
      m[i + 1][k] = odd ? m[i][k] / factor[i] : 0;
      if (odd) m[i][k] = 0;
    }
  }
  constexpr void pair_columns(int k) {
    column_pairs[k] = true;
    for (int i = 0; i < Rows; ++i) {
      bool const differ = m[i][k] != m[i][k + 1];
      m[i][k + 1] = differ ? m[i][k] : 0;
      if (differ) m[i][k] = 0;
    }
  }
};

/// Calls f(number<0>), f(number<1>), ..., f(number<N - 1>): a loop whose counter is a constant in each iteration.
template <int I>
struct number {
  static constexpr int value = I;
};
template <int N, int I = 0, class F>
[[gnu::always_inline]] inline void for_each_number(F f) {
  if constexpr (I < N) {
    f(number<I>{});
    for_each_number<N, I + 1>(f);
  }
}

/// Sets y to the sum of c[k] * x[k] over the terms of row I that are not 0. Terms that are only added come first, so
/// that products are fused with additions. The bits then follow from the matrix alone.
template <int L, class Matrix, int I>
[[gnu::always_inline]] inline void combine(typename vector<L>::type const* x, typename vector<L>::type& y) {
  using floats = typename vector<L>::type;
  static constexpr auto const& c = Matrix::map.m[I];
  constexpr int first = Matrix::map.first_term(I);
  constexpr bool plain = first < 0;  // no term is only added
  if constexpr (!plain) y = c[first < 0 ? 0 : first] == 1 ? x[first] : -x[first];
  for_each_number<Matrix::map.columns>([&](auto k) __attribute__((always_inline)) {
    constexpr int K = decltype(k)::value;
    if constexpr (K > first && !plain && c[K] == 1) y += x[K];
    if constexpr (K > first && !plain && c[K] == -1) y -= x[K];
  });
  for_each_number<Matrix::map.columns>([&](auto k) __attribute__((always_inline)) {
    constexpr int K = decltype(k)::value;
    if constexpr (c[K] != 0 && c[K] != 1 && c[K] != -1) {
      floats factor{};
      factor += static_cast<float>(c[K]);  // nvcc 13's front end crashes where a vector is made in one expression
      if constexpr (plain && K == Matrix::map.first_factor(I))
        multiply<L>(y, x[K], factor);
      else
        multiply_add<L>(y, x[K], factor);
    }
  });
}

/// Sets y to M x for the matrix Matrix::map. Overwrites x if it has pairs of columns.
template <int L, class Matrix>
[[gnu::always_inline]] inline void apply(typename vector<L>::type* x, typename vector<L>::type* y) {
  using floats = typename vector<L>::type;
  static constexpr auto const& map = Matrix::map;
  for_each_number<map.columns - 1>([&](auto k) __attribute__((always_inline)) {
    constexpr int K = decltype(k)::value;
    if constexpr (map.column_pairs[K]) {
      floats const first = x[K];
      x[K] = first + x[K + 1];
      x[K + 1] = first - x[K + 1];
    }
  });
  for_each_number<map.rows>(
      [&](auto i) __attribute__((always_inline)) { combine<L, Matrix, decltype(i)::value>(x, y[decltype(i)::value]); });
  for_each_number<map.rows - 1>([&](auto i) __attribute__((always_inline)) {
    constexpr int I = decltype(i)::value;
    if constexpr (map.factor[I] != 0) {
      floats factor{}, odd = y[I + 1];
      factor += static_cast<float>(map.factor[I]);
      floats const minus = -factor;
      y[I + 1] = y[I];
      multiply_add<L>(y[I], odd, factor);
      multiply_add<L>(y[I + 1], odd, minus);
    }
  });
}

/// Computes Y = M X M^T. get(i, j, v) sets v to a vector of numbers of X at (i, j); put(i, j, v) receives one of Y.
template <int L, class Matrix, class Get, class Put>
[[gnu::always_inline]] inline void transform(Get get, Put put) {
  using floats = typename vector<L>::type;
  constexpr int rows = Matrix::map.rows, columns = Matrix::map.columns;
  floats t[rows][columns];  // M X
  for (int j = 0; j < columns; ++j) {
    floats column[columns], made[rows];
#pragma GCC unroll 8
    for (int i = 0; i < columns; ++i) get(i, j, column[i]);
    apply<L, Matrix>(column, made);
#pragma GCC unroll 8
    for (int i = 0; i < rows; ++i) t[i][j] = made[i];
  }
  for (int i = 0; i < rows; ++i) {
    floats made[rows];
    apply<L, Matrix>(t[i], made);
#pragma GCC unroll 8
    for (int j = 0; j < rows; ++j) put(i, j, made[j]);
  }
}

/// The transpose of one of an algorithm's matrices.
template <int Rows, int Columns>
struct transposed {
  double at[Columns][Rows]{};
  constexpr explicit transposed(double const (&m)[Rows][Columns]) {
    for (int i = 0; i < Rows; ++i)
      for (int j = 0; j < Columns; ++j) at[j][i] = m[i][j];
  }
};

}  // namespace dsl::native_cpu::TYPENET_MODE

#ifdef __CUDACC__
#pragma nv_diagnostic pop
#endif
