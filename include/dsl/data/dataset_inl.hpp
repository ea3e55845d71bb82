// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/data/dataset.hpp>
#include <dsl/detail/message.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/detail/option_check.hpp>
#include <dsl/error.hpp>
#include <dsl/shape.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace dsl::TYPENET_MODE {

TYPENET_INLINE std::uint8_t const* dataset::pixels(std::int64_t i) const {
  i += begin;
  for (auto const& s : storage->segments) {
    if (i < s.count) return s.first + i * s.stride;
    i -= s.count;
  }
  return nullptr;  // only for an i outside of the set
}

TYPENET_INLINE std::string dataset::class_name(int label) const {
  auto const i = static_cast<std::size_t>(label);
  return storage && i < storage->class_names.size() ? storage->class_names[i] : std::to_string(label);
}

TYPENET_INLINE dataset dataset::subset(std::int64_t first, std::int64_t count) const {
  if (storage && storage->stream)
    detail::throw_error<option_error>(
        {"dataset: a stream has no subsets, because its samples come one after another; found a subset of ", count,
         " samples from sample ", first, "; read some into memory with read_from_stream()"});
  if (first < 0 || count < 0 || first > size || count > size - first)
    detail::throw_error<option_error>({"dataset: a subset must lie within the ", size, " samples; found a subset of ",
                                       count, " samples from sample ", first, "; choose ",
                                       first < 0 || first > size
                                           ? detail::message({"a first sample from 0 to ", size})
                                           : detail::message({"0 to ", size - first, " samples"})});
  dataset view = *this;
  view.begin += first;
  view.size = count;
  if (weights) view.weights = {weights, weights.get() + first};
  if (further) {
    auto all = std::make_shared<std::vector<further_input>>(*further);
    for (further_input& f : *all) f.numbers += first * f.sample.size();
    view.further = std::move(all);
  }
  if (targets) {
    auto all = std::make_shared<std::vector<further_target>>(*targets);
    for (further_target& t : *all) t.data = std::make_shared<dataset const>(t.data->subset(first, count));
    view.targets = std::move(all);
  }
  return view;
}

}  // namespace dsl::TYPENET_MODE

namespace dsl::detail::TYPENET_MODE {

TYPENET_INLINE void require_labels(std::vector<std::int32_t> const& labels, int classes) {
  for (std::size_t i = 0; i < labels.size(); ++i)
    if (labels[i] < 0 || labels[i] >= classes)
      throw_error<data_error>({"dataset: labels must be 0 to ", classes - 1, "; found ", labels[i], " for sample ", i,
                               "; correct the label or the number of classes"});
}

}  // namespace dsl::detail::TYPENET_MODE

namespace dsl::TYPENET_MODE {

TYPENET_INLINE dataset make_dataset(dsl::shape sample, int classes, dataset_storage storage) {
  detail::option_check{"dataset"}.need(classes >= 1, "classes must be 1 or more", classes);
  constexpr std::int64_t most = 0x7fffffffffffffff;
  std::int64_t pictures = 0;
  auto const labels = static_cast<std::int64_t>(storage.labels.size());
  for (auto const& s : storage.segments) {
    if (s.count < 0)
      detail::throw_error<data_error>({"dataset: a segment must have 0 or more samples; found ", s.count});
    pictures = s.count > most - pictures ? most : pictures + s.count;
  }
  if (pictures != labels)
    detail::throw_error<data_error>({"dataset: there must be one label per sample; found ",
                                     detail::counted(pictures, "sample"), " and ", detail::counted(labels, "label"),
                                     "; check how the data was read"});
  detail::require_labels(storage.labels, classes);
  return {sample, labels, classes, nullptr, std::make_shared<dataset_storage const>(std::move(storage)), 0};
}

TYPENET_INLINE dataset in_memory_dataset(dsl::shape sample, int classes, std::vector<std::uint8_t> pixels,
                                         std::vector<std::int32_t> labels, std::vector<std::string> class_names) {
  if (sample.channels < 1 || sample.height < 1 || sample.width < 1)
    detail::throw_error<data_error>({"dataset: samples must have at least one number; found ", sample.channels, "x",
                                     sample.height, "x", sample.width, "; check the shape"});
  std::int64_t const bytes = sample.size();
  auto const count = static_cast<std::int64_t>(labels.size());
  auto const found = static_cast<std::int64_t>(pixels.size());
  if (found % bytes != 0 || found / bytes != count)  // the product may overflow
    detail::throw_error<data_error>({"dataset: there must be ", detail::counted(count, "sample"), " of ",
                                     detail::counted(bytes, "byte"), count == 1 ? "" : " each", "; found ",
                                     detail::counted(found, "byte"), "; check the shape and the number of labels"});
  auto const owner = std::make_shared<std::vector<std::uint8_t> const>(std::move(pixels));
  return make_dataset(sample, classes,
                      {{{owner->data(), bytes, count}}, std::move(labels), std::move(class_names), {owner}});
}

TYPENET_INLINE std::shared_ptr<std::vector<float> const> mean_picture(dataset const& data) {
  if (!data.has_bytes())
    detail::throw_error<data_error>(
        {"mean_picture: the data set must consist of bytes; found floats; use normalize(train)"});
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

}  // namespace dsl::TYPENET_MODE
