// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/data/dataset.hpp>
#include <dsl/detail/mode.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace dsl::TYPENET_MODE {

/// Makes a data set of float images with a class per pixel, for segmentation. Labels are (samples, height, width) and
/// from 0 to classes - 1. A pixel labelled -1 or `ignored` has no class: losses and accuracies omit it. The numbers are
/// not copied: they must outlive the data set and all its copies. Throws data_error if a count is wrong, a number is
/// infinite or NaN, a label is neither a class nor ignored, or no pixel has a class; throws option_error for fewer than
/// two classes.
dataset in_memory_pixel_classes(dsl::shape sample, std::span<float const> numbers, int classes,
                                std::vector<std::int32_t> labels, int ignored = -1,
                                std::vector<std::string> class_names = {}, std::shared_ptr<void const> owner = nullptr);
/// Makes the same data set, but one that owns its numbers: the vector is moved or copied into the data set.
dataset in_memory_pixel_classes(dsl::shape sample, std::vector<float> numbers, int classes,
                                std::vector<std::int32_t> labels, int ignored = -1,
                                std::vector<std::string> class_names = {});
/// Makes the same data set from bytes, which the data set owns.
dataset in_memory_pixel_dataset(dsl::shape sample, std::vector<std::uint8_t> pixels, int classes,
                                std::vector<std::int32_t> labels, int ignored = -1,
                                std::vector<std::string> class_names = {});

}  // namespace dsl::TYPENET_MODE

namespace dsl::detail::TYPENET_MODE {

/// Checks (samples, height, width) labels, replaces labels equal to `ignored` by -1, and returns the number of samples.
std::int64_t check_pixel_labels(dsl::shape const& sample, int classes, std::vector<std::int32_t>& labels, int ignored);
/// Makes a data set of samples whose segments, if it has any, are in `storage`.
dataset dataset_of_pixel_classes(dsl::shape const& sample, int classes, std::int64_t samples, dataset_storage storage);

}  // namespace dsl::detail::TYPENET_MODE

#ifdef TYPENET_DEFINITIONS
#include <dsl/data/pixel_classes_inl.hpp>
#endif
