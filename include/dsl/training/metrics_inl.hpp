// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/message.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/error.hpp>
#include <dsl/training/callback.hpp>
#include <dsl/training/metrics.hpp>

#include <cstddef>
#include <string>

namespace dsl::TYPENET_MODE {

TYPENET_INLINE any_metric metric_named(std::string const& name) {
  if (name == "accuracy") return metric_value<train_accuracy>();
  if (name == "val_accuracy") return metric_value<val_accuracy>();
  for (any_metric const& m : {metric_value<train_loss>(), metric_value<train_accuracy>(), metric_value<val_loss>(),
                              metric_value<val_accuracy>()})
    if (name == m.name) return m;
  throw option_error(detail::message(
      {"monitor: its name must be loss, acc (or accuracy), val_loss or val_acc (or val_accuracy); found ", name,
       "; a score of fit's .metrics is monitored by its type, such as val_metric<f1_score<>>"}));
}

}  // namespace dsl::TYPENET_MODE

namespace dsl::detail::TYPENET_MODE {

TYPENET_INLINE output_scores const& scores_of(scores const& all, char const* output) {
  std::string names;
  for (output_scores const& s : all.outputs) {
    if (s.name == output) return s;
    names += (names.empty() ? "" : ", ") + s.name;
  }
  if (names.empty())
    throw option_error(
        message({"monitor: the network has only one output, so it must be a metric such as val_loss; found a "
                 "metric of an output ",
                 output}));
  throw option_error(message({"monitor: its output must be one of ", names, "; found ", output}));
}

TYPENET_INLINE double value_of(scores const& all, char const* metric) {
  std::string names;
  for (named_score const& s : all.metrics) {
    if (s.name == metric) return s.value;
    names += (names.empty() ? "" : ", ") + s.name;
  }
  throw option_error(message({"monitor: it watches ", metric, ", which must be one of fit's .metrics; this run has ",
                              names.empty() ? "none" : names, "; add it"}));
}

TYPENET_INLINE monitor::monitor(any_metric const& m, monitor_mode mode, double delta)
    : what(m), more(mode == monitor_mode::automatic ? m.more_is_better : mode == monitor_mode::max), min_delta(delta) {}

TYPENET_INLINE void monitor::require(fit_run const& run, char const* who) const {
  if (!what.of) throw option_error(message({who, ": its monitor is empty; use metric_named(...), or a metric's type"}));
  if (what.of_validation && !run.validates)
    throw option_error(
        message({who, ": its monitor is ", what.name,
                 ", but this run has no validation data; give fit .validation, or monitor loss or acc"}));
  epoch_record none;
  none.train = {1, __builtin_nan("")}, none.validation = {2, __builtin_nan("")};
  bool some_lack_acc = !run.has_acc;
  if (run.has_acc) none.train.acc = none.validation.acc = 1;
  for (scores* s : {&none.train, &none.validation})
    for (std::size_t k = 0; k < run.outputs.size(); ++k) {
      bool const has_acc = k < run.outputs_have_acc.size() ? run.outputs_have_acc[k] != 0 : run.has_acc;
      some_lack_acc = some_lack_acc || !has_acc;
      s->outputs.push_back({run.outputs[k], 3, has_acc ? 1 : __builtin_nan("")});
    }
  for (std::string const& m : run.metrics) none.validation.metrics.push_back({m, 4});
  if (double const without = what.of(none); some_lack_acc && without != without)
    throw option_error(message({who, ": its monitor is ", what.name, ", but ", run.has_acc ? "an output" : "a network",
                                " that learns values has no accuracy; monitor loss or val_loss"}));
}

}  // namespace dsl::detail::TYPENET_MODE
