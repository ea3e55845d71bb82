// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/rules/broken_training.hpp>
#include <dsl/training/evaluation.hpp>

#include <concepts>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace dsl::TYPENET_MODE {

/// Satisfied by a metric over all samples of a data set, from the library or your own: an evaluation_observer with a
/// name of letters, digits and '_', a direction, and a value.
///   struct worst_error : dsl::evaluation_observer {
///     static constexpr char const* name = "worst";
///     static constexpr bool more_is_better = false;
///     double value() const { return worst_; }
///     void on_begin(dsl::dataset const&) override { worst_ = 0; }
///     ...
template <class M>
concept evaluation_metric =
    std::derived_from<M, evaluation_observer> && std::copy_constructible<M> && requires(M const& m) {
      { M::name } -> std::convertible_to<char const*>;
      { M::more_is_better } -> std::convertible_to<bool>;
      { m.value() } -> std::convertible_to<double>;
    };

/// Holds a copy of a metric, for fit's .metrics.
class metric_handle {
 public:
  template <evaluation_metric M>
  metric_handle(M m)  // NOLINT: so that a braced list reads well
      : name_(M::name),
        value_([](evaluation_observer const& o) -> double { return static_cast<M const&>(o).value(); }) {
    observer_ = std::make_shared<M>(std::move(m));
  }
  /// Reports that the value is not a metric, for example the name of one.
  template <class Found>
    requires(!evaluation_metric<Found> && !std::same_as<Found, metric_handle> &&
             !std::derived_from<Found, std::vector<metric_handle>>)
  metric_handle(Found const&)  // NOLINT
      noexcept(sizeof(broken::metrics_are_objects<std::decay_t<Found>, false>) != 0)
      : name_(""), value_(nullptr) {}

  /// Returns the metric's name.
  char const* name() const { return name_; }
  /// Returns the metric's value in the last evaluation.
  double value() const { return value_(*observer_); }
  /// Returns the metric as the observer that evaluate calls.
  evaluation_observer& observer() const { return *observer_; }

 private:
  char const* name_;
  double (*value_)(evaluation_observer const&);
  std::shared_ptr<evaluation_observer> observer_;
};

}  // namespace dsl::TYPENET_MODE

namespace dsl::detail::TYPENET_MODE {

/// Returns the metrics as observers.
std::vector<evaluation_observer*> observers_of(std::vector<metric_handle> const& all);

/// Returns the names of the metrics. Throws option_error if a name cannot be a column of a log, if two metrics have the
/// same name, or if a name is the one of a score that every run has.
std::vector<std::string> names_of(std::vector<metric_handle> const& all, std::vector<std::string> const& outputs);

}  // namespace dsl::detail::TYPENET_MODE

#ifdef TYPENET_DEFINITIONS
#include <dsl/training/evaluation_metric_inl.hpp>
#endif
