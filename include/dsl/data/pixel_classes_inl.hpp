// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/data/dataset.hpp>
#include <dsl/data/in_memory.hpp>
#include <dsl/data/pixel_classes.hpp>
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

TYPENET_INLINE std::int64_t check_pixel_labels(dsl::shape const& sample, int classes, std::vector<std::int32_t>& labels,
                                               int ignored) {
  option_check{"in_memory_pixel_classes"}.need(classes >= 2, "classes must be 2 or more", classes);
  if (sample.channels < 1 || sample.height < 1 || sample.width < 1)
    throw_error<data_error>({"dataset: images must have at least one pixel; found ", sample.channels, "x",
                             sample.height, "x", sample.width, "; check the shape"});
  auto const found = static_cast<std::int64_t>(labels.size());
  std::int64_t const area = sample.area();
  if (found % area != 0)
    throw_error<data_error>({"dataset: each image must have ", sample.height, "x", sample.width, " labels; found ",
                             found, " in all, which is not a whole number of images; check the shape and the labels"});
  std::int64_t none = 0;
  for (std::int64_t i = 0; i < found; ++i) {
    std::int32_t& label = labels[static_cast<std::size_t>(i)];
    if (label == ignored) label = -1;
    if (label < -1 || label >= classes)
      throw_error<data_error>({"dataset: a pixel's label must be 0 to ", classes - 1, ", or ", ignored,
                               " for none; found ", label, " in row ", i % area / sample.width, ", column ",
                               i % sample.width, " of sample ", i / area,
                               "; correct the label, the number of classes, or the ignored value"});
    none += label < 0 ? 1 : 0;
  }
  if (none == found)
    throw_error<data_error>({"dataset: at least one pixel must have a class; found ", found / area,
                             found == area ? " image" : " images",
                             " without a labelled pixel; check the labels and the ignored value"});
  return found / area;
}

TYPENET_INLINE dataset dataset_of_pixel_classes(dsl::shape const& sample, int classes, std::int64_t samples,
                                                dataset_storage storage) {
  return {.sample = sample,
          .size = samples,
          .classes = classes,
          .mean = nullptr,
          .storage = std::make_shared<dataset_storage const>(std::move(storage)),
          .pixel_classes = true};
}

}  // namespace dsl::detail::TYPENET_MODE

namespace dsl::TYPENET_MODE {

TYPENET_INLINE dataset in_memory_pixel_classes(dsl::shape sample, std::span<float const> numbers, int classes,
                                               std::vector<std::int32_t> labels, int ignored,
                                               std::vector<std::string> class_names,
                                               std::shared_ptr<void const> owner) {
  std::int64_t const count = detail::check_pixel_labels(sample, classes, labels, ignored);
  detail::require_numbers(numbers, count, sample.size(), "numbers");
  auto const stride = static_cast<std::int64_t>(sample.size() * sizeof(float));
  return detail::dataset_of_pixel_classes(
      sample, classes, count,
      {.segments = {{reinterpret_cast<std::uint8_t const*>(numbers.data()), stride, count}},
       .labels = std::move(labels),
       .class_names = std::move(class_names),
       .owners = {std::move(owner)},
       .elements = element::real});
}

TYPENET_INLINE dataset in_memory_pixel_classes(dsl::shape sample, std::vector<float> numbers, int classes,
                                               std::vector<std::int32_t> labels, int ignored,
                                               std::vector<std::string> class_names) {
  auto const owner = std::make_shared<std::vector<float> const>(std::move(numbers));
  return in_memory_pixel_classes(sample, std::span<float const>(*owner), classes, std::move(labels), ignored,
                                 std::move(class_names), owner);
}

TYPENET_INLINE dataset in_memory_pixel_dataset(dsl::shape sample, std::vector<std::uint8_t> pixels, int classes,
                                               std::vector<std::int32_t> labels, int ignored,
                                               std::vector<std::string> class_names) {
  std::int64_t const count = detail::check_pixel_labels(sample, classes, labels, ignored);
  std::int64_t const bytes = sample.size();
  auto const found = static_cast<std::int64_t>(pixels.size());
  if (found % bytes != 0 || found / bytes != count)  // the product may overflow
    detail::throw_error<data_error>({"dataset: there must be ", detail::counted(count, "image"), " of ",
                                     detail::counted(bytes, "byte"), count == 1 ? "" : " each", "; found ",
                                     detail::counted(found, "byte"), "; check the shape and the number of labels"});
  auto const owner = std::make_shared<std::vector<std::uint8_t> const>(std::move(pixels));
  return detail::dataset_of_pixel_classes(sample, classes, count,
                                          {.segments = {{owner->data(), bytes, count}},
                                           .labels = std::move(labels),
                                           .class_names = std::move(class_names),
                                           .owners = {owner}});
}

}  // namespace dsl::TYPENET_MODE
