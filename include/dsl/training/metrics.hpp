// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/message.hpp>
#include <dsl/error.hpp>
#include <dsl/rules/broken_training.hpp>
#include <dsl/training/callback.hpp>

#include <concepts>
#include <cstdint>
#include <string>

namespace dsl {

/// What callbacks watch: types, so that one which isn't there does not compile. One of your own looks the same.
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
/// Of the validation data; a run without them is refused before its first step.
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

/// What early_stopping and model_checkpoint may watch: a name, a direction, and a number of an epoch's record.
template <class M>
concept metric = requires(epoch_record const& e) {
  { M::name } -> std::convertible_to<char const*>;
  { M::more_is_better } -> std::convertible_to<bool>;
  { M::of_validation } -> std::convertible_to<bool>;
  { M::of(e) } -> std::convertible_to<double>;
};

/// A metric as a value, for one that is chosen when the program runs.
struct any_metric {
  char const* name = "";
  bool more_is_better = false;
  bool of_validation = false;
  double (*of)(epoch_record const&) = nullptr;
};

template <metric M>
constexpr any_metric metric_value() {
  return {M::name, M::more_is_better, M::of_validation, [](epoch_record const& e) -> double { return M::of(e); }};
}

/// As on a command line: metric_named("val_acc"); Keras's longer names will do as well. Throws option_error that lists
/// the known ones.
[[gnu::cold]] inline any_metric metric_named(std::string const& name) {
  if (name == "accuracy") return metric_value<train_accuracy>();
  if (name == "val_accuracy") return metric_value<val_accuracy>();
  for (any_metric const& m : {metric_value<train_loss>(), metric_value<train_accuracy>(), metric_value<val_loss>(),
                              metric_value<val_accuracy>()})
    if (name == m.name) return m;
  throw option_error(detail::message({"monitor: it must be one of loss, acc, val_loss, val_acc; found ", name}));
}

/// Which values are better; automatic: the metric knows.
enum class monitor_mode : unsigned char { automatic, min, max };

namespace detail {

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

/// A metric, and what counts as better: strictly, and by more than min_delta.
struct monitor {
  any_metric what{};
  bool more = false;
  double min_delta = 0;

  monitor() = default;
  [[gnu::cold]] monitor(any_metric const& m, monitor_mode mode, double delta)
      : what(m),
        more(mode == monitor_mode::automatic ? m.more_is_better : mode == monitor_mode::max),
        min_delta(delta) {}

  double worst() const { return more ? -__builtin_inf() : __builtin_inf(); }
  bool better(double value, double than) const { return more ? value - min_delta > than : value + min_delta < than; }
  /// Before step 0: throws option_error for a metric that this run won't have.
  [[gnu::cold]] void require(fit_run const& run, char const* who) const {
    if (!what.of)
      throw option_error(message({who, ": its monitor is empty; take metric_named(...), or a metric's type"}));
    if (what.of_validation && !run.validates)
      throw option_error(
          message({who, ": its monitor is ", what.name,
                   ", and this run has no validation data; give fit .validation, or watch loss or acc"}));
    epoch_record none;
    none.train = {1, __builtin_nan("")}, none.validation = {2, __builtin_nan("")};
    if (double const without = what.of(none); !run.has_acc && without != without)
      throw option_error(message({who, ": its monitor is ", what.name,
                                  ", and a network that learns values has no accuracy; watch loss or val_loss"}));
  }
};

}  // namespace detail
}  // namespace dsl
