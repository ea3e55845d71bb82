// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/data/dataset.hpp>
#include <dsl/detail/mode.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace dsl::TYPENET_MODE {

/// Return the data set with a separate target for the output that named_output<"output", ...> makes. The data set's own
/// target is then that of the network's result. A data set must have such a target either for every further output of
/// the network, or for none. If it has none, all outputs are compared with the data set's own target. All functions
/// throw data_error for a wrong number of targets, and for an output that has no name or already has a target.

/// Adds a class per sample. Throws data_error if a label is not from 0 to classes - 1.
///   with_class_target(faces, "glasses", 2, {0, 1, 1, 0})
dataset with_class_target(dataset data, std::string output, int classes, std::vector<std::int32_t> labels,
                          std::vector<std::string> class_names = {});
/// Adds `values` target values per sample, in the order of the output's numbers. Throws data_error if a value is
/// infinite or NaN.
///   with_value_target(faces, "age", 1, {31, 54, 18, 40})
dataset with_value_target(dataset data, std::string output, int values, std::vector<float> wanted);
/// Adds a class per pixel: (samples, height, width) labels of the samples' height and width. `ignored` is the label of
/// a pixel without a class. Augmentation moves the labels together with the image.
dataset with_pixel_target(dataset data, std::string output, int classes, std::vector<std::int32_t> labels,
                          int ignored = -1, std::vector<std::string> class_names = {});
/// Gives the output the same target as the network's result. This is for an auxiliary classifier in a network in which
/// other outputs have separate targets.
dataset with_main_target(dataset data, std::string output);

}  // namespace dsl::TYPENET_MODE

#ifdef TYPENET_DEFINITIONS
#include <dsl/data/with_target_inl.hpp>
#endif
