// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/data/dataset.hpp>
#include <dsl/files/mapped_file.hpp>
#include <dsl/detail/mode.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace dsl::detail::TYPENET_MODE {

// Templates, as in dataset.hpp, so that they are instantiated only where CIFAR-10 is read.

/// Returns advice to remove a file and run the script again. The file must be removed because the script downloads
/// nothing while all files have the right sizes.
std::string fetch_again(std::string const& path);

}  // namespace dsl::detail::TYPENET_MODE

namespace dsl::TYPENET_MODE {

/// Maps files in CIFAR-10's binary format, `records` records of 3,073 bytes each: a label 0..9, then 1,024 red, 1,024
/// green and 1,024 blue bytes, row by row. Checks sizes and every label. Sets no mean.
dataset read_cifar_files(std::vector<std::string> const& paths, std::int64_t records);

/// CIFAR-10 (Krizhevsky 2009): 50,000 training and 10,000 test images of 3x32x32, ten classes.
struct cifar10 {
  dataset train;
  dataset test;  // has the *training* set's mean, as in the recipe

  /// Returns the directory of the files. This is `directory` if given, otherwise $TYPENET_DATA, otherwise
  /// $XDG_CACHE_HOME/typenet (~/.cache/typenet), or in each case its subdirectory cifar-10-batches-bin. Returns an
  /// empty string if there is no such directory. One of the files in it is enough; load() then names the missing ones.
  static std::string find(std::string const& directory = {});

  /// Maps the six files into memory. This takes 0.05 s if they are in the page cache, since checking labels and
  /// computing the mean read every page. Throws data_error.
  static cifar10 load(std::string const& directory = {});

 private:
  static std::string environment(char const* name);
  static std::string within(std::string const& directory);
  static void check_classes(dataset const& data, int expected, std::string const& files, std::string const& again);
};

}  // namespace dsl::TYPENET_MODE

#ifdef TYPENET_DEFINITIONS
#include <dsl/data/cifar10_inl.hpp>
#endif
