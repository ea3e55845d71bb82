// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/shape.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace dsl::TYPENET_MODE {

class sample_source;  // <dsl/data/sample_source.hpp>
class sample_stream;  // <dsl/data/sample_stream.hpp>

/// The type in which samples are stored.
enum class element : unsigned char { byte, real };  // std::uint8_t, float

/// A run of `count` samples in memory, which begin `stride` bytes apart and are channel-major. `first` points to the
/// first sample, which consists of bytes or floats. A CIFAR-10 file is {file + 1, 3073, 10000}: each record is one
/// label byte and 3x32x32 pixels.
struct picture_segment {
  std::uint8_t const* first = nullptr;
  std::int64_t stride = 0;
  std::int64_t count = 0;
};

/// The data that all views of a data set share: the memory segments, all labels or target values, and the owners of the
/// memory.
struct dataset_storage {
  std::vector<picture_segment> segments{};
  std::vector<std::int32_t> labels{};  // one per sample, or one per pixel; empty if there are values
  std::vector<std::string> class_names{};
  std::vector<std::shared_ptr<void const>> owners{};
  element elements = element::byte;
  std::vector<float> values{};                    // dataset::values of them per sample
  std::shared_ptr<sample_source const> source{};  // makes the samples; null: they are in the segments
  std::shared_ptr<sample_stream> stream{};        // or has them, with their targets, one after another
};

/// A further input of each sample, for a network with named_input<...>. Its numbers are floats, channel-major, one
/// sample after another.
struct further_input {
  std::string name;
  dsl::shape sample;
  float const* numbers = nullptr;                                 // of the data set's first sample
  std::shared_ptr<std::vector<float> const> mean{}, deviation{};  // like the data set's own; null: none
  std::shared_ptr<void const> owner{};
};

struct dataset;

/// The target of a further output of the network, for a network with named_output<...>. It is a data set that
/// has no samples, only labels or values, in the same form as in any other data set. Its sample i belongs to sample i
/// of the data set.
struct further_target {
  std::string output;
  std::shared_ptr<dataset const> data;
};

/// Samples of one shape. They are bytes or floats, channel-major (NCHW), and each has a class, a class per pixel, or
/// target values. Copies and views of a data set take about 100 bytes and share the samples' memory.
struct dataset {
  dsl::shape sample;
  std::int64_t size = 0;
  int classes = 0;  // 0 if samples have values
  /// The mean of the *training* set, sample.size() floats, which is subtracted from every sample; null: nothing is
  /// subtracted.
  std::shared_ptr<std::vector<float> const> mean;
  std::shared_ptr<dataset_storage const> storage;
  std::int64_t begin = 0;  // sample 0 of this view is sample `begin` of the storage
  /// The standard deviation of the training set, sample.size() floats, by which each number is divided after the
  /// subtraction; null: nothing is divided.
  std::shared_ptr<std::vector<float> const> deviation{};
  int values = 0;              // target values per sample: as many as the network's outputs
  bool pixel_classes = false;  // labels are (samples, height, width): a class per pixel, or -1 for none

  std::shared_ptr<std::vector<further_input> const> further{};  // null if samples have one input

  /// The factor of each sample's loss; null: all are 1.
  std::shared_ptr<float const> weights{};

  /// The targets of further outputs; null: all outputs share the data set's own target.
  std::shared_ptr<std::vector<further_target> const> targets{};

  /// Whether samples have a class, or a class per pixel, rather than target values.
  bool has_classes() const { return classes > 0; }
  /// Returns the number of labels per sample: 1, or the number of pixels if there is a class per pixel.
  std::int64_t labels_each() const { return pixel_classes ? sample.area() : 1; }
  /// Whether samples are stored as bytes rather than as floats.
  bool has_bytes() const { return storage && storage->elements == element::byte; }

  /// Returns the C*H*W floats of sample i, 0 <= i < size. The data set must be in memory and consist of floats.
  float const* reals(std::int64_t i) const { return reinterpret_cast<float const*>(pixels(i)); }
  /// Returns the targets of sample i: `values` floats, in the order of the network's outputs.
  float const* wanted(std::int64_t i) const { return storage->values.data() + (begin + i) * values; }
  float weight(std::int64_t i) const { return weights ? weights.get()[i] : 1.0F; }
  int further_targets() const { return targets ? static_cast<int>(targets->size()) : 0; }
  /// Returns a further target as a data set, whose sample i belongs to this data set's sample i.
  dataset const& targets_of(int target) const { return *(*targets)[static_cast<std::size_t>(target)].data; }
  int further_inputs() const { return further ? static_cast<int>(further->size()) : 0; }
  /// Returns the address of sample i of a further input.
  float const* further_numbers(int input, std::int64_t i) const {
    dsl::further_input const& f = (*further)[static_cast<std::size_t>(input)];
    return f.numbers + i * f.sample.size();
  }
  /// Returns the address of sample i, 0 <= i < size. The sample has C*H*W bytes or, if the data set consists of floats
  /// (see reals()), C*H*W floats.
  std::uint8_t const* pixels(std::int64_t i) const;
  /// Returns the class of sample i of a data set without pixel_classes.
  int label(std::int64_t i) const { return storage->labels[static_cast<std::size_t>(begin + i)]; }
  /// Returns the address of sample i's label, or of its height x width labels.
  std::int32_t const* labels(std::int64_t i) const { return storage->labels.data() + (begin + i) * labels_each(); }

  /// Returns the name of a class: "frog" for label 6 of CIFAR-10. If the data set has no names, returns the number as
  /// text, "6".
  std::string class_name(int label) const;

  /// Returns samples first .. first+count-1 as a data set with the same mean and deviation.
  dataset subset(std::int64_t first, std::int64_t count) const;
  /// Returns the first `count` samples: cifar.train.first(1000).
  dataset first(std::int64_t count) const { return subset(0, count); }
};

// The following functions are templates, so that the parts of the standard library that they use are instantiated only
// where they are called.

}  // namespace dsl::TYPENET_MODE

namespace dsl::detail::TYPENET_MODE {

/// Throws data_error unless every label is from 0 to classes - 1.
void require_labels(std::vector<std::int32_t> const& labels, int classes);

}  // namespace dsl::detail::TYPENET_MODE

namespace dsl::TYPENET_MODE {

/// Checks storage and makes a data set of it: every label must be in [0, classes), and there must be as many images as
/// labels.
dataset make_dataset(dsl::shape sample, int classes, dataset_storage storage);

/// Makes a data set that owns its pixels: labels.size() images of the shape `sample`, one after another.
/// in_memory_dataset({1, 2, 2}, 2, {0,0,0,0, 255,255,255,255}, {0, 1})
dataset in_memory_dataset(dsl::shape sample, int classes, std::vector<std::uint8_t> pixels,
                          std::vector<std::int32_t> labels, std::vector<std::string> class_names = {});

/// Returns the per-pixel mean of a data set of bytes, C*H*W floats. The sums are exact integers, so the mean does not
/// depend on the order of the images.
std::shared_ptr<std::vector<float> const> mean_picture(dataset const& data);

}  // namespace dsl::TYPENET_MODE

#ifdef TYPENET_DEFINITIONS
#include <dsl/data/dataset_inl.hpp>
#endif
