// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>

#include <cstdint>

namespace dsl::TYPENET_MODE {

/// The targets of a batch that one output of a network is compared with. Labels are a class number per sample, or
/// (size, height, width) class numbers, with -1 for a pixel without a class. Values are (size, channels, height,
/// width), like the output. Only one of them is given.
struct target_view {
  std::int32_t const* labels = nullptr;
  float const* values = nullptr;
  float const* weights = nullptr;  // factors of the losses, one per label or per sample with values; null: all are 1
  long long labelled = -1;         // with a class per pixel: number of labelled pixels of the whole batch
};

}  // namespace dsl::TYPENET_MODE
