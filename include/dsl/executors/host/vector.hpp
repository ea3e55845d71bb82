// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/host/instructions.hpp>

#ifdef __CUDACC__  // nvcc's front end knows only `#pragma unroll`, which GCC does not
#pragma nv_diagnostic push
#pragma nv_diag_suppress 1675
#endif

// Arithmetic whose bits do not depend on compiler flags. Whether a product is rounded or fused with its addition is
// written here: otherwise GCC would fuse `a * b + c` across statements, Clang within one, and flags could change both.
// Outside of this file kernels only add and subtract vectors. Vectors are passed by reference, since passing by value
// has another calling convention in each instruction set, of which GCC warns in a user's build.

namespace dsl::host::TYPENET_MODE {

/// Vectors of L floats that fill a register, L / 2 doubles converted from half as many floats, and L integers and
/// bytes. Memory needs no alignment.
template <int L>
struct vector {
  typedef float type __attribute__((vector_size(L * 4), aligned(4), may_alias));
  typedef float half __attribute__((vector_size(L * 2), aligned(4), may_alias));
  typedef double doubles __attribute__((vector_size(L * 4), aligned(8), may_alias));
  typedef int ints __attribute__((vector_size(L * 4), aligned(4), may_alias));
  typedef unsigned char bytes __attribute__((vector_size(L), aligned(1), may_alias));
};

template <int L>
[[gnu::always_inline]] inline void load(typename vector<L>::type& v, float const* from) {
  v = *reinterpret_cast<typename vector<L>::type const*>(from);
}
template <int L>
[[gnu::always_inline]] inline void store(float* to, typename vector<L>::type const& v) {
  *reinterpret_cast<typename vector<L>::type*>(to) = v;
}
/// Sets all lanes to the number at `from`.
template <int L>
[[gnu::always_inline]] inline void broadcast(typename vector<L>::type& v, float const* from) {
#if defined(__x86_64__) && !defined(__clang__)
  if constexpr (L == 16)  // GCC would load several numbers and shuffle them
    asm("vbroadcastss {%1, %0|%0, %1}" : "=v"(v) : "m"(*from));
  else if constexpr (L == 8)
    asm("vbroadcastss {%1, %0|%0, %1}" : "=x"(v) : "m"(*from));
  else
#endif
    v = *from - typename vector<L>::type{};  // exact and free; 0 + x would be an addition
}

/// Computes v = a * b, rounded. With four floats, the asm prevents later additions from being fused with it. With more,
/// kernels pass v only to multiply_add, as the sum.
template <int L>
[[gnu::always_inline]] inline void multiply(typename vector<L>::type& v, typename vector<L>::type const& a,
                                            typename vector<L>::type const& b) {
  v = a * b;
#ifdef __x86_64__
  if constexpr (L == 4) asm("" : "+x"(v));
#elif defined(__aarch64__)
  asm("" : "+w"(v));
#endif
}

/// Computes sum += a * b with one rounding. With four floats on x86-64, where fused multiply-add is not assumed, there
/// are two roundings.
template <int L>
[[gnu::always_inline]] inline void multiply_add(typename vector<L>::type& sum, typename vector<L>::type const& a,
                                                typename vector<L>::type const& b) {
#if defined(__aarch64__)
  asm("fmla %0.4s, %1.4s, %2.4s" : "+w"(sum) : "w"(a), "w"(b));
#else
  if constexpr (L == 4) {
    typename vector<L>::type product;
    multiply<L>(product, a, b);
    sum += product;
  } else {
#if defined(__clang__)
    sum = __builtin_elementwise_fma(a, b, sum);
#elif defined(__x86_64__)
    // Explicit instructions also keep GCC from reading a factor from memory once for each product.
    if constexpr (L == 16)
      asm("vfmadd231ps {%2, %1, %0|%0, %1, %2}" : "+v"(sum) : "v"(a), "v"(b));
    else
      asm("vfmadd231ps {%2, %1, %0|%0, %1, %2}" : "+x"(sum) : "x"(a), "x"(b));
#endif
  }
#endif
}

/// Does multiply_add for doubles.
template <int L>
[[gnu::always_inline]] inline void multiply_add_doubles(typename vector<L>::doubles& sum,
                                                        typename vector<L>::doubles const& a,
                                                        typename vector<L>::doubles const& b) {
#if defined(__aarch64__)
  asm("fmla %0.2d, %1.2d, %2.2d" : "+w"(sum) : "w"(a), "w"(b));
#else
  if constexpr (L == 4) {
    typename vector<L>::doubles product = a * b;
#ifdef __x86_64__
    asm("" : "+x"(product));
#endif
    sum += product;
  } else {
#if defined(__clang__)
    sum = __builtin_elementwise_fma(a, b, sum);
#elif defined(__x86_64__)
    if constexpr (L == 16)
      asm("vfmadd231pd {%2, %1, %0|%0, %1, %2}" : "+v"(sum) : "v"(a), "v"(b));
    else
      asm("vfmadd231pd {%2, %1, %0|%0, %1, %2}" : "+x"(sum) : "x"(a), "x"(b));
#endif
  }
#endif
}

/// Adds a vector's values and their squares to sums in double: the values of the lower half, those of the upper half,
/// and the squares of each half. `x` is the vector's address.
template <int L>
[[gnu::always_inline]] inline void add_moments(typename vector<L>::doubles (&sums)[4], float const* x) {
  typename vector<L>::half v;
#pragma GCC unroll 2
  for (int k = 0; k < 2; ++k) {
    __builtin_memcpy(&v, x + k * L / 2, sizeof v);
    typename vector<L>::doubles const d = __builtin_convertvector(v, typename vector<L>::doubles);
    sums[k] += d;
    multiply_add_doubles<L>(sums[2 + k], d, d);
  }
}

/// Returns a * b, rounded; no flag fuses it with an addition.
[[gnu::always_inline]] inline double product_of(double a, double b) {
  double p = a * b;
#ifdef __x86_64__
  asm("" : "+x"(p));
#elif defined(__aarch64__)
  asm("" : "+w"(p));
#endif
  return p;
}

/// Computes v = max(v, 0); NaN stays NaN.
template <int L>
[[gnu::always_inline]] inline void clamp_below(typename vector<L>::type& v) {
  typename vector<L>::type const zero{};
  v = v < zero ? zero : v;
}

}  // namespace dsl::host::TYPENET_MODE

#ifdef __CUDACC__
#pragma nv_diagnostic pop
#endif
