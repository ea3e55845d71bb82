// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/data/dataset.hpp>
#include <dsl/detail/mode.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace dsl::detail::TYPENET_MODE {

/// Throws data_error unless there are count * each numbers, all of them finite. In the message, `what` names one such
/// number.
void require_numbers(std::span<float const> numbers, std::int64_t count, std::int64_t each, char const* what);

/// Checks floats and makes a data set of them. The labels, or `values` targets per sample, are already in the storage.
dataset dataset_of_floats(dsl::shape sample, std::span<float const> numbers, int classes, int values,
                          dataset_storage storage);

}  // namespace dsl::detail::TYPENET_MODE

namespace dsl::TYPENET_MODE {

/// Makes a data set of floats with a class per sample: labels.size() samples, channel-major, one after another. The
/// numbers are not copied; they must outlive the data set and all its copies. Throws data_error for labels that are not
/// from 0 to classes - 1, for a wrong count, and for infinities and NaNs; option_error if classes is below 1.
dataset in_memory_classes(dsl::shape sample, std::span<float const> numbers, int classes,
                          std::vector<std::int32_t> labels, std::vector<std::string> class_names = {},
                          std::shared_ptr<void const> owner = nullptr);
/// Makes the same data set, but one that owns its numbers: the vector is moved or copied into the data set.
///   in_memory_classes({2}, {0, 0, 1, 1}, 2, {0, 1})
dataset in_memory_classes(dsl::shape sample, std::vector<float> numbers, int classes, std::vector<std::int32_t> labels,
                          std::vector<std::string> class_names = {});

/// Makes a data set of floats with `values` target floats per sample, in the order of the network's outputs. The
/// numbers are not copied: they must outlive the data set and all its copies; the targets are copied. Throws data_error
/// for wrong counts, and for infinities and NaNs.
dataset in_memory_values(dsl::shape sample, std::span<float const> numbers, int values, std::vector<float> wanted,
                         std::shared_ptr<void const> owner = nullptr);
/// Makes the same data set, but one that owns its numbers: the vector is moved or copied into the data set.
///   in_memory_values({2}, {0, 0, 1, 1}, 1, {0.5, 3})
dataset in_memory_values(dsl::shape sample, std::vector<float> numbers, int values, std::vector<float> wanted);

}  // namespace dsl::TYPENET_MODE

#ifdef TYPENET_DEFINITIONS
#include <dsl/data/in_memory_inl.hpp>
#endif
