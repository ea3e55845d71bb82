// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/data/dataset.hpp>
#include <dsl/files/atomic_file.hpp>
#include <dsl/files/mapped_file.hpp>
#include <dsl/detail/mode.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace dsl::TYPENET_MODE {

/// The meaning of a trained network's inputs and outputs, which a file of weights does not contain.
struct picture_classes {
  dsl::shape sample;
  std::vector<std::string> names;  // one per output
  std::vector<float> mean;         // subtracted from every image, sample.size() floats; empty: nothing is subtracted
};

/// Returns a data set's shape, class names and mean. Throws option_error if the data set also has a deviation, for
/// which the file has no field.
picture_classes classes_of(dataset const& data);

}  // namespace dsl::TYPENET_MODE

namespace dsl::detail::TYPENET_MODE {

/// The maximum length in bytes of a name, and thus of a line in a classes file. Without a limit, searching for the end
/// of a line in a large sparse file would take hours.
inline constexpr std::size_t longest_class_name = 1000;

/// Whether a name can be a line of the file and is safe to print: names are shown on terminals and passed to gnuplot.
bool is_class_name(std::string_view name);

/// Reads a classes file line by line; each error names the line.
class classes_reader {
 public:
  classes_reader(std::string_view text, std::string const& path) : rest_(text), path_(path) {}

  std::string_view line(char const* must);
  void exact(char const* what);
  /// Reads a line such as "picture 3 32 32": a word followed by `count` numbers, each from `least` to 2^24.
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

/// Writes a text file with one name, or one number of the mean, per line. Reading the file gives the same bits. Throws
/// option_error for names that are not UTF-8 or have control characters, and file_error if the file cannot be written;
/// an existing file is then unchanged.
void write_classes(picture_classes const& all, std::string const& path);

/// Reads a classes file. Throws data_error if it cannot be read, and file_error if it is not a whole classes file.
picture_classes read_classes(std::string const& path);

}  // namespace dsl::TYPENET_MODE

#ifdef TYPENET_DEFINITIONS
#include <dsl/io/classes_file_inl.hpp>
#endif
