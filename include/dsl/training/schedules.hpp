// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/training/callback.hpp>

#include <cmath>
#include <concepts>
#include <utility>

namespace dsl {

/// base * (1 - epoch / epochs)^power: Caffe's polynomial decay; power 1 is a straight line to 0.
struct poly_decay {
  double base = 5e-3;
  int epochs = 70;
  double power = 1.0;
  double operator()(int epoch) const {
    if (epochs < 1) throw option_error("poly_decay: epochs must be 1 or more");
    return base * std::pow(1.0 - static_cast<double>(epoch) / epochs, power);
  }
};

/// Sets the learning rate at the begin of each epoch, counted from 0.
template <std::invocable<int> F>
struct learning_rate_schedule : callback {
  F rate;
  explicit learning_rate_schedule(F f) : rate(std::move(f)) {}
  void on_epoch_begin(fit_run& run) override { run.learning_rate = rate(run.epoch); }
};

}  // namespace dsl
