// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/data/dataset.hpp>
#include <dsl/data/npy_array.hpp>
#include <dsl/detail/mode.hpp>

#include <string>
#include <vector>

namespace dsl::TYPENET_MODE {

// Arrays that numpy.save has written, format 1.0 to 3.0, in C order: little-endian float32, float64, or integers of 1
// to 8 bytes. Samples are (samples, features), (samples, height, width) or (samples, channels, height, width); unsigned
// bytes stay bytes, other integers and float64 become floats, and float32 is used in place, mapped if the file is
// large. All functions throw a data_error that names the file, what it must contain and what was found.

/// Reads samples and their classes. The classes are (samples) or (samples, 1) integers of at least 0. There are as many
/// classes as names or, if no names are given, one more than the largest label.
///   dsl::dataset const digits = dsl::read_npy_classes("images.npy", "labels.npy");
dataset read_npy_classes(std::string const& samples, std::string const& labels,
                         std::vector<std::string> class_names = {});

/// Reads samples and their target values. The values are (samples), (samples, values), or have more dimensions.
dataset read_npy_values(std::string const& samples, std::string const& values);

/// Reads images and one class per pixel. The classes are (samples, height, width) integers, as for
/// in_memory_pixel_classes.
dataset read_npy_pixel_classes(std::string const& pictures, std::string const& labels, int classes, int ignored = -1,
                               std::vector<std::string> class_names = {});

}  // namespace dsl::TYPENET_MODE

#ifdef TYPENET_DEFINITIONS
#include <dsl/data/npy_inl.hpp>
#endif
