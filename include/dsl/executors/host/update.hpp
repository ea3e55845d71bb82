// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/executors/engine.hpp>

namespace dsl::host {

/// Stochastic gradient descent on flat arrays of n numbers; v is the velocity, or null without momentum.
template <class T>
void update(update_rule const& rule, double learning_rate, T* p, T const* gradient, T* v, long long n) {
  T const rate = static_cast<T>(learning_rate);
  T const momentum = static_cast<T>(rule.momentum);
  T const decay = static_cast<T>(rule.weight_decay);
  if (!v) {
    for (long long i = 0; i < n; ++i) p[i] -= rate * (gradient[i] + decay * p[i]);
    return;
  }
  if (rule.rate_in_velocity && !rule.nesterov && decay == 0) {  // the usual case, as one vector loop
    for (long long i = 0; i < n; ++i) p[i] += v[i] = momentum * v[i] - rate * gradient[i];
    return;
  }
  for (long long i = 0; i < n; ++i) {
    T const g = gradient[i] + decay * p[i];
    if (rule.rate_in_velocity) {
      v[i] = momentum * v[i] - rate * g;
      p[i] += rule.nesterov ? momentum * v[i] - rate * g : v[i];
    } else {
      v[i] = momentum * v[i] + g;
      p[i] -= rate * (rule.nesterov ? g + momentum * v[i] : v[i]);
    }
  }
}

}  // namespace dsl::host
