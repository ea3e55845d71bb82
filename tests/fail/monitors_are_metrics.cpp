// SPDX-License-Identifier: MIT
// LINES: 5
// EXPECT: monitor: it must be train_loss, train_accuracy, val_loss, val_accuracy, val_metric<f1_score<>> for a score of .metrics, or a type with name, more_is_better, of_validation and of(epoch_record)
// EXPECT-RE: monitors_are_metrics<.*f1_score, (IsMetric=)?(false|\(bool\)0|0)
// A name that is not declared at all is an error of the compiler itself.
#include <dsl/callbacks.hpp>
#include <dsl/dsl.hpp>

#ifdef FIXED
struct f1_score {
  static constexpr char const* name = "f1";
  static constexpr bool more_is_better = true, of_validation = true;
  static double of(dsl::epoch_record const& e) { return e.validation.acc; }
};
#else
struct f1_score {
  static constexpr char const* name = "f1";
};
#endif
dsl::callback_handle watch() { return dsl::early_stopping<f1_score>({.patience = 3}); }
