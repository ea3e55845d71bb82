// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/math.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/executors/update_rule.hpp>

#include <cstdint>

namespace dsl::host::TYPENET_MODE {

/// The flat arrays of an update, n numbers each. slots[s * stride + i] is slot s of number i.
template <class T>
struct update_call {
  update_rule const* rule;
  double learning_rate;
  std::uint64_t step;  // of the whole training, from 0
  double scale;        // factor for gradients, from clipping by norm; 1 otherwise
  T* p;
  T const* gradient;
  T* slots;
  long long stride;
  long long n;
};

/// The constants of SGD's loop, each rounded once to the type in which the loop computes.
template <class T>
struct sgd_constants {
  T rate, shrink, scale, most, momentum, decay;
  bool nesterov, rate_in_velocity;

  explicit sgd_constants(update_call<T> const& c)
      : rate(static_cast<T>(c.learning_rate)),
        shrink(c.rule->decoupled ? static_cast<T>(c.learning_rate * c.rule->weight_decay) : T(0)),
        scale(static_cast<T>(c.scale)),
        most(c.rule->clip.value > 0 ? static_cast<T>(c.rule->clip.value) : static_cast<T>(__builtin_inf())),
        momentum(static_cast<T>(c.rule->momentum)),
        decay(c.rule->decoupled ? T(0) : static_cast<T>(c.rule->weight_decay)),
        nesterov(c.rule->nesterov),
        rate_in_velocity(c.rule->rate_in_velocity) {}
};

/// Converts g to the gradient that the optimizer uses: scaled, clamped, and with weight decay. Decoupled decay changes
/// the parameter p instead of the gradient. V is T, or a vector of T. Vectors are passed by reference, because passing
/// them by value requires an instruction set that only the caller has selected.
template <class T, class V>
[[gnu::always_inline]] inline void prepare(sgd_constants<T> const& c, V& p, V& g) {
  V const none{}, most = none + c.most;
  g = g * c.scale;
  g = g > most ? most : g;
  g = g < -most ? -most : g;  // NaN stays NaN
  if (c.decay != T(0)) g = g + c.decay * p;
  p = p - c.shrink * p;
}
template <class T, class V>
[[gnu::always_inline]] inline void sgd_one(sgd_constants<T> const& c, V& p, V const& g, V& velocity) {
  if (c.momentum == T(0)) {
    p = p - c.rate * g;
  } else if (c.rate_in_velocity) {
    velocity = c.momentum * velocity - c.rate * g;
    p = p + (c.nesterov ? c.momentum * velocity - c.rate * g : velocity);
  } else {
    velocity = c.momentum * velocity + g;
    p = p - c.rate * (c.nesterov ? g + c.momentum * velocity : velocity);
  }
}

/// Stochastic gradient descent.
template <class T>
void update_by_sgd(update_call<T> const& x) {
  sgd_constants<T> const c(x);
  for (long long i = 0; i < x.n; ++i) {
    T none = 0;
    T g = x.gradient[i];
    prepare(c, x.p[i], g);
    sgd_one(c, x.p[i], g, c.momentum == T(0) ? none : x.slots[i]);
  }
}

// ---- every optimizer ------------------------------------------------------------------------------------------------

template <class T>
struct update_constants : sgd_constants<T> {
  T epsilon, keep_first, take_first, keep_second, take_second;
  update_method method;
  bool in_root, centered;

  explicit update_constants(update_call<T> const& c)
      : sgd_constants<T>(c),
        keep_first(static_cast<T>(c.rule->first_decay)),
        take_first(static_cast<T>(1 - c.rule->first_decay)),
        keep_second(static_cast<T>(c.rule->second_decay)),
        take_second(static_cast<T>(1 - c.rule->second_decay)),
        method(c.rule->method),
        in_root(c.rule->where == epsilon_place::in_root),
        centered(c.rule->centered) {
    update_numbers const now = c.rule->at(c.learning_rate, c.step);
    this->rate = static_cast<T>(now.rate);
    epsilon = static_cast<T>(now.epsilon);
  }
};

struct scalar_root {
  template <class T>
  static void take(T& x) {
    x = dsl::detail::sqrt(x);
  }
};

/// Updates a parameter p and its slots. V is T, or a vector of T for several parameters. Slots that the rule does not
/// have are neither read nor written. Executors on other devices compute in the same order, and therefore round in the
/// same way.
template <class Root, class T, class V>
[[gnu::always_inline]] inline void update_one(update_constants<T> const& c, V& p, V const& gradient, V& first,
                                              V& second, V& third) {
  V g = gradient;
  prepare(c, p, g);
  if (c.method == update_method::sgd) return sgd_one(c, p, g, first);
  if (c.method == update_method::adam) {
    first = c.keep_first * first + c.take_first * g;
    second = c.keep_second * second + c.take_second * (g * g);
    V root = second;
    Root::take(root);
    p = p - c.rate * first / (root + c.epsilon);
    return;
  }
  first = c.keep_second * first + c.take_second * (g * g);
  V root = first;
  if (c.centered) {
    V const none{};
    V& mean = c.momentum == T(0) ? second : third;
    mean = c.keep_second * mean + c.take_second * g;
    root = root - mean * mean;
    root = root < none ? none : root;  // only rounding makes it negative
  }
  if (c.in_root) root = root + c.epsilon;
  Root::take(root);
  if (!c.in_root) root = root + c.epsilon;
  if (c.momentum == T(0)) {
    p = p - c.rate * g / root;
  } else if (c.rate_in_velocity) {
    second = c.momentum * second + c.rate * g / root;
    p = p - second;
  } else {
    second = c.momentum * second + g / root;
    p = p - c.rate * second;
  }
}

template <class T>
void update(update_call<T> const& x) {
  update_constants<T> const c(x);
  int const count = x.rule->slots();
  T unused[3] = {};
  for (long long i = 0; i < x.n; ++i) {
    auto const slot = [&](int s) -> T& { return s < count ? x.slots[s * x.stride + i] : unused[s]; };
    update_one<scalar_root>(c, x.p[i], x.gradient[i], slot(0), slot(1), slot(2));
  }
}

}  // namespace dsl::host::TYPENET_MODE
