// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/files/input_file.hpp>
#include <dsl/detail/mode.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dsl::TYPENET_MODE {

/// Options for reading a table from a CSV file. Fields may be in double quotes, and a quote inside such a field is
/// written twice, as in RFC 4180; lines end with \n or \r\n.
struct csv_options {
  char separator = ',';
  bool header = true;                 // the first line has the columns' names; otherwise these are "0", "1", ...
  std::vector<std::string> ignore{};  // columns to leave out
  /// The seed for shuffling the rows, which is needed if the file is sorted and part of it will be used for testing;
  /// with 0 the rows stay in the file's order.
  std::uint64_t shuffle_seed = 0;
};

}  // namespace dsl::TYPENET_MODE

namespace dsl::detail::TYPENET_MODE {

/// Holds the fields of a file, line by line. Every line has as many fields as the first line.
class csv_table {
 public:
  csv_table(csv_table const&) = delete;
  csv_table& operator=(csv_table const&) = delete;
  csv_table(std::string const& path, csv_options const& o);

  std::size_t rows() const { return lines_.size(); }
  std::vector<std::string> const& names() const { return names_; }
  std::string const& path() const { return path_; }
  std::string_view field(std::size_t row, std::size_t column) const;
  /// Returns the number, counted from 1, of the line in the file where a row begins.
  std::int64_t line(std::size_t row) const { return lines_[static_cast<std::size_t>(rows_[row])]; }

  /// Returns the number of the column with that name. Throws data_error if no column or several columns have the name.
  std::size_t column(std::string const& name) const;
  float number(std::size_t row, std::size_t column) const;

 private:
  [[noreturn, gnu::cold]] void fail(char const* must, std::string const& what, std::string const& found,
                                    std::int64_t line) const;

  void find_rows(csv_options const& o);

  /// Appends the fields of the next line that is not empty, without their quotes, as views of the file's text. Returns
  /// false at the end of the file.
  bool next_line();

  std::string path_;
  char separator_;
  std::string text_;
  std::size_t at_ = 0;
  std::int64_t line_ = 1, began_ = 1;
  std::vector<std::string> names_;
  std::vector<std::string_view> fields_;  // of text_
  std::vector<std::int64_t> lines_;       // line numbers in the file, in its order
  std::vector<std::int64_t> rows_;        // per row: the index of its line
};

}  // namespace dsl::detail::TYPENET_MODE

#ifdef TYPENET_DEFINITIONS
#include <dsl/data/csv_table_inl.hpp>
#endif
