// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/data/dataset.hpp>
#include <dsl/data/in_memory.hpp>
#include <dsl/data/sample_source.hpp>
#include <dsl/data/sample_stream.hpp>
#include <dsl/detail/message.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/detail/option_check.hpp>
#include <dsl/error.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace dsl::detail::TYPENET_MODE {

TYPENET_INLINE dataset dataset_of_source(dsl::shape sample, std::shared_ptr<sample_source const> source,
                                         std::int64_t size, dataset_storage storage) {
  if (!source) throw_error<option_error>({"dataset: a source must be given; found a null pointer"});
  if (source->identity().empty())
    throw_error<option_error>(
        {"dataset: a source's identity() must identify its samples; found an empty text; "
         "return a name and a version"});
  if (sample.channels < 1 || sample.height < 1 || sample.width < 1)
    throw_error<data_error>({"dataset: samples must have at least one number; found ", sample.channels, "x",
                             sample.height, "x", sample.width, "; check the shape"});
  storage.elements = element::real;
  storage.source = std::move(source);
  return {.sample = sample,
          .size = size,
          .mean = nullptr,
          .storage = std::make_shared<dataset_storage const>(std::move(storage))};
}

TYPENET_INLINE float const* floats_of(dataset const& data, std::int64_t i, std::vector<float>& room) {
  if (!data.storage->source) return data.reals(i);
  room.resize(static_cast<std::size_t>(data.sample.size()));
  data.storage->source->read(data.begin + i, room.data());
  return room.data();
}

TYPENET_INLINE std::string identity_of(dataset const& data) {
  if (is_stream(data)) return data.storage->stream->identity();
  return data.storage && data.storage->source ? data.storage->source->identity() : std::string();
}

}  // namespace dsl::detail::TYPENET_MODE

namespace dsl::TYPENET_MODE {

TYPENET_INLINE dataset source_classes(dsl::shape sample, std::shared_ptr<sample_source const> source, int classes,
                                      std::vector<std::int32_t> labels, std::vector<std::string> class_names) {
  detail::option_check{"source_classes"}.need(classes >= 1, "classes must be 1 or more", classes);
  detail::require_labels(labels, classes);
  auto const size = static_cast<std::int64_t>(labels.size());
  dataset data = detail::dataset_of_source(sample, std::move(source), size,
                                           {.labels = std::move(labels), .class_names = std::move(class_names)});
  data.classes = classes;
  return data;
}

TYPENET_INLINE dataset source_values(dsl::shape sample, std::shared_ptr<sample_source const> source, int values,
                                     std::vector<float> wanted) {
  detail::option_check{"source_values"}.need(values >= 1, "values must be 1 or more", values);
  std::int64_t const size = static_cast<std::int64_t>(wanted.size()) / values;
  detail::require_numbers(wanted, size, values, "values");
  dataset data = detail::dataset_of_source(sample, std::move(source), size, {.values = std::move(wanted)});
  data.values = values;
  return data;
}

}  // namespace dsl::TYPENET_MODE
