// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>

#include <cstdint>

namespace dsl::TYPENET_MODE {

/// The targets of a batch that one output of a network is compared with. Labels are a class number per sample, or
/// (size, height, width) class numbers, with -1 for a pixel without a class. Values are (size, channels, height,
/// width), like the output. A program reads those that it was prepared for.
struct target_view {
  std::int32_t const* labels = nullptr;
  float const* values = nullptr;
  float const* weights = nullptr;  // factors of the losses, one per label or per sample with values; null: all are 1
  /// With a class per pixel, the number of pixels with a class in the whole batch, including the parts of other
  /// devices; otherwise -1.
  long long labelled = -1;
};

}  // namespace dsl::TYPENET_MODE
