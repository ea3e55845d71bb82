// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/rules/broken_training.hpp>
#include <dsl/training/schedules.hpp>

#include <concepts>
#include <cstdint>
#include <type_traits>

namespace dsl::TYPENET_MODE {

/// Returns base * factor^floor(epoch / every), the same as PyTorch's StepLR.
///   step_decay{0.1, 30} -> 0.1 for epochs 0 to 29, 0.01 for 30 to 59, ...
struct step_decay {
  double base = 0.1;
  int every = 30;
  double factor = 0.1;
  double operator()(int epoch) const;
};

/// Decreases the rate over the whole run from `base` to `end` along half a cosine. The rate changes with every step
/// (Loshchilov & Hutter 2017, without restarts). It equals Keras's CosineDecay over all steps with alpha = end / base.
struct cosine_decay {
  double base = 0.1;
  double end = 0;
  double operator()(schedule_point const& at) const;
};

/// Smith & Topin's "super-convergence", computed as by PyTorch's OneCycleLR with its defaults. During the first `rise`
/// of the run's steps, the rate rises from max_rate / start_divisor to max_rate; then it falls to max_rate /
/// start_divisor / end_divisor, both along cosines. Momentum does not change (OneCycleLR's cycle_momentum=False).
struct one_cycle {
  double max_rate = 0.1;
  double rise = 0.3;
  double start_divisor = 25;
  double end_divisor = 1e4;
  double operator()(schedule_point const& at) const;

 private:
  static double between(double a, double b, double share);
};

}  // namespace dsl::TYPENET_MODE

namespace dsl::detail::TYPENET_MODE {

/// Returns the learning rate of a step, from a schedule that counts in steps or in epochs.
template <class F>
double rate_at(F& schedule, schedule_point const& at) {
  if constexpr (std::invocable<F&, int>)
    return schedule(at.epoch);
  else
    return schedule(at);
}

/// Stands for a schedule that is given after its number of epochs.
template <class F>
struct behind_its_epochs;

}  // namespace dsl::detail::TYPENET_MODE

namespace dsl::TYPENET_MODE {

/// Multiplies the rates of another schedule during its first `epochs` epochs by a factor that grows linearly and
/// reaches 1 at the last step of these epochs (Goyal et al. 2017, for large batches):
///   learning_rate_schedule{warm_up{cosine_decay{.base = 0.4}, 5}}
template <class F>
struct warm_up {
  F then;
  int epochs = 5;
  double operator()(schedule_point const& at) { return scaled(detail::rate_at(then, at), at); }
  double operator()(schedule_point const& at) const { return scaled(detail::rate_at(then, at), at); }

 private:
  double scaled(double rate, schedule_point const& at) const {
    if (epochs < 0) detail::throw_error<option_error>({"warm_up: epochs must be 0 or more; found ", epochs});
    std::int64_t const rising = epochs * at.steps, step = at.steps_before() + 1;
    return step < rising ? rate * static_cast<double>(step) / static_cast<double>(rising) : rate;
  }
};
/// Reports that the number of epochs comes before the schedule.
template <class F>
struct warm_up<detail::behind_its_epochs<F>> {
  warm_up(int, F const&) noexcept(sizeof(broken::schedules_come_before_epochs<F, false>) != 0);
  double operator()(schedule_point const& at) const;
};
template <class F>
warm_up(F, int) -> warm_up<F>;
template <class F>
  requires std::is_class_v<F>
warm_up(int, F) -> warm_up<detail::behind_its_epochs<F>>;
template <class F>
warm_up(F) -> warm_up<F>;

/// Follows another schedule for `epochs` epochs, then keeps the rate that the other schedule has at the first step of
/// the next epoch. This is useful if the weights of the remaining epochs are averaged.
///   learning_rate_schedule{hold{one_cycle{.max_rate = 0.05}, 25}}
template <class F>
struct hold {
  F schedule;
  int epochs = 0;
  double operator()(schedule_point const& at) { return detail::rate_at(schedule, until(at)); }
  double operator()(schedule_point const& at) const { return detail::rate_at(schedule, until(at)); }

 private:
  schedule_point until(schedule_point at) const {
    if (epochs < 0) detail::throw_error<option_error>({"hold: epochs must be 0 or more; found ", epochs});
    if (at.epoch >= epochs) at.epoch = epochs, at.step = 0;
    return at;
  }
};
/// Reports that the number of epochs comes before the schedule.
template <class F>
struct hold<detail::behind_its_epochs<F>> {
  hold(int, F const&) noexcept(sizeof(broken::schedules_come_before_epochs<F, false>) != 0);
  double operator()(schedule_point const& at) const;
};
template <class F>
hold(F, int) -> hold<F>;
template <class F>
  requires std::is_class_v<F>
hold(int, F) -> hold<detail::behind_its_epochs<F>>;

}  // namespace dsl::TYPENET_MODE

#ifdef TYPENET_DEFINITIONS
#include <dsl/training/annealing_inl.hpp>
#endif
