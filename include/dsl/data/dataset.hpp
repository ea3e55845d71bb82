// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/message.hpp>
#include <dsl/error.hpp>
#include <dsl/shape.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace dsl {

/// What a sample's numbers are stored as.
enum class element : unsigned char { byte, real };  // std::uint8_t, float

/// A run of samples in memory: `count` of them, channel-major, one every `stride` bytes; `first` points to bytes, or to
/// floats. A CIFAR-10 file is {file + 1, 3073, 10000}: each record is one label byte and 3x32x32 pixels.
struct picture_segment {
  std::uint8_t const* first = nullptr;
  std::int64_t stride = 0;
  std::int64_t count = 0;
};

/// What the views of one data set share: the places, every label or value, and whatever keeps the memory alive.
struct dataset_storage {
  std::vector<picture_segment> segments{};
  std::vector<std::int32_t> labels{};  // a sample each; empty where there are values
  std::vector<std::string> class_names{};
  std::vector<std::shared_ptr<void const>> owners{};
  element elements = element::byte;
  std::vector<float> values{};  // as many a sample as dataset::values says
};

/// Samples of one shape, bytes or floats, channel-major (NCHW), each with a class or with values to be learnt. Copies
/// and views share the memory: about 100 bytes each.
struct dataset {
  dsl::shape sample;
  std::int64_t size = 0;
  int classes = 0;  // 0 where samples have values
  /// Subtracted from every sample: the mean of the *training* set, sample.size() floats; none if null.
  std::shared_ptr<std::vector<float> const> mean;
  std::shared_ptr<dataset_storage const> storage;
  std::int64_t begin = 0;  // sample 0 of this view is sample `begin` of the storage
  /// What each number is then divided by: the training set's standard deviation, sample.size() floats; none if null.
  std::shared_ptr<std::vector<float> const> deviation{};
  int values = 0;  // to be learnt, of each sample: as many as the network's outputs

  bool has_classes() const { return classes > 0; }
  bool has_bytes() const { return storage && storage->elements == element::byte; }

  /// Sample i's C*H*W floats, 0 <= i < size, of a data set that has no bytes.
  float const* reals(std::int64_t i) const { return reinterpret_cast<float const*>(pixels(i)); }
  /// What is to be learnt of sample i: `values` floats, in the order of the network's outputs.
  float const* wanted(std::int64_t i) const { return storage->values.data() + (begin + i) * values; }
  /// Returns the address of sample i, 0 <= i < size: of its C*H*W bytes, or of floats, as reals() has them.
  std::uint8_t const* pixels(std::int64_t i) const {
    i += begin;
    for (auto const& s : storage->segments) {
      if (i < s.count) return s.first + i * s.stride;
      i -= s.count;
    }
    return nullptr;  // only for an i outside the set
  }
  int label(std::int64_t i) const { return storage->labels[static_cast<std::size_t>(begin + i)]; }

  /// "frog" for label 6 of CIFAR-10; "6" where the data set gives no names.
  std::string class_name(int label) const {
    auto const i = static_cast<std::size_t>(label);
    return storage && i < storage->class_names.size() ? storage->class_names[i] : std::to_string(label);
  }

  /// Pictures first .. first+count-1 as a data set of their own, mean and all.
  dataset subset(std::int64_t first, std::int64_t count) const {
    if (first < 0 || count < 0 || first > size || count > size - first)
      detail::refuse<option_error>({"dataset: a part must lie within its ", size, " pictures; found ", count,
                                    " from picture ", first, " on; ask for ",
                                    first < 0 || first > size ? "others"
                                    : count < 0               ? "0 or more"
                                                              : "fewer"});
    dataset view = *this;
    view.begin += first;
    view.size = count;
    return view;
  }
  /// cifar.train.first(1000): the first thousand.
  dataset first(std::int64_t count) const { return subset(0, count); }
};

// What follows are templates so that what they instantiate of the standard library is only there where they are called.

namespace detail {

/// Throws data_error unless every label is 0 to classes - 1.
template <class = void>
void require_labels(std::vector<std::int32_t> const& labels, int classes) {
  for (std::size_t i = 0; i < labels.size(); ++i)
    if (labels[i] < 0 || labels[i] >= classes)
      refuse<data_error>({"dataset: labels must be 0 to ", classes - 1, "; found ", labels[i], " for picture ", i,
                          "; correct the label or the number of classes"});
}

}  // namespace detail

/// Checks and wraps storage: every label in [0, classes), as many pictures as labels.
template <class = void>
dataset make_dataset(dsl::shape sample, int classes, dataset_storage storage) {
  constexpr std::int64_t most = 0x7fffffffffffffff;
  std::int64_t pictures = 0;
  auto const labels = static_cast<std::int64_t>(storage.labels.size());
  for (auto const& s : storage.segments) {
    if (s.count < 0) detail::refuse<data_error>({"dataset: a segment must have 0 pictures or more; found ", s.count});
    pictures = s.count > most - pictures ? most : pictures + s.count;
  }
  if (pictures != labels)
    detail::refuse<data_error>({"dataset: there must be one label per picture; found ", pictures, " pictures and ",
                                labels, " labels; check how the data was read"});
  detail::require_labels(storage.labels, classes);
  return {sample, labels, classes, nullptr, std::make_shared<dataset_storage const>(std::move(storage)), 0};
}

/// A data set that owns its pixels: labels.size() pictures of `sample`, one after another.
/// in_memory_dataset({1, 2, 2}, 2, {0,0,0,0, 255,255,255,255}, {0, 1})
template <class = void>
dataset in_memory_dataset(dsl::shape sample, int classes, std::vector<std::uint8_t> pixels,
                          std::vector<std::int32_t> labels, std::vector<std::string> class_names = {}) {
  if (sample.channels < 1 || sample.height < 1 || sample.width < 1)
    detail::refuse<data_error>({"dataset: pictures must have a pixel; found ", sample.channels, "x", sample.height, "x",
                                sample.width, "; check the shape"});
  std::int64_t const bytes = sample.size();
  auto const count = static_cast<std::int64_t>(labels.size());
  auto const found = static_cast<std::int64_t>(pixels.size());
  if (found % bytes != 0 || found / bytes != count)  // the product may be no number
    detail::refuse<data_error>({"dataset: there must be ", count, " pictures of ", bytes, " bytes; found ", found,
                                " bytes; check the shape and the number of labels"});
  auto const owner = std::make_shared<std::vector<std::uint8_t> const>(std::move(pixels));
  return make_dataset(sample, classes,
                      {{{owner->data(), bytes, count}}, std::move(labels), std::move(class_names), {owner}});
}

/// The per-pixel mean of a data set of bytes, C*H*W floats. Sums are exact integers, so the order of the pictures
/// doesn't matter.
template <class = void>
std::shared_ptr<std::vector<float> const> mean_picture(dataset const& data) {
  if (!data.has_bytes())
    detail::refuse<data_error>({"mean_picture: it is of bytes; found a data set of floats; use normalize(train)"});
  std::vector<std::uint64_t> sums(static_cast<std::size_t>(data.sample.size()));
  for (std::int64_t i = 0; i < data.size; ++i) {
    auto const* const picture = data.pixels(i);
    for (std::size_t p = 0; p < sums.size(); ++p) sums[p] += picture[p];
  }
  auto mean = std::make_shared<std::vector<float>>(sums.size());
  double const count = data.size ? static_cast<double>(data.size) : 1.0;
  for (std::size_t p = 0; p < sums.size(); ++p) (*mean)[p] = static_cast<float>(static_cast<double>(sums[p]) / count);
  return mean;
}

}  // namespace dsl
