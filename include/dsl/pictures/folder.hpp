// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/data/dataset.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/pictures/rgb_picture.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace dsl::TYPENET_MODE {

/// The treatment of a file that is not a complete PNG or JPEG.
enum class unreadable : unsigned char {
  refuse,  // fit, evaluate and predict throw a data_error that names it
  skip,    // it is skipped; all files are decoded once to find such files
};

/// Options for making samples from image files.
struct picture_folder_options {
  dsl::unreadable unreadable = dsl::unreadable::refuse;
  /// Whether the image is cropped to the largest square in its centre before it is resized; otherwise the whole image
  /// is resized, whatever its aspect ratio.
  bool centre = true;
  picture_limits limits{};
  /// The names of the classes, in their order. For a test set, pass those of the training set, which are in
  /// train.data.storage->class_names. If empty, the classes are the names of the folders, sorted bytewise.
  std::vector<std::string> class_names{};
};

/// A data set of images that fit's loader threads decode and resize while a network trains. Only names and classes are
/// kept in memory.
struct picture_folder {
  dataset data;
  std::vector<std::string> files;    // of the samples, in their order
  std::vector<std::string> skipped;  // files that could not be read
};

/// Lists the PNG and JPEG files in a folder that has a subfolder for each class. Their names end in .png, .jpg or
/// .jpeg; other files, and names that begin with a dot, are ignored. Samples are 3 x height x width floats of 0 to 255,
/// red first:
///   dsl::picture_folder const animals = dsl::read_picture_folder("animals", {3, 224, 224});
///   trainer.fit(animals.data, {.augment = dsl::random_flip{}, .loader_threads = 4});
/// Throws data_error if there is no such folder, if a class has no image, if a subfolder is not among the class_names,
/// or if a link leads to itself and is not skipped, and option_error if the class_names name a class twice.
picture_folder read_picture_folder(std::string const& path, dsl::shape sample,
                                   picture_folder_options const& options = {});
/// Makes such a data set from a list of files, with a label for each file. Throws option_error if there are
/// class_names, but not one for each class.
picture_folder read_picture_files(std::vector<std::string> files, std::vector<std::int32_t> labels, int classes,
                                  dsl::shape sample, picture_folder_options const& options = {});
/// Makes such a data set from a list of files, with `values` target values for each file.
picture_folder read_picture_files(std::vector<std::string> files, int values, std::vector<float> wanted,
                                  dsl::shape sample, picture_folder_options const& options = {});

}  // namespace dsl::TYPENET_MODE

#ifdef TYPENET_DEFINITIONS
#include <dsl/pictures/folder_inl.hpp>
#endif
