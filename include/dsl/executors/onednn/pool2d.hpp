// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/executors/onednn/parallel.hpp>
#include <dsl/executors/onednn/simd.hpp>
#include <dsl/graph/node.hpp>
#include <dsl/view.hpp>

namespace dsl::dnn {

/// A pool over channel blocks: x -> y, or dy -> dx. Planes of one sample and block are independent.
struct pool_call {
  view<float const> in{};
  view<float> out{};
  unsigned char* argmax = nullptr;  // as the pool's output, packed
  dsl::window window{};
  bool accumulate = false;
};

/// Calls f(n, block) for this thread's planes.
template <int L, class F>
[[gnu::always_inline]] inline void for_each_plane(view<float> const& v, int thread, int threads, F f) {
  int const blocks = (v.shape.channels + L - 1) / L;
  share const mine(v.batch * blocks, thread, threads);
  for (int i = mine.begin; i < mine.end; ++i) f(i / blocks, i % blocks, i);
}

struct max_pool2d_forward {
  using call = pool_call;

  template <int L>
  [[gnu::always_inline]] static inline void run(pool_call const& c, int thread, int threads) {
    using floats = typename simd<L>::floats;
    using ints = typename simd<L>::ints;
    using bytes = typename simd<L>::bytes;
    window const w = c.window;
    shape const in = c.in.shape;
    shape const out = c.out.shape;
    for_each_plane<L>(c.out, thread, threads, [&](int n, int b, int plane) __attribute__((always_inline)) {
      floats const* const x = simd<L>::plane(c.in, n, b);
      floats* y = simd<L>::plane(c.out, n, b);
      auto* places = c.argmax ? reinterpret_cast<bytes*>(c.argmax) + plane * out.area() : nullptr;
      for (int row = 0; row < out.height; ++row)
        for (int column = 0; column < out.width; ++column) {
          auto const* const corner = x + 1LL * row * w.stride * in.width + 1LL * column * w.stride;
          floats best = corner[0];
          ints place{};
          for (int i = 0; i < w.height; ++i)
            for (int j = 0; j < w.width; ++j) {
              floats const v = corner[1LL * i * in.width + j];
              ints const here = ints{} + (i * w.width + j);
              ints const larger = v > best;
              best = larger ? v : best;
              place = larger ? here : place;
#if defined(__x86_64__) && !defined(__clang__)
              // GCC would join both comparisons, and then make AVX-512's one number at a time.
              asm("" : "+v"(best), "+v"(place));
#endif
              ints const none = v != v;  // a NaN stays one
              best = none ? v : best;
              place = none ? here : place;
            }
          *y++ = best;
          if (places) *places++ = __builtin_convertvector(place, bytes);
        }
    });
  }
};

struct max_pool2d_backward {
  using call = pool_call;

  template <int L>
  [[gnu::always_inline]] static inline void run(pool_call const& c, int thread, int threads) {
    using floats = typename simd<L>::floats;
    using ints = typename simd<L>::ints;
    using bytes = typename simd<L>::bytes;
    window const w = c.window;
    shape const in = c.out.shape;  // the pool's input, whose gradient is written
    shape const out = c.in.shape;
    for_each_plane<L>(c.out, thread, threads, [&](int n, int b, int plane) __attribute__((always_inline)) {
      floats const* dy = simd<L>::plane(c.in, n, b);
      floats* const dx = simd<L>::plane(c.out, n, b);
      auto const* places = reinterpret_cast<bytes const*>(c.argmax) + plane * out.area();
      if (!c.accumulate)
        for (long long i = 0; i < in.area(); ++i) dx[i] = floats{};
      for (int row = 0; row < out.height; ++row)
        for (int column = 0; column < out.width; ++column) {
          auto* const corner = dx + 1LL * row * w.stride * in.width + 1LL * column * w.stride;
          floats const d = *dy++;
          ints const place = __builtin_convertvector(*places++, ints);
          for (int i = 0; i < w.height; ++i)
            for (int j = 0; j < w.width; ++j)
              corner[1LL * i * in.width + j] += place == ints{} + (i * w.width + j) ? d : floats{};
        }
    });
  }
};

struct avg_pool2d_forward {
  using call = pool_call;

  template <int L>
  [[gnu::always_inline]] static inline void run(pool_call const& c, int thread, int threads) {
    using floats = typename simd<L>::floats;
    window const w = c.window;
    shape const in = c.in.shape;
    shape const out = c.out.shape;
    float const share = 1.0F / static_cast<float>(w.height * w.width);
    for_each_plane<L>(c.out, thread, threads, [&](int n, int b, int) __attribute__((always_inline)) {
      floats const* const x = simd<L>::plane(c.in, n, b);
      floats* y = simd<L>::plane(c.out, n, b);
      for (int row = 0; row < out.height; ++row)
        for (int column = 0; column < out.width; ++column) {
          auto const* const corner = x + 1LL * row * w.stride * in.width + 1LL * column * w.stride;
          floats sum{};
          for (int i = 0; i < w.height; ++i)
            for (int j = 0; j < w.width; ++j) sum += corner[1LL * i * in.width + j];
          *y++ = sum * share;
        }
    });
  }
};

struct avg_pool2d_backward {
  using call = pool_call;

  template <int L>
  [[gnu::always_inline]] static inline void run(pool_call const& c, int thread, int threads) {
    using floats = typename simd<L>::floats;
    window const w = c.window;
    shape const in = c.out.shape;  // the pool's input, whose gradient is written
    shape const out = c.in.shape;
    float const share = 1.0F / static_cast<float>(w.height * w.width);
    for_each_plane<L>(c.out, thread, threads, [&](int n, int b, int) __attribute__((always_inline)) {
      floats const* dy = simd<L>::plane(c.in, n, b);
      floats* const dx = simd<L>::plane(c.out, n, b);
      if (!c.accumulate)
        for (long long i = 0; i < in.area(); ++i) dx[i] = floats{};
      for (int row = 0; row < out.height; ++row)
        for (int column = 0; column < out.width; ++column) {
          auto* const corner = dx + 1LL * row * w.stride * in.width + 1LL * column * w.stride;
          floats const d = *dy++ * share;
          for (int i = 0; i < w.height; ++i)
            for (int j = 0; j < w.width; ++j) corner[1LL * i * in.width + j] += d;
        }
    });
  }
};

}  // namespace dsl::dnn
