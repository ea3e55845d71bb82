// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/data/pipeline.hpp>
#include <dsl/detail/input_file.hpp>
#include <dsl/detail/math.hpp>
#include <dsl/detail/message.hpp>
#include <dsl/detail/printable.hpp>
#include <dsl/error.hpp>

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <new>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace dsl {

/// How a table's file is read. Fields may stand in double quotes, a quote within them twice, as RFC 4180 has it; lines
/// end with \n or \r\n.
struct csv_options {
  char separator = ',';
  bool header = true;                 // the first line has the columns' names; else these are "0", "1", ...
  std::vector<std::string> ignore{};  // columns that are left out
  /// Draws the rows' order, for a file that is sorted and that a part will be tested with; 0: the file's order.
  std::uint64_t shuffle_seed = 0;
};

namespace detail {

/// A file's fields, line by line. Every line has as many as the first.
class csv_table {
 public:
  csv_table(csv_table const&) = delete;
  csv_table& operator=(csv_table const&) = delete;
  [[gnu::cold]] csv_table(std::string const& path, csv_options const& o) : path_(path), separator_(o.separator) {
    input_file file(path, "csv", "check the path");
    file.append(text_, file.size());
    try {
      find_rows(o);
    } catch (std::bad_alloc const&) {
      file.fail(message({"no room in memory for the places of its fields, ", sizeof(std::string_view), " bytes each"}));
    }
  }

  std::size_t rows() const { return lines_.size(); }
  std::vector<std::string> const& names() const { return names_; }
  std::string_view field(std::size_t row, std::size_t column) const {
    return fields_[static_cast<std::size_t>(rows_[row]) * names_.size() + column];
  }
  /// Returns the line of the file in which a row begins, from 1.
  std::int64_t line(std::size_t row) const { return lines_[static_cast<std::size_t>(rows_[row])]; }

  /// The column of that name; throws data_error where there is none, or several.
  [[gnu::cold]] std::size_t column(std::string const& name) const {
    std::size_t found = 0, count = 0;
    for (std::size_t i = 0; i < names_.size(); ++i)
      if (names_[i] == name) found = i, ++count;
    if (count != 1) {
      std::string all;
      for (std::string const& n : names_) all += (all.empty() ? "" : ", ") + n;
      refuse<data_error>(
          {"csv: ", path_, " must have one column ", name, "; found ", excerpt(all), "; check the name"});
    }
    return found;
  }
  [[gnu::cold]] float number(std::size_t row, std::size_t column) const {
    std::string_view text = field(row, column);
    while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
    while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
    if (text.size() > 1 && text[0] == '+' && text[1] != '-' && text[1] != '+') text.remove_prefix(1);
    double value = 0;
    auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size() ||
        !isfinite(static_cast<double>(static_cast<float>(value))))
      fail("must have a number that a float can have as ", names_[column],
           text.empty() ? "an empty field" : excerpt(text), line(row));
    return static_cast<float>(value);
  }

 private:
  [[noreturn, gnu::cold]] void fail(char const* must, std::string const& what, std::string const& found,
                                    std::int64_t line) const {
    refuse<data_error>(
        {"csv: ", path_, " ", must, what, "; found ", found, " in line ", line, "; mend the line or leave it out"});
  }

  [[gnu::cold]] void find_rows(csv_options const& o) {
    if (text_.starts_with("\xef\xbb\xbf")) at_ = 3;  // a byte order mark
    while (next_line()) {
      std::size_t const found = fields_.size() - lines_.size() * names_.size();
      if (names_.empty()) {
        for (std::size_t i = 0; i < found; ++i)
          names_.push_back(o.header ? std::string(fields_[i]) : std::to_string(i));
        if (o.header) fields_.clear();
        if (o.header) continue;
      }
      if (found != names_.size())
        fail("must have ", std::to_string(names_.size()) + " fields a line, as the first", std::to_string(found),
             began_);
      lines_.push_back(began_);
    }
    if (lines_.empty()) refuse<data_error>({"csv: ", path_, " must have a line of data; found none; check the file"});
    rows_.resize(lines_.size());
    if (o.shuffle_seed > 0)
      epoch_order(o.shuffle_seed, 0, rows_);
    else
      for (std::size_t i = 0; i < rows_.size(); ++i) rows_[i] = static_cast<std::int64_t>(i);
  }

  /// Appends a line's fields, without quotes and where they stand in the file. False at the end; empty lines are
  /// skipped.
  [[gnu::cold]] bool next_line() {
    while (at_ < text_.size() && (text_[at_] == '\n' || text_[at_] == '\r')) line_ += text_[at_++] == '\n' ? 1 : 0;
    if (at_ >= text_.size()) return false;
    began_ = line_;
    std::size_t begin = at_, end = at_;  // of the field, as it is without quotes
    bool quoted = false;
    auto const add = [&] {
      fields_.emplace_back(text_.data() + begin, end - begin);
      begin = end = at_ + 1;
    };
    for (; at_ < text_.size(); ++at_) {
      char const c = text_[at_];
      if (c == '\n') ++line_;
      if (quoted && c == '"' && at_ + 1 < text_.size() && text_[at_ + 1] == '"')
        text_[end++] = text_[at_++];
      else if (c == '"' && (quoted || end == begin))
        quoted = !quoted;
      else if (!quoted && c == separator_)
        add();
      else if (!quoted && c == '\n')
        break;
      else if (quoted || c != '\r' || (at_ + 1 < text_.size() && text_[at_ + 1] != '\n'))
        text_[end++] = c;
    }
    if (quoted) fail("must close every quote", "", "the end of the file", began_);
    add();
    if (at_ < text_.size()) ++at_;
    return true;
  }

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

}  // namespace detail
}  // namespace dsl
