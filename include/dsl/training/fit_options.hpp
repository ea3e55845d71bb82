// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/data/augment.hpp>
#include <dsl/data/dataset.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/training/callback.hpp>
#include <dsl/training/evaluation_metric.hpp>
#include <dsl/training/weight_average.hpp>

#include <optional>
#include <vector>

namespace dsl::TYPENET_MODE {

/// The options of fit(). A step takes batch_size samples in total, over all devices and processes. The samples of an
/// epoch that do not fill a batch are left out of it; they appear in other epochs.
struct fit_options {
  int epochs = 1;
  int batch_size = 64;
  /// The address of a data set that is evaluated as a whole after each epoch: &test.
  dataset const* validation = nullptr;
  /// Metrics of the validation data, after each epoch: {dsl::f1_score<>{}}.
  std::vector<metric_handle> metrics{};
  augmentation augment{};
  std::vector<callback_handle> callbacks{};
  std::optional<weight_average> average{};  // validates with, and keeps, the mean of many steps' weights
  bool shuffle = true;
  int prefetch = 2;  // batches prepared by background threads while a step runs
  int loader_threads = 1;
  bool cache = false;     // keeps images as floats after the first pass: 4 bytes per number, 586 MiB for CIFAR-10
  int initial_epoch = 0;  // for resuming: epochs before this one are skipped
};

}  // namespace dsl::TYPENET_MODE
