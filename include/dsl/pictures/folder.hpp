// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/data/dataset.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/pictures/rgb_picture.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace dsl::TYPENET_MODE {

/// What happens to a file that is no whole PNG or JPEG.
enum class unreadable : unsigned char {
  refuse,  // fit, evaluate and predict throw a data_error that names it
  skip,    // it is left out; all files are decoded once, to find these
};

/// How files become samples.
struct picture_folder_options {
  dsl::unreadable unreadable = dsl::unreadable::refuse;
  /// Whether the largest square in the middle is resized; otherwise the whole picture is, whatever its proportions.
  bool centre = true;
  picture_limits limits{};
  /// The classes in their order, for a test set: train.data.storage->class_names. Empty: the folders, in the order of
  /// their bytes.
  std::vector<std::string> class_names{};
};

/// Pictures that are decoded and resized while a network trains, by fit's loader threads. Only names and classes are in
/// memory.
struct picture_folder {
  dataset data;
  std::vector<std::string> files;    // of the samples, in their order
  std::vector<std::string> skipped;  // files that could not be read
};

/// Lists the PNG and JPEG files of a folder with a folder for each class, by the endings .png, .jpg and .jpeg; other
/// files, and names that begin with a dot, are ignored. Samples are 3 x height x width floats of 0 to 255, red first:
///   dsl::picture_folder const animals = dsl::read_picture_folder("animals", {3, 224, 224});
///   trainer.fit(animals.data, {.augment = dsl::random_flip{}, .loader_threads = 4});
/// Throws data_error if there is no such folder, a class has no picture, or a folder is not among the class_names,
/// and option_error if these name a class twice.
[[gnu::cold]] picture_folder read_picture_folder(std::string const& path, dsl::shape sample,
                                                 picture_folder_options const& options = {});
/// Makes one of a list of files, with a label for each of them. Throws option_error unless the class_names are as many
/// as the classes, or none.
[[gnu::cold]] picture_folder read_picture_files(std::vector<std::string> files, std::vector<std::int32_t> labels,
                                                int classes, dsl::shape sample,
                                                picture_folder_options const& options = {});
/// Makes one of a list of files, with `values` target values for each of them.
[[gnu::cold]] picture_folder read_picture_files(std::vector<std::string> files, int values, std::vector<float> wanted,
                                                dsl::shape sample, picture_folder_options const& options = {});

}  // namespace dsl::TYPENET_MODE

#ifndef TYPENET_COMPILED
#include <dsl/pictures/folder_inl.hpp>
#endif
