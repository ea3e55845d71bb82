// SPDX-License-Identifier: MIT
#pragma once

namespace dsl::broken {

template <class Thing, bool IsMetric>
struct monitors_are_metrics {
  static_assert(IsMetric,
                "monitor: it must be a metric: train_loss, train_accuracy, val_loss, val_accuracy, or a type with the "
                "same members");
};

template <class Variable, bool IsKept>
struct states_are_numbers_or_text {
  static_assert(IsKept,
                "state: a variable must be a number, an enumeration, an array of them, a std::string, or a std::vector "
                "of float or double; save each member of another type under its own key, or save it as text");
};

}  // namespace dsl::broken
