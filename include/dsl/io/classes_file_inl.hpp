// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/data/dataset.hpp>
#include <dsl/files/atomic_file.hpp>
#include <dsl/files/mapped_file.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/detail/utf8.hpp>
#include <dsl/io/classes_file.hpp>

#include <charconv>
#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>
#include <fmt/core.h>

namespace dsl::TYPENET_MODE {

TYPENET_INLINE picture_classes classes_of(dataset const& data) {
  if (data.deviation)
    throw option_error(
        "classes: the file can hold a mean but no deviation; found a data set with a deviation; save both with "
        "save_safetensors");
  picture_classes all{data.sample, {}, {}};
  for (int c = 0; c < data.classes; ++c) all.names.push_back(data.class_name(c));
  if (data.mean) all.mean = *data.mean;
  return all;
}

}  // namespace dsl::TYPENET_MODE

namespace dsl::detail::TYPENET_MODE {

TYPENET_INLINE bool is_class_name(std::string_view name) {
  return !name.empty() && name.size() <= longest_class_name && without_controls(name) == name;
}

TYPENET_INLINE std::string_view classes_reader::line(char const* must) {
  ++number_;
  std::size_t const end = rest_.substr(0, longest_class_name + 1).find('\n');
  if (end == rest_.npos)
    refuse(must, rest_.size() > longest_class_name ? fmt::format("a line of more than {} bytes", longest_class_name)
                                                   : "the end of the file");
  std::string_view const found = rest_.substr(0, end);
  rest_.remove_prefix(end + 1);
  return found;
}

TYPENET_INLINE void classes_reader::exact(char const* what) {
  if (std::string_view const found = line(what); found != what) refuse(what, found);
}

TYPENET_INLINE void classes_reader::numbers(char const* must, std::string_view word, int least, int* to, int count) {
  std::string_view const found = line(must);
  std::string_view at = found;
  bool good = at.starts_with(word);
  if (good) at.remove_prefix(word.size());
  for (int i = 0; i < count && good; ++i) {
    good = at.starts_with(' ');
    if (!good) break;
    at.remove_prefix(1);
    auto const [end, error] = std::from_chars(at.data(), at.data() + at.size(), to[i]);
    good = error == std::errc() && to[i] >= least && to[i] <= 1 << 24;
    at.remove_prefix(static_cast<std::size_t>(end - at.data()));
  }
  if (!good || !at.empty()) refuse(must, found);
}

TYPENET_INLINE float classes_reader::number(char const* must) {
  std::string_view const found = line(must);
  float value = 0;
  auto const [end, error] = std::from_chars(found.data(), found.data() + found.size(), value);
  if (error != std::errc() || end != found.data() + found.size() || !std::isfinite(value)) refuse(must, found);
  return value;
}

TYPENET_INLINE std::string_view classes_reader::name() {
  char const* const must = "a class name, in UTF-8 and without control characters";
  std::string_view const found = line(must);
  if (!is_class_name(found)) refuse(must, found);
  return found;
}

TYPENET_INLINE void classes_reader::refuse(char const* must, std::string_view found) const {
  throw file_error(fmt::format("classes: {}, line {}: it must be {}; found {}; save weights and classes again", path_,
                               number_, must, without_controls(found.substr(0, 60))));
}

}  // namespace dsl::detail::TYPENET_MODE

namespace dsl::TYPENET_MODE {

TYPENET_INLINE void write_classes(picture_classes const& all, std::string const& path) {
  std::string text = fmt::format("typenet classes 1\npicture {} {} {}\nclasses {}\n", all.sample.channels,
                                 all.sample.height, all.sample.width, all.names.size());
  for (std::string const& name : all.names) {
    if (!detail::is_class_name(name))
      throw option_error(fmt::format(
          "classes: a name must be one line of UTF-8, 1 to {} bytes, without control characters; found '{}' of {} "
          "bytes; give it another one",
          detail::longest_class_name, detail::without_controls(name.substr(0, 60)), name.size()));
    text += name + "\n";
  }
  text += fmt::format("mean {}\n", all.mean.size());
  for (float const m : all.mean) text += fmt::format("{}\n", m);  // the fewest digits that round-trip
  text += "end\n";
  atomic_file file(path, "classes");
  file.write(text);
  file.commit();
}

TYPENET_INLINE picture_classes read_classes(std::string const& path) {
  detail::mapped_file const file(path, "classes", "give the file that was written beside the weights");
  detail::classes_reader in({reinterpret_cast<char const*>(file.data()), file.size()}, path);
  picture_classes all;
  int shape[3] = {}, count = 0;
  in.exact("typenet classes 1");
  in.numbers("'picture' and three sizes", "picture", 1, shape, 3);
  in.numbers("'classes' and a count", "classes", 1, &count, 1);
  all.sample = {shape[0], shape[1], shape[2]};
  for (int i = 0; i < count; ++i) all.names.emplace_back(in.name());
  in.numbers("'mean' and a count", "mean", 0, &count, 1);
  if (count != 0 && count != all.sample.size())
    in.refuse("'mean' and the number of values in an image, or 0", std::to_string(count));
  for (int i = 0; i < count; ++i) all.mean.push_back(in.number("a number of the mean"));
  in.exact("end");
  if (!in.at_end()) in.refuse("the last line", "more after it");
  return all;
}

}  // namespace dsl::TYPENET_MODE
