// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/data/csv_table.hpp>
#include <dsl/data/pipeline.hpp>
#include <dsl/files/input_file.hpp>
#include <dsl/detail/math.hpp>
#include <dsl/detail/message.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/detail/printable.hpp>
#include <dsl/error.hpp>

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <new>
#include <string>
#include <string_view>

namespace dsl::detail::TYPENET_MODE {

TYPENET_INLINE csv_table::csv_table(std::string const& path, csv_options const& o)
    : path_(path), separator_(o.separator) {
  input_file file(path, "csv", "check the path");
  file.append(text_, file.size());
  bool const marked = text_.starts_with("\xff\xfe") || text_.starts_with("\xfe\xff");
  if (marked || (text_.size() > 1 && (text_[0] == '\0') != (text_[1] == '\0')))
    throw_error<data_error>({"csv: ", path_, " must be UTF-8 or another encoding that contains ASCII; found ",
                             marked ? "the byte order mark of UTF-16" : "a NUL byte, as in UTF-16",
                             "; save it again as CSV in UTF-8"});
  try {
    find_rows(o);
  } catch (std::bad_alloc const&) {
    file.fail(
        message({"not enough memory for the positions of its fields, ", sizeof(std::string_view), " bytes each"}));
  }
}

TYPENET_INLINE std::string_view csv_table::field(std::size_t row, std::size_t column) const {
  return fields_[static_cast<std::size_t>(rows_[row]) * names_.size() + column];
}

TYPENET_INLINE std::size_t csv_table::column(std::string const& name) const {
  std::size_t found = 0, count = 0;
  for (std::size_t i = 0; i < names_.size(); ++i)
    if (names_[i] == name) found = i, ++count;
  if (count != 1) {
    std::string all;
    for (std::string const& n : names_) all += (all.empty() ? "" : ", ") + n;
    bool const other = names_.size() == 1 && separator_ == ',' && names_[0].find(';') != std::string::npos;
    throw_error<data_error>(
        {"csv: ", path_, " must have exactly one column named ", name, "; found ", excerpt(all),
         other ? "; if its fields are separated by semicolons, give .separator = ';'" : "; check the name"});
  }
  return found;
}

TYPENET_INLINE float csv_table::number(std::size_t row, std::size_t column) const {
  std::string_view text = field(row, column);
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  if (text.size() > 1 && text[0] == '+' && text[1] != '-' && text[1] != '+') text.remove_prefix(1);
  double value = 0;
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() ||
      !isfinite(static_cast<double>(static_cast<float>(value))))
    throw_error<data_error>({"csv: ", path_, " must have a number in the range of float in column ", names_[column],
                             "; found ", text.empty() ? "an empty field" : excerpt(text), " in line ", line(row),
                             "; correct or remove the line, or leave out a column of text: .ignore = {\"",
                             names_[column], "\"}"});
  return static_cast<float>(value);
}

TYPENET_INLINE void csv_table::fail(char const* must, std::string const& what, std::string const& found,
                                    std::int64_t line) const {
  throw_error<data_error>(
      {"csv: ", path_, " ", must, what, "; found ", found, " in line ", line, "; correct the line or remove it"});
}

TYPENET_INLINE void csv_table::find_rows(csv_options const& o) {
  if (text_.starts_with("\xef\xbb\xbf")) at_ = 3;  // a byte order mark
  while (next_line()) {
    std::size_t const found = fields_.size() - lines_.size() * names_.size();
    if (names_.empty()) {
      for (std::size_t i = 0; i < found; ++i) names_.push_back(o.header ? std::string(fields_[i]) : std::to_string(i));
      if (o.header) fields_.clear();
      if (o.header) continue;
    }
    if (found != names_.size())
      fail("must have ", std::to_string(names_.size()) + " fields per line, like the first line", std::to_string(found),
           began_);
    lines_.push_back(began_);
  }
  if (lines_.empty())
    throw_error<data_error>({"csv: ", path_, " must have a line of data; found none; check the file"});
  rows_.resize(lines_.size());
  if (o.shuffle_seed > 0)
    epoch_order(o.shuffle_seed, 0, rows_);
  else
    for (std::size_t i = 0; i < rows_.size(); ++i) rows_[i] = static_cast<std::int64_t>(i);
}

TYPENET_INLINE bool csv_table::next_line() {
  while (at_ < text_.size() && (text_[at_] == '\n' || text_[at_] == '\r')) line_ += text_[at_++] == '\n' ? 1 : 0;
  if (at_ >= text_.size()) return false;
  began_ = line_;
  std::size_t begin = at_, end = at_;  // of the field, without quotes
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
  if (quoted) fail("must close every quote", "", "an unclosed quote in the row that begins", began_);
  add();
  if (at_ < text_.size()) ++at_;
  return true;
}

}  // namespace dsl::detail::TYPENET_MODE
