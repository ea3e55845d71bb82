// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/rules/broken_training.hpp>
#include <dsl/training/callback.hpp>

#include <concepts>
#include <string>

namespace dsl::TYPENET_MODE {

/// Metrics that callbacks monitor. They are types, so that one that does not exist does not compile. Your own look the
/// same.
struct train_loss {
  static constexpr char const* name = "loss";
  static constexpr bool more_is_better = false, of_validation = false;
  static double of(epoch_record const& e) { return e.train.loss; }
};
struct train_accuracy {
  static constexpr char const* name = "acc";
  static constexpr bool more_is_better = true, of_validation = false;
  static double of(epoch_record const& e) { return e.train.acc; }
};
/// The loss on the validation data; a run without such data is refused before its first step.
struct val_loss {
  static constexpr char const* name = "val_loss";
  static constexpr bool more_is_better = false, of_validation = true;
  static double of(epoch_record const& e) { return e.validation.loss; }
};
struct val_accuracy {
  static constexpr char const* name = "val_acc";
  static constexpr bool more_is_better = true, of_validation = true;
  static double of(epoch_record const& e) { return e.validation.acc; }
};

/// Satisfied by a metric: a name, a direction, and a number in an epoch's record.
template <class M>
concept metric = requires(epoch_record const& e) {
  { M::name } -> std::convertible_to<char const*>;
  { M::more_is_better } -> std::convertible_to<bool>;
  { M::of_validation } -> std::convertible_to<bool>;
  { M::of(e) } -> std::convertible_to<double>;
};

/// A metric as a value, for one that is chosen at run time.
struct any_metric {
  char const* name = "";
  bool more_is_better = false;
  bool of_validation = false;
  double (*of)(epoch_record const&) = nullptr;
};

/// Returns a metric's type as a value.
template <metric M>
constexpr any_metric metric_value() {
  return {M::name, M::more_is_better, M::of_validation, [](epoch_record const& e) -> double { return M::of(e); }};
}

/// Returns a metric by its name, as on a command line: metric_named("val_acc"); Keras's longer names are accepted.
/// Throws option_error that lists the known ones.
[[gnu::cold]] any_metric metric_named(std::string const& name);

/// Which values are better; `automatic` asks the metric.
enum class monitor_mode : unsigned char { automatic, min, max };

}  // namespace dsl::TYPENET_MODE

namespace dsl::detail::TYPENET_MODE {

template <class M>
struct monitored : broken::monitors_are_metrics<M, metric<M>> {
  static any_metric value(M const&) {
    if constexpr (metric<M>) return metric_value<M>();
    return {};
  }
};
template <>
struct monitored<any_metric> {
  static any_metric value(any_metric const& m) { return m; }
};

/// A metric and what counts as better: strictly, and by more than min_delta.
struct monitor {
  any_metric what{};
  bool more = false;
  double min_delta = 0;

  monitor() = default;
  [[gnu::cold]] monitor(any_metric const& m, monitor_mode mode, double delta);

  double worst() const { return more ? -__builtin_inf() : __builtin_inf(); }
  bool better(double value, double than) const { return more ? value - min_delta > than : value + min_delta < than; }
  /// Throws option_error for a metric that this run will not have; called before the first step.
  [[gnu::cold]] void require(fit_run const& run, char const* who) const;
};

}  // namespace dsl::detail::TYPENET_MODE

#ifndef TYPENET_COMPILED
#include <dsl/training/metrics_inl.hpp>
#endif
