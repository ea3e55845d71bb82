// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/detail/name.hpp>
#include <dsl/rules/broken_training.hpp>
#include <dsl/training/callback.hpp>

#include <concepts>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace dsl::detail::TYPENET_MODE {

[[gnu::cold, noreturn]] void refuse_rate(double rate, int epoch, name schedule);

}  // namespace dsl::detail::TYPENET_MODE

namespace dsl::TYPENET_MODE {

/// Returns base * (1 - epoch / epochs)^power, Caffe's polynomial decay. With power 1, the rate falls linearly to 0.
/// Throws option_error for an epoch after the last one: a linear rate would become negative there, and a quadratic one
/// would rise again.
struct poly_decay {
  double base = 5e-3;
  int epochs = 70;
  double power = 1.0;
  double operator()(int epoch) const;
};

/// The position in a run of the step whose rate a schedule returns.
struct schedule_point {
  int epoch = 0;  // from 0
  int epochs = 1;
  std::int64_t step = 0;  // of the epoch, from 0
  std::int64_t steps = 1;
  /// Return the number of the run's steps before this one, and the number of steps of the whole run.
  std::int64_t steps_before() const { return epoch * steps + step; }
  std::int64_t all_steps() const { return epochs * steps; }
};

/// Sets the learning rate with a function. A function that accepts a number is called at the beginning of each epoch
/// with the epoch's number, counted from 0, even if it also accepts other arguments, as [](auto x) does. A function
/// that only accepts a schedule_point is called before each step. If the result is not a valid rate, throws
/// option_error before the step.
template <class F>
struct learning_rate_schedule : callback {
  static constexpr bool each_step = !std::invocable<F&, int>;
  // of [](auto epoch), whose body wants a number, only the first is asked
  static constexpr bool is_function =
      std::disjunction_v<std::is_invocable<F&, int>, std::is_invocable<F&, schedule_point const&>>;
  static_assert(sizeof(broken::schedules_are_functions<F, is_function>) != 0);
  F rate;
  explicit learning_rate_schedule(F f) : rate(std::move(f)) {}
  void on_epoch_begin(fit_run& run) override { set(run, 0); }
  void on_batch_end(fit_run& run) override {
    if (each_step && run.step + 1 < run.steps) set(run, run.step + 1);
  }

 private:
  void set(fit_run& run, std::int64_t step) {
    double next = 0;
    if constexpr (!each_step)
      next = rate(run.epoch);
    else if constexpr (is_function)
      next = rate(schedule_point{run.epoch, run.epochs, step, run.steps});
    if (!detail::is_learning_rate(next)) detail::refuse_rate(next, run.epoch, detail::name_of<F>());
    run.learning_rate = next;
  }
};

}  // namespace dsl::TYPENET_MODE

#ifdef TYPENET_DEFINITIONS
#include <dsl/training/schedules_inl.hpp>
#endif
