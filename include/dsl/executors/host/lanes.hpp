// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/host/vector.hpp>

#ifdef __CUDACC__  // nvcc's front end knows only `#pragma unroll`, which GCC does not
#pragma nv_diagnostic push
#pragma nv_diag_suppress 1675
#endif

namespace dsl::host::TYPENET_MODE {

/// Arguments for writing lanes [first, last) of `count` consecutive vectors, each lane from a row of numbers of its
/// own. Lane l of vector i becomes from[l][i * step[l]], or this number is added to it.
struct lanes_call {
  float const* from[16] = {};
  long long step[16] = {};
  float* to = nullptr;
  int first = 0;
  int last = 0;
  long long count = 0;
  bool accumulate = false;
};

template <int L>
struct copy_lanes {
  using call = lanes_call;
  [[gnu::always_inline]] static inline void run(call const& c) {
    if (c.first > 0 || c.last < L) return some(c);
    for (long long i = 0; i < c.count; ++i) {
      typename vector<L>::type v, old;
      float numbers[L];
#pragma GCC unroll 16
      for (int l = 0; l < L; ++l) numbers[l] = c.from[l][i * c.step[l]];
      load<L>(v, numbers);
      if (c.accumulate) {
        load<L>(old, c.to + i * L);
        v += old;
      }
      store<L>(c.to + i * L, v);
    }
  }

 private:
  [[gnu::always_inline]] static inline void some(call const& c) {
    for (long long i = 0; i < c.count; ++i)
      for (int l = c.first; l < c.last; ++l) {
        float& to = c.to[i * L + l];
        float const v = c.from[l][i * c.step[l]];
        to = c.accumulate ? to + v : v;
      }
  }
};

}  // namespace dsl::host::TYPENET_MODE

#ifdef __CUDACC__
#pragma nv_diagnostic pop
#endif
