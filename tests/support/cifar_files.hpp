// SPDX-License-Identifier: MIT
#pragma once

#include "support/temporary_directory.hpp"

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace dsl::test {

/// A directory with CIFAR-10's six files as the reader expects them: 10,000 records each, equally many of every class.
/// The five training files are one file under five names, so that all take 60 MB.
struct cifar_files {
  temporary_directory directory;

  cifar_files() {
    std::string const first = directory / "data_batch_1.bin";
    write(first, 0, 1, 0);
    for (char const* name : {"data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin", "data_batch_5.bin"})
      std::filesystem::create_hard_link(first, directory / name);
    write(directory / "test_batch.bin", 7, 3, 9);
  }
  std::string path() const { return directory.path.string(); }

  /// Returns the mean of all training pictures, which differs from that of a few of them and of the test set.
  static std::vector<float> mean() {
    std::vector<float> all(3072);
    for (std::size_t p = 0; p < all.size(); ++p) all[p] = static_cast<float>(20 * 4.5) + static_cast<float>(p % 50);
    return all;
  }
  static std::vector<std::string> names() {
    return {"airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"};
  }

 private:
  /// Labels are first, first + step, ... modulo 10: 0, 1, 2, ... for training, 7, 0, 3, 6, ... for the test.
  static void write(std::string const& path, int first, int step, std::size_t brighter) {
    std::string ten;
    for (int i = 0; i < 10; ++i) {
      int const label = (first + i * step) % 10;
      ten += static_cast<char>(label);
      for (std::size_t p = 0; p < 3072; ++p)
        ten += static_cast<char>(20 * static_cast<std::size_t>(label) + p % 50 + brighter);
    }
    std::ofstream file(path, std::ios::binary);
    for (int i = 0; i < 1000; ++i) file << ten;
  }
};

}  // namespace dsl::test
