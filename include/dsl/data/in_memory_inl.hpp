// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/data/dataset.hpp>
#include <dsl/data/in_memory.hpp>
#include <dsl/detail/math.hpp>
#include <dsl/detail/message.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/detail/option_check.hpp>
#include <dsl/error.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace dsl::detail::TYPENET_MODE {

TYPENET_INLINE void require_numbers(std::span<float const> numbers, std::int64_t count, std::int64_t each,
                                    char const* what) {
  auto const found = static_cast<std::int64_t>(numbers.size());
  if (each < 1 || found / each != count || found % each != 0)
    throw_error<data_error>({"dataset: ", counted(count, "sample"), " must have ", each, " ", what,
                             count == 1 ? "" : " each", "; found ", found,
                             " in all; check the shape and the number of samples"});
  for (std::int64_t i = 0; i < found; ++i)
    if (float const x = numbers[static_cast<std::size_t>(i)]; !isfinite(x))
      throw_error<data_error>({"dataset: all ", what, " must be finite; found ", static_cast<double>(x), " as number ",
                               i % each, " of sample ", i / each, "; correct it or remove the sample"});
}

TYPENET_INLINE dataset dataset_of_floats(dsl::shape sample, std::span<float const> numbers, int classes, int values,
                                         dataset_storage storage) {
  auto count = static_cast<std::int64_t>(storage.labels.size());
  if (classes > 0) {
    require_labels(storage.labels, classes);
  } else {
    count = values < 1 ? 0 : static_cast<std::int64_t>(storage.values.size()) / values;
    require_numbers(storage.values, count, values, "values");
  }
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

}  // namespace dsl::detail::TYPENET_MODE

namespace dsl::TYPENET_MODE {

TYPENET_INLINE dataset in_memory_classes(dsl::shape sample, std::span<float const> numbers, int classes,
                                         std::vector<std::int32_t> labels, std::vector<std::string> class_names,
                                         std::shared_ptr<void const> owner) {
  detail::option_check{"in_memory_classes"}.need(classes >= 1, "classes must be 1 or more", classes);
  return detail::dataset_of_floats(
      sample, numbers, classes, 0,
      {.labels = std::move(labels), .class_names = std::move(class_names), .owners = {std::move(owner)}});
}

TYPENET_INLINE dataset in_memory_classes(dsl::shape sample, std::vector<float> numbers, int classes,
                                         std::vector<std::int32_t> labels, std::vector<std::string> class_names) {
  auto const owner = std::make_shared<std::vector<float> const>(std::move(numbers));
  return in_memory_classes(sample, std::span<float const>(*owner), classes, std::move(labels), std::move(class_names),
                           owner);
}

TYPENET_INLINE dataset in_memory_values(dsl::shape sample, std::span<float const> numbers, int values,
                                        std::vector<float> wanted, std::shared_ptr<void const> owner) {
  return detail::dataset_of_floats(sample, numbers, 0, values,
                                   {.owners = {std::move(owner)}, .values = std::move(wanted)});
}

TYPENET_INLINE dataset in_memory_values(dsl::shape sample, std::vector<float> numbers, int values,
                                        std::vector<float> wanted) {
  auto const owner = std::make_shared<std::vector<float> const>(std::move(numbers));
  return in_memory_values(sample, std::span<float const>(*owner), values, std::move(wanted), owner);
}

}  // namespace dsl::TYPENET_MODE
