// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/input_file.hpp>
#include <dsl/detail/mode.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dsl::TYPENET_MODE {

/// How a table's file is read. Fields may stand in double quotes, a quote within them twice, as RFC 4180 has it; lines
/// end with \n or \r\n.
struct csv_options {
  char separator = ',';
  bool header = true;                 // the first line has the columns' names; else these are "0", "1", ...
  std::vector<std::string> ignore{};  // columns that are left out
  /// Draws the rows' order, for a file that is sorted and that a part will be tested with; 0: the file's order.
  std::uint64_t shuffle_seed = 0;
};

}  // namespace dsl::TYPENET_MODE

namespace dsl::detail::TYPENET_MODE {

/// A file's fields, line by line. Every line has as many as the first.
class csv_table {
 public:
  csv_table(csv_table const&) = delete;
  csv_table& operator=(csv_table const&) = delete;
  [[gnu::cold]] csv_table(std::string const& path, csv_options const& o);

  std::size_t rows() const { return lines_.size(); }
  std::vector<std::string> const& names() const { return names_; }
  std::string_view field(std::size_t row, std::size_t column) const;
  /// Returns the line of the file in which a row begins, from 1.
  std::int64_t line(std::size_t row) const { return lines_[static_cast<std::size_t>(rows_[row])]; }

  /// The column of that name; throws data_error where there is none, or several.
  [[gnu::cold]] std::size_t column(std::string const& name) const;
  [[gnu::cold]] float number(std::size_t row, std::size_t column) const;

 private:
  [[noreturn, gnu::cold]] void fail(char const* must, std::string const& what, std::string const& found,
                                    std::int64_t line) const;

  [[gnu::cold]] void find_rows(csv_options const& o);

  /// Appends a line's fields, without quotes and where they stand in the file. False at the end; empty lines are
  /// skipped.
  [[gnu::cold]] bool next_line();

  std::string path_;
  char separator_;
  std::string text_;
  std::size_t at_ = 0;
  std::int64_t line_ = 1, began_ = 1;
  std::vector<std::string> names_;
  std::vector<std::string_view> fields_;  // of text_
  std::vector<std::int64_t> lines_;       // of the file, as they come
  std::vector<std::int64_t> rows_;        // which of them each row is
};

}  // namespace dsl::detail::TYPENET_MODE

#ifndef TYPENET_COMPILED
#include <dsl/data/csv_table_inl.hpp>
#endif
