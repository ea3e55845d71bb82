// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/combinators/named.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/rules/broken_training.hpp>
#include <dsl/training/callback.hpp>
#include <dsl/training/evaluation_metric.hpp>

#include <concepts>
#include <string>

namespace dsl::TYPENET_MODE {

/// Metrics that callbacks monitor. Each metric is a type, so that a wrong name is a compile error. You can write your
/// own metrics in the same form.
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
/// The loss on the validation data. A run without validation data is refused before its first step.
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

}  // namespace dsl::TYPENET_MODE

namespace dsl::detail::TYPENET_MODE {

/// The name of an output's metric as text: "val_aux_loss".
template <int Size>
struct metric_text {
  char text[Size]{};
  constexpr metric_text(char const* prefix, char const* output, char const* suffix) {
    char* to = text;
    for (char const* part : {prefix, output, suffix})
      for (; *part; ++part) *to++ = *part;
  }
};
/// Returns the scores of an output; throws option_error if the run has no output of that name.
output_scores const& scores_of(scores const& all, char const* output);

/// The name of a validation metric as text: "val_f1".
template <int Size>
struct val_name {
  char text[Size]{'v', 'a', 'l', '_'};
  constexpr explicit val_name(char const* name) {
    for (char* to = text + 4; *name;) *to++ = *name++;
  }
};
/// Returns the value of one of fit's .metrics; throws option_error if the run lacks it.
double value_of(scores const& all, char const* metric);

/// A metric of output Output: its loss or accuracy, on training or validation data.
template <label Output, bool Accuracy, bool Validation>
struct output_metric {
  static constexpr label own = Output;
  static constexpr metric_text<Output.size + 10> text{Validation ? "val_" : "", own.text, Accuracy ? "_acc" : "_loss"};
  static constexpr char const* name = text.text;
  static constexpr bool more_is_better = Accuracy, of_validation = Validation;
  static double of(epoch_record const& e) {
    output_scores const& s = scores_of(Validation ? e.validation : e.train, own.text);
    return Accuracy ? s.acc : s.loss;
  }
};

}  // namespace dsl::detail::TYPENET_MODE

namespace dsl::TYPENET_MODE {

/// Metrics of one of several outputs. The output is given by the name of its named_output<...>, or by "main" for the
/// network's result:
///   early_stopping<val_output_loss<"main">>({.patience = 5})
template <label Output>
struct output_loss : detail::output_metric<Output, false, false> {};
template <label Output>
struct output_accuracy : detail::output_metric<Output, true, false> {};
template <label Output>
struct val_output_loss : detail::output_metric<Output, false, true> {};
template <label Output>
struct val_output_accuracy : detail::output_metric<Output, true, true> {};

/// One of fit's .metrics, on the validation data:
///   early_stopping<val_metric<f1_score<>>>({.patience = 5})
template <evaluation_metric M>
struct val_metric {
  static constexpr auto text = detail::val_name<[] {
    int size = 5;
    for (char const* c = M::name; *c; ++c) ++size;
    return size;
  }()>(M::name);
  static constexpr char const* name = text.text;
  static constexpr bool more_is_better = M::more_is_better, of_validation = true;
  static double of(epoch_record const& e) { return detail::value_of(e.validation, M::name); }
};

/// Satisfied by a metric: a name, a direction, and a number in an epoch's record.
template <class M>
concept metric = requires(epoch_record const& e) {
  { M::name } -> std::convertible_to<char const*>;
  { M::more_is_better } -> std::convertible_to<bool>;
  { M::of_validation } -> std::convertible_to<bool>;
  { M::of(e) } -> std::convertible_to<double>;
};

/// A metric as a value, for programs that choose the metric at run time.
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
/// Throws an option_error that lists the known names.
any_metric metric_named(std::string const& name);

/// Which values are better; with `automatic` the metric itself decides.
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

/// A metric, and a rule for what counts as an improvement: a value is better only if it differs from the best value by
/// more than min_delta.
struct monitor {
  any_metric what{};
  bool more = false;
  double min_delta = 0;

  monitor() = default;
  monitor(any_metric const& m, monitor_mode mode, double delta);

  double worst() const { return more ? -__builtin_inf() : __builtin_inf(); }
  bool better(double value, double than) const { return more ? value - min_delta > than : value + min_delta < than; }
  /// Throws option_error if this run will not have the metric. Called before the first step.
  void require(fit_run const& run, char const* who) const;
};

}  // namespace dsl::detail::TYPENET_MODE

#ifdef TYPENET_DEFINITIONS
#include <dsl/training/metrics_inl.hpp>
#endif
