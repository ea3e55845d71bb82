// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/data/dataset.hpp>
#include <dsl/detail/mode.hpp>

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace dsl::TYPENET_MODE {

/// Returns the data set with one more input, which named_input<"name", ...> reads: data.size samples of floats,
/// channel-major, one after another. Augmentation does not change this input; normalize() normalises it, too. The
/// numbers are not copied: they must outlive the data set and all its copies. Throws data_error for a wrong count, an
/// infinity or NaN, and a name that is empty or already used.
dataset with_input(dataset data, std::string name, dsl::shape sample, std::span<float const> numbers,
                   std::shared_ptr<void const> owner = nullptr);
/// Returns the data set with one more input whose numbers it owns: the vector is moved or copied into the data set.
///   with_input(images, "weather", {2}, {0.5, 3, 0.1, 7})
dataset with_input(dataset data, std::string name, dsl::shape sample, std::vector<float> numbers);

}  // namespace dsl::TYPENET_MODE

#ifdef TYPENET_DEFINITIONS
#include <dsl/data/with_input_inl.hpp>
#endif
