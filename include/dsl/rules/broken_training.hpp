// SPDX-License-Identifier: MIT
#pragma once

namespace dsl::broken {

template <class Thing, bool IsMetric>
struct monitors_are_metrics {
  static_assert(
      IsMetric,
      "monitor: it must be a metric: train_loss, train_accuracy, val_loss, val_accuracy, or one made like them");
};

}  // namespace dsl::broken
