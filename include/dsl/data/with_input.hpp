// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/data/dataset.hpp>
#include <dsl/detail/mode.hpp>

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace dsl::TYPENET_MODE {

/// Returns a data set whose samples have one input more, which named_input<"name", ...> takes: data.size samples of
/// floats, channel-major, one after another. Augmentation leaves it as it is; normalize() includes it. The numbers are
/// not copied: they must outlive the data set and all its copies. Throws data_error for a wrong count, a number that is
/// infinite or NaN, and a name that is empty or taken.
dataset with_input(dataset data, std::string name, dsl::shape sample, std::span<float const> numbers,
                   std::shared_ptr<void const> owner = nullptr);
/// Makes one that owns its numbers: the vector is copied or moved into it.
/// with_input(pictures, "weather", {2}, {0.5, 3, 0.1, 7})
dataset with_input(dataset data, std::string name, dsl::shape sample, std::vector<float> numbers);

}  // namespace dsl::TYPENET_MODE

#ifndef TYPENET_COMPILED
#include <dsl/data/with_input_inl.hpp>
#endif
