// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/data/dataset.hpp>
#include <dsl/detail/math.hpp>
#include <dsl/detail/message.hpp>
#include <dsl/error.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace dsl {
namespace detail {

/// Throws data_error unless there are count x each numbers, none of them infinite or NaN. `what` names one of them.
template <class = void>
void require_numbers(std::span<float const> numbers, std::int64_t count, std::int64_t each, char const* what) {
  auto const found = static_cast<std::int64_t>(numbers.size());
  if (each < 1 || found / each != count || found % each != 0)
    refuse<data_error>({"dataset: ", count, " samples must have ", each, " ", what, " each; found ", found,
                        " in all; check the shape and the number of samples"});
  for (std::int64_t i = 0; i < found; ++i)
    if (float const x = numbers[static_cast<std::size_t>(i)]; !isfinite(x))
      refuse<data_error>({"dataset: all ", what, " must be finite; found ", static_cast<double>(x), " as number ",
                          i % each, " of sample ", i / each, "; mend it or leave the sample out"});
}

template <class = void>
dataset dataset_of(dsl::shape sample, std::span<float const> numbers, std::int64_t count, int classes, int values,
                   dataset_storage storage) {
  require_numbers(numbers, count, sample.size(), "numbers");
  auto const stride = static_cast<std::int64_t>(sample.size() * sizeof(float));
  storage.elements = element::real;
  storage.segments = {{reinterpret_cast<std::uint8_t const*>(numbers.data()), stride, count}};
  return {.sample = sample,
          .size = count,
          .classes = classes,
          .mean = nullptr,
          .storage = std::make_shared<dataset_storage const>(std::move(storage)),
          .values = values};
}

inline std::span<float const> own(std::vector<float>&& numbers, dataset_storage& storage) {
  auto const owner = std::make_shared<std::vector<float> const>(std::move(numbers));
  storage.owners.push_back(owner);
  return *owner;
}

}  // namespace detail

/// Makes a data set of floats whose samples have a class each: labels.size() samples, channel-major, one after another.
/// The numbers are not copied: they must outlive the data set and all its copies. Throws data_error for labels outside
/// 0 to classes - 1, a wrong count, and for a number that is infinite or NaN.
template <class = void>
dataset in_memory_classes(dsl::shape sample, std::span<float const> numbers, int classes,
                          std::vector<std::int32_t> labels, std::vector<std::string> class_names = {}) {
  detail::require_labels(labels, classes);
  auto const count = static_cast<std::int64_t>(labels.size());
  return detail::dataset_of(sample, numbers, count, classes, 0,
                            {.labels = std::move(labels), .class_names = std::move(class_names)});
}
/// The same of a vector, which is copied or moved: the data set owns its numbers.
/// in_memory_classes({2}, {0, 0, 1, 1}, 2, {0, 1})
template <class = void>
dataset in_memory_classes(dsl::shape sample, std::vector<float> numbers, int classes, std::vector<std::int32_t> labels,
                          std::vector<std::string> class_names = {}) {
  detail::require_labels(labels, classes);
  dataset_storage storage;
  auto const count = static_cast<std::int64_t>(labels.size());
  std::span<float const> const all = detail::own(std::move(numbers), storage);
  storage.labels = std::move(labels), storage.class_names = std::move(class_names);
  return detail::dataset_of(sample, all, count, classes, 0, std::move(storage));
}

/// Makes a data set of floats whose samples have `values` floats each to be learnt, in the order of the network's
/// outputs. The numbers are not copied: they must outlive the data set and all its copies; the values are. Throws
/// data_error for wrong counts, and for a number or value that is infinite or NaN.
template <class = void>
dataset in_memory_values(dsl::shape sample, std::span<float const> numbers, int values, std::vector<float> wanted) {
  auto const count = values < 1 ? 0 : static_cast<std::int64_t>(wanted.size()) / values;
  detail::require_numbers(wanted, count, values, "values");
  return detail::dataset_of(sample, numbers, count, 0, values, {.values = std::move(wanted)});
}
/// The same of a vector, which is copied or moved: the data set owns its numbers.
/// in_memory_values({2}, {0, 0, 1, 1}, 1, {0.5, 3})
template <class = void>
dataset in_memory_values(dsl::shape sample, std::vector<float> numbers, int values, std::vector<float> wanted) {
  dataset_storage storage;
  auto const count = values < 1 ? 0 : static_cast<std::int64_t>(wanted.size()) / values;
  detail::require_numbers(wanted, count, values, "values");
  std::span<float const> const all = detail::own(std::move(numbers), storage);
  storage.values = std::move(wanted);
  return detail::dataset_of(sample, all, count, 0, values, std::move(storage));
}

}  // namespace dsl
