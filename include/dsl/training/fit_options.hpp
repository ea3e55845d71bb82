// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/data/augment.hpp>
#include <dsl/data/dataset.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/training/callback.hpp>
#include <dsl/training/weight_average.hpp>

#include <optional>
#include <vector>

namespace dsl::TYPENET_MODE {

/// How fit() goes through a data set. Steps take batch_size pictures, over all devices and processes together; what is
/// left over of an epoch has its turn in others.
struct fit_options {
  int epochs = 1;
  int batch_size = 64;
  dataset const* validation = nullptr;  // the whole of it after each epoch
  augmentation augment{};
  std::vector<callback_handle> callbacks{};
  std::optional<weight_average> average{};  // validate and keep the mean of many steps' weights
  bool shuffle = true;
  int prefetch = 2;  // batches made ready by background threads while a step runs
  int loader_threads = 1;
  bool cache = false;     // keep pictures as floats after the first pass: 4 bytes a pixel, 586 MiB for CIFAR-10
  int initial_epoch = 0;  // resume: epochs before this one are skipped
};

}  // namespace dsl::TYPENET_MODE
