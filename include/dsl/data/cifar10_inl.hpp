// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/data/cifar10.hpp>
#include <dsl/data/dataset.hpp>
#include <dsl/files/mapped_file.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/detail/shell_word.hpp>
#include <dsl/error.hpp>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>
#include <unistd.h>

namespace dsl::detail::TYPENET_MODE {

TYPENET_INLINE std::string fetch_again(std::string const& path) {
  auto const slash = path.rfind('/');
  std::string directory = slash == std::string::npos ? "." : path.substr(0, slash + (slash == 0));
  std::string const folder = "/cifar-10-batches-bin";
  if (directory.size() > folder.size() && directory.ends_with(folder))
    directory.resize(directory.size() - folder.size());
  return "to fetch it again: rm -f " + shell_path(path) + " && scripts/download_cifar10 " + shell_path(directory);
}

}  // namespace dsl::detail::TYPENET_MODE

namespace dsl::TYPENET_MODE {

TYPENET_INLINE dataset read_cifar_files(std::vector<std::string> const& paths, std::int64_t records) {
  constexpr std::int64_t record_bytes = 3073;
  auto const bad = [&](std::string const& path, std::string const& must, std::string const& found) {
    return data_error("cifar10: " + path + " must " + must + "; found " + found + "; " + detail::fetch_again(path));
  };
  dataset_storage storage{
      .segments = {},
      .labels = {},
      .class_names = {"airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"},
      .owners = {}};
  auto const expected = static_cast<std::uint64_t>(records * record_bytes);
  for (auto const& path : paths) {
    auto const file = std::make_shared<detail::mapped_file const>(path, "cifar10", detail::fetch_again(path));
    if (auto const size = file->size(); size != expected)
      throw bad(path, "be " + std::to_string(expected) + " bytes, " + std::to_string(records) + " records of 3073",
                std::to_string(size) + (size < expected ? ": too short" : ": too long"));
    for (std::int64_t i = 0; i < records; ++i) {
      int const label = file->data()[i * record_bytes];
      if (label > 9) throw bad(path, "have labels 0 to 9", std::to_string(label) + " in record " + std::to_string(i));
      storage.labels.push_back(label);
    }
    storage.segments.push_back({file->data() + 1, record_bytes, records});
    storage.owners.push_back(file);
  }
  return make_dataset({3, 32, 32}, 10, std::move(storage));
}

TYPENET_INLINE std::string cifar10::find(std::string const& directory) {
  if (!directory.empty()) return within(directory);
  if (auto found = within(environment("TYPENET_DATA")); !found.empty()) return found;
  auto cache = environment("XDG_CACHE_HOME");
  if (cache.empty() && !environment("HOME").empty()) cache = environment("HOME") + "/.cache";
  return cache.empty() ? cache : within(cache + "/typenet");
}

TYPENET_INLINE cifar10 cifar10::load(std::string const& directory) {
  auto const found = find(directory);
  if (found.empty())
    throw data_error("cifar10: data_batch_1.bin to data_batch_5.bin and test_batch.bin must be in " +
                     (directory.empty() ? "$TYPENET_DATA or $XDG_CACHE_HOME/typenet (default ~/.cache/typenet)"
                                        : directory + " or its cifar-10-batches-bin") +
                     "; found none of them; run scripts/download_cifar10" +
                     (directory.empty() ? "" : " " + detail::shell_path(directory)));
  auto const path = [&](std::string const& name) { return found + "/" + name + ".bin"; };
  cifar10 data;
  data.train = read_cifar_files(
      {path("data_batch_1"), path("data_batch_2"), path("data_batch_3"), path("data_batch_4"), path("data_batch_5")},
      10'000);
  data.test = read_cifar_files({path("test_batch")}, 10'000);
  check_classes(data.train, 5'000, found + "/data_batch_{1..5}.bin", path("data_batch_1"));
  check_classes(data.test, 1'000, path("test_batch"), path("test_batch"));
  data.train.mean = data.test.mean = mean_picture(data.train);
  return data;
}

TYPENET_INLINE std::string cifar10::environment(char const* name) {
  char const* const value = std::getenv(name);
  return value ? value : "";
}

TYPENET_INLINE std::string cifar10::within(std::string const& directory) {
  if (directory.empty()) return {};
  for (auto const& place : {directory, directory + "/cifar-10-batches-bin"})
    for (auto const* name : {"/data_batch_1.bin", "/data_batch_2.bin", "/data_batch_3.bin", "/data_batch_4.bin",
                             "/data_batch_5.bin", "/test_batch.bin"})
      if (::access((place + name).c_str(), F_OK) == 0) return place;
  return {};
}

TYPENET_INLINE void cifar10::check_classes(dataset const& data, int expected, std::string const& files,
                                           std::string const& again) {
  std::array<int, 10> counts{};
  for (std::int64_t i = 0; i < data.size; ++i) ++counts[static_cast<std::size_t>(data.label(i))];
  for (int c = 0; c < 10; ++c)
    if (int const found = counts[static_cast<std::size_t>(c)]; found != expected)
      throw data_error("cifar10: " + files + " must have " + std::to_string(expected) +
                       " images of each class; found " + std::to_string(found) + " of class " + std::to_string(c) +
                       " (" + data.class_name(c) + "); " + detail::fetch_again(again));
}

}  // namespace dsl::TYPENET_MODE
