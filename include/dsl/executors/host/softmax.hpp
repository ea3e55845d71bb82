// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/host/activation.hpp>
#include <dsl/executors/host/vector.hpp>

#include <limits>

#ifdef __CUDACC__  // nvcc's front end knows only `#pragma unroll`, which GCC does not
#pragma nv_diagnostic push
#pragma nv_diag_suppress 1675
#endif

namespace dsl::host::TYPENET_MODE {

/// Arguments for a softmax over the channels of each pixel, or for its gradient. Channel blocks are `apart` floats from
/// each other; the unused lanes of the last block become 0.
struct channel_softmax_call {
  float const* x = nullptr;   // or y, for the gradient
  float const* dy = nullptr;  // for the gradient
  float* to = nullptr;        // may be x or dy
  long long apart = 0;
  long long pixels = 0;
  int blocks = 0;
  int channels = 0;
  bool accumulate = false;
};

template <int L>
struct channel_softmax {
  using call = channel_softmax_call;
  using floats = typename vector<L>::type;

  [[gnu::always_inline]] static inline void run(call const& c) {
    for (long long i = 0; i < c.pixels * L; i += L) c.dy ? backward(c, i) : forward(c, i);
  }

 private:
  /// Sets the lanes after the last channel to a number.
  [[gnu::always_inline]] static inline void fill_unused(floats& v, call const& c, int b, float by) {
    int const used = c.channels - b * L;
    if (used >= L) return;
    float lanes[L];
    store<L>(lanes, v);
    for (int l = used; l < L; ++l) lanes[l] = by;
    load<L>(v, lanes);
  }
  [[gnu::always_inline]] static inline void forward(call const& c, long long i) {
    float lanes[L];
    floats const none{};
    floats top = -std::numeric_limits<float>::infinity() - none, sum{}, x, y;
    for (int b = 0; b < c.blocks; ++b) {
      load<L>(x, c.x + b * c.apart + i);
      fill_unused(x, c, b, -std::numeric_limits<float>::infinity());
      top = x > top ? x : top;  // a NaN shows in the sum
    }
    store<L>(lanes, top);
    float largest = lanes[0];
    for (int l = 1; l < L; ++l) largest = lanes[l] > largest ? lanes[l] : largest;
    broadcast<L>(top, &largest);
    for (int b = 0; b < c.blocks; ++b) {
      load<L>(x, c.x + b * c.apart + i);
      exponential<L>(y, x - top);
      fill_unused(y, c, b, 0);
      store<L>(c.to + b * c.apart + i, y);
      sum += y;
    }
    store<L>(lanes, sum);
    float all = lanes[0];
    for (int l = 1; l < L; ++l) all += lanes[l];
    broadcast<L>(sum, &all);
    for (int b = 0; b < c.blocks; ++b) {
      load<L>(y, c.to + b * c.apart + i);
      y /= sum;
      store<L>(c.to + b * c.apart + i, y);
    }
  }
  /// Computes dx = y (dy - the sum of y dy).
  [[gnu::always_inline]] static inline void backward(call const& c, long long i) {
    float lanes[L];
    floats sum{}, y, dy, dx;
    for (int b = 0; b < c.blocks; ++b) {
      load<L>(y, c.x + b * c.apart + i);
      load<L>(dy, c.dy + b * c.apart + i);
      multiply_add<L>(sum, y, dy);
    }
    store<L>(lanes, sum);
    float all = lanes[0];
    for (int l = 1; l < L; ++l) all += lanes[l];
    broadcast<L>(sum, &all);
    for (int b = 0; b < c.blocks; ++b) {
      load<L>(y, c.x + b * c.apart + i);
      load<L>(dy, c.dy + b * c.apart + i);
      dy -= sum;
      if (c.accumulate) {
        load<L>(dx, c.to + b * c.apart + i);
        multiply_add<L>(dx, y, dy);
      } else {
        multiply<L>(dx, y, dy);
      }
      store<L>(c.to + b * c.apart + i, dx);
    }
  }
};

}  // namespace dsl::host::TYPENET_MODE

#ifdef __CUDACC__
#pragma nv_diagnostic pop
#endif
