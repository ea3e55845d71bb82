// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/data/dataset.hpp>
#include <dsl/detail/mode.hpp>

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace dsl::TYPENET_MODE {

/// Returns a data set with a further input, which named_input<"name", ...> reads: data.size samples of floats,
/// channel-major, one after another. Augmentation does not change it; normalize() includes it. The numbers are not
/// copied: they must outlive the data set and all its copies. Throws data_error for a wrong count, an infinity or NaN,
/// and a name that is empty or already used.
dataset with_input(dataset data, std::string name, dsl::shape sample, std::span<float const> numbers,
                   std::shared_ptr<void const> owner = nullptr);
/// Makes such a data set that owns its numbers: the vector is moved or copied into it. with_input(images, "weather",
/// {2}, {0.5, 3, 0.1, 7})
dataset with_input(dataset data, std::string name, dsl::shape sample, std::vector<float> numbers);

}  // namespace dsl::TYPENET_MODE

#ifndef TYPENET_COMPILED
#include <dsl/data/with_input_inl.hpp>
#endif
