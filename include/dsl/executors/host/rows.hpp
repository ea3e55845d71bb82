// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/host/vector.hpp>

namespace dsl::host::TYPENET_MODE {

/// The elementwise functions that kernels compute on `count` consecutive vectors.
enum class row_function : unsigned char {
  copy,           // a
  sum,            // a + b
  relu,           // max(a, 0)
  relu_backward,  // b where a > 0; a is the relu's input or output, which agree in sign
};
struct row_call {
  row_function function = row_function::copy;
  float const* a = nullptr;
  float const* b = nullptr;
  float* to = nullptr;  // may be a or b
  long long count = 0;
  bool accumulate = false;
};

template <int L>
struct row {
  using call = row_call;
  [[gnu::always_inline]] static inline void run(call const& c) {
    typename vector<L>::type const zero{};
    for (long long i = 0; i < c.count * L; i += L) {
      typename vector<L>::type v, other;
      load<L>(v, c.a + i);
      if (c.function == row_function::relu) clamp_below<L>(v);
      if (c.function == row_function::sum || c.function == row_function::relu_backward) {
        load<L>(other, c.b + i);
        v = c.function == row_function::sum ? v + other : v > zero ? other : zero;
      }
      if (c.accumulate) {
        load<L>(other, c.to + i);
        v += other;
      }
      store<L>(c.to + i, v);
    }
  }
};

}  // namespace dsl::host::TYPENET_MODE
