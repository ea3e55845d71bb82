// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/data/dataset.hpp>
#include <dsl/detail/atomic_file.hpp>
#include <dsl/detail/mapped_file.hpp>
#include <dsl/detail/mode.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace dsl::TYPENET_MODE {

/// What a trained network's inputs and outputs mean, and its weights don't say.
struct picture_classes {
  dsl::shape sample;
  std::vector<std::string> names;  // one an output
  std::vector<float> mean;         // what was subtracted from every picture, sample.size() floats; none: empty
};

[[gnu::cold]] picture_classes classes_of(dataset const& data);

}  // namespace dsl::TYPENET_MODE

namespace dsl::detail::TYPENET_MODE {

/// The bytes of the longest name, and so of a classes file's longest line. Without a limit the end of a line that is a
/// hole in the file would be searched for hours.
inline constexpr std::size_t longest_class_name = 1000;

/// Whether a name can be a line of the file, and can be printed: names go to terminals and to gnuplot.
[[gnu::cold]] bool is_class_name(std::string_view name);

/// A classes file, line by line; each error names the line.
class classes_reader {
 public:
  classes_reader(std::string_view text, std::string const& path) : rest_(text), path_(path) {}

  std::string_view line(char const* must);
  void exact(char const* what);
  /// "picture 3 32 32": after the word as many numbers of `least` or more, none of them above 2^24.
  void numbers(char const* must, std::string_view word, int least, int* to, int count);
  float number(char const* must);
  std::string_view name();
  bool at_end() const { return rest_.empty(); }
  [[noreturn]] void refuse(char const* must, std::string_view found) const;

 private:
  std::string_view rest_;
  std::string const& path_;
  int number_ = 0;
};

}  // namespace dsl::detail::TYPENET_MODE

namespace dsl::TYPENET_MODE {

/// As text, a name and a number of the mean a line; what is read back is the same to the bit. Throws file_error, and
/// then a file that was there before is as it was; option_error for names that are not UTF-8 or have control
/// characters.
[[gnu::cold]] void write_classes(picture_classes const& all, std::string const& path);

/// Throws data_error where the file can't be read, file_error where it is no such file, whole.
[[gnu::cold]] picture_classes read_classes(std::string const& path);

}  // namespace dsl::TYPENET_MODE

#ifndef TYPENET_COMPILED
#include <dsl/io/classes_file_inl.hpp>
#endif
