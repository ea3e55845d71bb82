// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/data/dataset.hpp>
#include <dsl/data/in_memory.hpp>
#include <dsl/data/npy.hpp>
#include <dsl/data/npy_array.hpp>
#include <dsl/data/pixel_classes.hpp>
#include <dsl/detail/message.hpp>
#include <dsl/detail/mode.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace dsl::detail::TYPENET_MODE {

/// Returns the shape of an array for messages: "60x3x8".
inline std::string npy_dims(npy_array const& a) {
  std::string all;
  for (std::int64_t const d : a.dims()) all += (all.empty() ? "" : "x") + std::to_string(d);
  return all.empty() ? "one number" : all;
}

inline dsl::shape npy_sample(npy_array const& a) {
  std::vector<std::int64_t> const& d = a.dims();
  if (d.empty() || d.size() > 4)
    a.refuse(message(
        {"have the shape (samples, features), (samples, height, width) or (samples, channels, height, width); found ",
         npy_dims(a)}));
  for (std::int64_t const n : d)
    if (n < 1 || n > 0x7fffffff)
      a.refuse(message({"have no dimension of size 0 or above 2,147,483,647; found ", npy_dims(a)}));
  auto const at = [&](std::size_t i) { return static_cast<int>(d[i]); };
  return d.size() == 1   ? dsl::shape{1}
         : d.size() == 2 ? dsl::shape{at(1)}
         : d.size() == 3 ? dsl::shape{1, at(1), at(2)}
                         : dsl::shape{at(1), at(2), at(3)};
}

/// Throws data_error unless `targets` has one row for each sample; `what` names the targets in the message.
inline void require_as_many(npy_array const& samples, npy_array const& targets, char const* what) {
  if (targets.dims().empty() || targets.dims()[0] != samples.dims()[0])
    targets.refuse(
        message({"have ", what, " for each of the ", samples.dims()[0], " samples; found ", npy_dims(targets)}));
}

/// Adds samples to a data set that already has its targets. Bytes in the file stay bytes; other numbers become floats.
inline dataset npy_dataset(npy_array const& samples, dataset data) {
  dsl::shape const sample = npy_sample(samples);
  auto storage = std::make_shared<dataset_storage>(*data.storage);
  std::int64_t const count = samples.dims()[0];
  std::shared_ptr<std::vector<float>> copy;
  if (samples.is_bytes()) {
    storage->elements = element::byte;
    storage->segments = {{samples.bytes(), sample.size(), count}};
  } else {
    std::span<float const> const numbers = samples.floats(copy);
    auto const stride = static_cast<std::int64_t>(sample.size() * sizeof(float));
    storage->elements = element::real;
    storage->segments = {{reinterpret_cast<std::uint8_t const*>(numbers.data()), stride, count}};
  }
  storage->owners = {samples.owner(), copy};
  data.sample = sample;
  data.storage = std::move(storage);
  return data;
}

}  // namespace dsl::detail::TYPENET_MODE

namespace dsl::TYPENET_MODE {

TYPENET_INLINE dataset read_npy_classes(std::string const& samples, std::string const& labels,
                                        std::vector<std::string> class_names) {
  detail::npy_array const x(samples), y(labels);
  detail::npy_sample(x);
  detail::require_as_many(x, y, "a label");
  if (y.count() != x.dims()[0]) y.refuse(detail::message({"have one label per sample; found ", detail::npy_dims(y)}));
  std::vector<std::int32_t> classes = y.labels();
  std::int32_t largest = 0;
  for (std::int32_t const label : classes) largest = label > largest ? label : largest;
  int const count =
      class_names.empty() ? largest + (largest < 0x7fffffff ? 1 : 0) : static_cast<int>(class_names.size());
  for (std::size_t i = 0; i < classes.size(); ++i)
    if (classes[i] < 0 || classes[i] >= count)
      y.refuse(detail::message({"have labels of 0 to ", count - 1, "; found ", classes[i], " for sample ",
                                static_cast<long long>(i), "; correct the label or the number of class names"}));
  dataset data{.sample = {},
               .size = x.dims()[0],
               .classes = count,
               .mean = nullptr,
               .storage = std::make_shared<dataset_storage const>(
                   dataset_storage{.labels = std::move(classes), .class_names = std::move(class_names)})};
  return detail::npy_dataset(x, std::move(data));
}

TYPENET_INLINE dataset read_npy_values(std::string const& samples, std::string const& values) {
  detail::npy_array const x(samples), y(values);
  detail::npy_sample(x);
  detail::require_as_many(x, y, "values");
  std::int64_t const count = x.dims()[0], each = y.count() / count;
  if (each < 1 || each > 0x7fffffff)
    y.refuse(detail::message({"have 1 to 2,147,483,647 values per sample; found ", detail::npy_dims(y)}));
  std::shared_ptr<std::vector<float>> copy;
  std::span<float const> const numbers = y.floats(copy);
  dataset data{.sample = {},
               .size = count,
               .classes = 0,
               .mean = nullptr,
               .storage = std::make_shared<dataset_storage const>(
                   dataset_storage{.values = std::vector<float>(numbers.begin(), numbers.end())}),
               .values = static_cast<int>(each)};
  return detail::npy_dataset(x, std::move(data));
}

TYPENET_INLINE dataset read_npy_pixel_classes(std::string const& pictures, std::string const& labels, int classes,
                                              int ignored, std::vector<std::string> class_names) {
  detail::npy_array const x(pictures), y(labels);
  dsl::shape const sample = detail::npy_sample(x);
  detail::require_as_many(x, y, "one label per pixel");
  if (y.dims().size() != 3 || y.dims()[1] != sample.height || y.dims()[2] != sample.width)
    y.refuse(detail::message({"have the shape (samples, ", sample.height, ", ", sample.width,
                              "), one label per pixel of the images; found ", detail::npy_dims(y)}));
  if (x.is_bytes())
    return in_memory_pixel_dataset(sample, std::vector<std::uint8_t>(x.bytes(), x.bytes() + x.count()), classes,
                                   y.labels(), ignored, std::move(class_names));
  std::shared_ptr<std::vector<float>> copy;
  std::span<float const> const numbers = x.floats(copy);
  return in_memory_pixel_classes(
      sample, numbers, classes, y.labels(), ignored, std::move(class_names),
      std::make_shared<std::pair<std::shared_ptr<void const>, std::shared_ptr<std::vector<float>>>>(x.owner(), copy));
}

}  // namespace dsl::TYPENET_MODE
