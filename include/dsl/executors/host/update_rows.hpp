// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/host/update.hpp>
#include <dsl/executors/host/vector.hpp>

namespace dsl::host::TYPENET_MODE {

/// Numbers [begin, end) of the arrays of an update. Their count is a multiple of 16, since memory regions are padded.
struct update_rows_call {
  update_call<float> const* update = nullptr;
  long long begin = 0;
  long long end = 0;
};

/// Computes v = sqrt(v), correctly rounded. Including <immintrin.h> would cost every file 0.1 s; and where no
/// instruction set has been selected yet, GCC's intrinsics would change the ABI, with a warning.
template <int L>
[[gnu::always_inline]] inline void square_root(typename vector<L>::type& v) {
#if __has_builtin(__builtin_elementwise_sqrt)
  v = __builtin_elementwise_sqrt(v);
#elif defined(__x86_64__) && !defined(__clang__)
  if constexpr (L == 4)
    asm("sqrtps {%1, %0|%0, %1}" : "=x"(v) : "x"(v));
  else if constexpr (L == 8)
    asm("vsqrtps {%1, %0|%0, %1}" : "=x"(v) : "x"(v));
  else
    asm("vsqrtps {%1, %0|%0, %1}" : "=v"(v) : "v"(v));
#else
  for (int i = 0; i < L; ++i) v[i] = __builtin_sqrtf(v[i]);
#endif
}

/// Updates parameters as host::update does, for every optimizer, one vector at a time. The bits do not depend on the
/// compiler's flags.
template <int L>
struct update_rows {
  using call = update_rows_call;
  using floats = typename vector<L>::type;

  [[gnu::always_inline]] static inline void run(call const& c) {
    update_call<float> const& u = *c.update;
    update_constants<float> const k(u);
    floats const none{}, scale = k.scale - none, most = k.most - none, decay = k.decay - none,
                         shrink = -k.shrink - none;
    int const slots = u.rule->slots();
    for (long long i = c.begin; i < c.end; i += L) {
      floats p, g, scaled, slot[3] = {};
      load<L>(p, u.p + i);
      load<L>(g, u.gradient + i);
      for (int s = 0; s < slots; ++s) load<L>(slot[s], u.slots + s * u.stride + i);
      multiply<L>(scaled, g, scale);
      g = scaled > most ? most : scaled;
      g = g < -most ? -most : g;  // NaN stays NaN
      multiply_add<L>(g, p, decay);
      scaled = p;
      multiply_add<L>(p, scaled, shrink);
      if (k.method == update_method::sgd)
        sgd(k, p, g, slot[0]);
      else if (k.method == update_method::adam)
        adam(k, p, g, slot[0], slot[1]);
      else
        rmsprop(k, p, g, slot[0], slot[1], k.momentum == 0 ? slot[1] : slot[2]);
      store<L>(u.p + i, p);
      for (int s = 0; s < slots; ++s) store<L>(u.slots + s * u.stride + i, slot[s]);
    }
  }

 private:
  /// Computes to = keep * to + take * x.
  [[gnu::always_inline]] static inline void blend(floats& to, float keep, float take, floats const& x) {
    floats const none{}, old = to, kept = keep - none, taken = take - none;
    multiply<L>(to, x, taken);
    multiply_add<L>(to, old, kept);
  }
  [[gnu::always_inline]] static inline void sgd(update_constants<float> const& k, floats& p, floats const& g,
                                                floats& velocity) {
    floats const none{}, rate = k.rate - none, minus = -rate, momentum = k.momentum - none;
    if (k.momentum == 0) return multiply_add<L>(p, g, minus);
    if (k.rate_in_velocity) {
      floats step, old = velocity;
      multiply<L>(step, g, minus);
      velocity = step;
      multiply_add<L>(velocity, old, momentum);
      if (k.nesterov)
        multiply_add<L>(step, velocity, momentum);
      else
        step = velocity;
      p += step;
    } else {
      floats step = g;
      multiply_add<L>(step, velocity, momentum);
      velocity = step;
      if (k.nesterov) {
        step = g;
        multiply_add<L>(step, velocity, momentum);
      }
      multiply_add<L>(p, step, minus);
    }
  }
  [[gnu::always_inline]] static inline void adam(update_constants<float> const& k, floats& p, floats const& g,
                                                 floats& first, floats& second) {
    floats const none{}, rate = k.rate - none, epsilon = k.epsilon - none;
    floats square, root, step;
    multiply<L>(square, g, g);
    blend(first, k.keep_first, k.take_first, g);
    blend(second, k.keep_second, k.take_second, square);
    root = second;
    square_root<L>(root);
    multiply<L>(step, first, rate);
    p -= step / (root + epsilon);
  }
  [[gnu::always_inline]] static inline void rmsprop(update_constants<float> const& k, floats& p, floats const& g,
                                                    floats& square, floats& velocity, floats& mean) {
    floats const none{}, rate = k.rate - none, minus = -rate, momentum = k.momentum - none, epsilon = k.epsilon - none;
    floats now, root, step;
    multiply<L>(now, g, g);
    blend(square, k.keep_second, k.take_second, now);
    root = square;
    if (k.centered) {
      blend(mean, k.keep_second, k.take_second, g);
      now = -mean;
      multiply_add<L>(root, now, mean);
      root = root < none ? none : root;  // only rounding makes it negative
    }
    if (k.in_root) root += epsilon;
    square_root<L>(root);
    if (!k.in_root) root += epsilon;
    if (k.momentum == 0 || k.rate_in_velocity)
      multiply<L>(step, g, rate);
    else
      step = g;
    step = step / root;
    if (k.momentum == 0) {
      p -= step;
      return;
    }
    multiply_add<L>(step, velocity, momentum);
    velocity = step;
    if (k.rate_in_velocity)
      p -= step;
    else
      multiply_add<L>(p, step, minus);
  }
};

}  // namespace dsl::host::TYPENET_MODE
