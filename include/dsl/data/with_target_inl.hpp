// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/data/dataset.hpp>
#include <dsl/data/in_memory.hpp>
#include <dsl/data/pixel_classes.hpp>
#include <dsl/data/sample_stream.hpp>
#include <dsl/data/with_target.hpp>
#include <dsl/detail/message.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/detail/option_check.hpp>
#include <dsl/error.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace dsl::detail::TYPENET_MODE {

/// Adds the target of an output.
TYPENET_INLINE dataset with_target(dataset data, std::string output, dataset target) {
  require_no_stream(data, "with_target");
  std::vector<further_target> all;
  if (data.targets) all = *data.targets;
  if (output.empty() || output == "main")
    throw_error<data_error>({"with_target: the target must be that of a named_output<...>; found ",
                             output.empty() ? "an empty name" : "main, whose target is the data set's own",
                             "; give the name of a further output"});
  for (further_target const& t : all)
    if (t.output == output)
      throw_error<data_error>({"with_target: each output must have only one target; found ", output, " twice"});
  all.push_back({std::move(output), std::make_shared<dataset const>(std::move(target))});
  data.targets = std::make_shared<std::vector<further_target> const>(std::move(all));
  return data;
}

TYPENET_INLINE void require_target_count(dataset const& data, std::string const& output, std::int64_t found) {
  if (found != data.size)
    throw_error<data_error>({"with_target: output ", output, " must have one target for each of the ", data.size,
                             " samples; found ", found, "; check how the targets were read"});
}

}  // namespace dsl::detail::TYPENET_MODE

namespace dsl::TYPENET_MODE {

TYPENET_INLINE dataset with_class_target(dataset data, std::string output, int classes,
                                         std::vector<std::int32_t> labels, std::vector<std::string> class_names) {
  detail::option_check{"with_class_target"}.need(classes >= 1, "classes must be 1 or more", classes);
  detail::require_target_count(data, output, static_cast<std::int64_t>(labels.size()));
  detail::require_labels(labels, classes);
  dataset target{.sample = {1, 1, 1}, .size = data.size, .classes = classes, .mean = nullptr, .storage = nullptr};
  target.storage = std::make_shared<dataset_storage const>(
      dataset_storage{.labels = std::move(labels), .class_names = std::move(class_names)});
  return detail::with_target(std::move(data), std::move(output), std::move(target));
}

TYPENET_INLINE dataset with_value_target(dataset data, std::string output, int values, std::vector<float> wanted) {
  detail::option_check{"with_value_target"}.need(values >= 1, "values must be 1 or more", values);
  detail::require_numbers(wanted, data.size, values, "values");
  dataset target{.sample = {1, 1, 1}, .size = data.size, .mean = nullptr, .storage = nullptr, .values = values};
  target.storage = std::make_shared<dataset_storage const>(dataset_storage{.values = std::move(wanted)});
  return detail::with_target(std::move(data), std::move(output), std::move(target));
}

TYPENET_INLINE dataset with_pixel_target(dataset data, std::string output, int classes,
                                         std::vector<std::int32_t> labels, int ignored,
                                         std::vector<std::string> class_names) {
  dsl::shape const pixels{1, data.sample.height, data.sample.width};
  detail::require_target_count(data, output, detail::check_pixel_labels(pixels, classes, labels, ignored));
  dataset target = detail::dataset_of_pixel_classes(
      pixels, classes, data.size, {.labels = std::move(labels), .class_names = std::move(class_names)});
  return detail::with_target(std::move(data), std::move(output), std::move(target));
}

TYPENET_INLINE dataset with_main_target(dataset data, std::string output) {
  dataset target = data;
  target.further = nullptr;
  target.targets = nullptr;
  return detail::with_target(std::move(data), std::move(output), std::move(target));
}

}  // namespace dsl::TYPENET_MODE
