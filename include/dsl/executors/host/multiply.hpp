// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/host/vector.hpp>

#ifdef __CUDACC__  // nvcc's front end knows only `#pragma unroll`, which GCC does not
#pragma nv_diagnostic push
#pragma nv_diag_suppress 1675
#endif

namespace dsl::host::TYPENET_MODE {

/// Arguments for to = a * b, or to += a * b, for `count` consecutive vectors. b may also be a single vector for all of
/// these vectors, or one number for each vector.
struct multiply_call {
  float const* a = nullptr;
  float const* b = nullptr;  // for vector i at b + i * b_step
  long long b_step = 0;
  bool numbers = false;  // b has one number for all lanes of a vector
  float* to = nullptr;   // may be a
  long long count = 0;
  bool accumulate = false;
};

template <int L>
struct multiply_rows {
  using call = multiply_call;
  [[gnu::always_inline]] static inline void run(call const& c) {
    for (long long i = 0; i < c.count; ++i) {
      typename vector<L>::type a, b, y;
      load<L>(a, c.a + i * L);
      if (c.numbers)
        broadcast<L>(b, c.b + i * c.b_step);
      else
        load<L>(b, c.b + i * c.b_step);
      if (c.accumulate) {
        load<L>(y, c.to + i * L);
        multiply_add<L>(y, a, b);
      } else {
        multiply<L>(y, a, b);
      }
      store<L>(c.to + i * L, y);
    }
  }
};

/// Arguments for summing products over the pixels of a channel block. There are L sums in double.
struct product_sums_call {
  float const* a = nullptr;
  float const* b = nullptr;
  long long count = 0;
  double* to = nullptr;
};

template <int L>
struct product_sums {
  using call = product_sums_call;
  [[gnu::always_inline]] static inline void run(call const& c) {
    using half = typename vector<L>::half;
    using doubles = typename vector<L>::doubles;
    half const *const a = reinterpret_cast<half const*>(c.a), *const b = reinterpret_cast<half const*>(c.b);
    doubles sums[4] = {};  // of the halves of two pixels
    for (long long i = 0; i < 2 * c.count; i += 4)
#pragma GCC unroll 4
      for (int k = 0; k < 4; ++k)
        if (i + k < 2 * c.count)
          multiply_add_doubles<L>(sums[k], __builtin_convertvector(a[i + k], doubles),
                                  __builtin_convertvector(b[i + k], doubles));
    sums[0] += sums[2], sums[1] += sums[3];
    __builtin_memcpy(c.to, &sums, 2 * sizeof(doubles));
  }
};

}  // namespace dsl::host::TYPENET_MODE

#ifdef __CUDACC__
#pragma nv_diagnostic pop
#endif
