// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/executors/host/update.hpp>
#include <dsl/executors/native/vector.hpp>
#include <dsl/graph/node.hpp>

namespace dsl::cpu {

/// What an elementwise step makes of numbers that follow each other, `count` vectors.
enum class row_function : unsigned char {
  copy,           // a
  sum,            // a + b
  relu,           // max(a, 0)
  relu_backward,  // b where a > 0; a is the relu's input or output, whose sign is the same
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

/// SGD with a momentum that has the learning rate in its velocity, for numbers [begin, end) of an update's arrays.
struct momentum_call {
  host::update_call<float> const* update = nullptr;
  long long begin = 0;
  long long end = 0;
};

/// v = momentum v - rate (scale g + decay p); p = p - shrink p + v, or with Nesterov's the next v.
template <int L>
struct momentum_step {
  using call = momentum_call;
  [[gnu::always_inline]] static inline void run(call const& c) {
    using floats = typename vector<L>::type;
    host::sgd_constants<float> const k(*c.update);
    floats const none{}, scale = k.scale - none, decay = k.decay - none, rate = k.rate - none;
    floats const momentum = k.momentum - none, shrink = -k.shrink - none;
    for (long long i = c.begin; i < c.end; i += L) {
      floats p, g, v, old, step;
      load<L>(p, c.update->p + i);
      load<L>(g, c.update->gradient + i);
      load<L>(old, c.update->slots + i);
      multiply<L>(step, g, scale);
      multiply_add<L>(step, p, decay);
      multiply<L>(g, step, rate);
      v = -g;
      multiply_add<L>(v, old, momentum);
      store<L>(c.update->slots + i, v);
      old = p;
      multiply_add<L>(p, old, shrink);
      if (k.nesterov) {
        step = -g;
        multiply_add<L>(step, v, momentum);
        p += step;
      } else {
        p += v;
      }
      store<L>(c.update->p + i, p);
    }
  }
};

}  // namespace dsl::cpu
