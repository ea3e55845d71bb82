// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/data/csv.hpp>
#include <dsl/data/csv_table.hpp>
#include <dsl/data/in_memory.hpp>
#include <dsl/detail/message.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/detail/printable.hpp>
#include <dsl/error.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dsl::detail::TYPENET_MODE {

TYPENET_INLINE std::vector<float> numbers_without(csv_table const& table, std::vector<std::string> const& left_out,
                                                  int& columns) {
  std::vector<bool> takes(table.names().size(), true);
  for (std::string const& name : left_out) takes[table.column(name)] = false;
  columns = 0;
  for (bool const takes_it : takes) columns += takes_it ? 1 : 0;
  if (columns == 0)
    throw_error<data_error>({"csv: ", table.path(), " must have an input column besides the targets; found ",
                             counted(static_cast<long long>(takes.size()), "column"),
                             ", and none besides targets and ignored ones; ignore fewer columns, or check .separator"});
  std::vector<float> numbers;
  numbers.reserve(table.rows() * static_cast<std::size_t>(columns));
  for (std::size_t row = 0; row < table.rows(); ++row)
    for (std::size_t c = 0; c < takes.size(); ++c)
      if (takes[c]) numbers.push_back(table.number(row, c));
  return numbers;
}

}  // namespace dsl::detail::TYPENET_MODE

namespace dsl::TYPENET_MODE {

TYPENET_INLINE dataset read_csv_values(std::string const& path, std::vector<std::string> const& targets,
                                       csv_options const& o) {
  detail::csv_table const table(path, o);
  std::vector<std::string> left_out = o.ignore;
  left_out.insert(left_out.end(), targets.begin(), targets.end());
  int columns = 0;
  std::vector<float> numbers = detail::numbers_without(table, left_out, columns);
  std::vector<std::size_t> wanted_columns;
  wanted_columns.reserve(targets.size());
  for (std::string const& name : targets) wanted_columns.push_back(table.column(name));
  std::vector<float> wanted;
  for (std::size_t row = 0; row < table.rows(); ++row)
    for (std::size_t const column : wanted_columns) wanted.push_back(table.number(row, column));
  return in_memory_values({columns}, std::move(numbers), static_cast<int>(targets.size()), std::move(wanted));
}

TYPENET_INLINE dataset read_csv_classes(std::string const& path, std::string const& target,
                                        std::vector<std::string> class_names, csv_options const& o) {
  detail::csv_table const table(path, o);
  std::vector<std::string> left_out = o.ignore;
  left_out.push_back(target);
  int columns = 0;
  std::vector<float> numbers = detail::numbers_without(table, left_out, columns);
  std::size_t const column = table.column(target);
  std::map<std::string_view, std::int32_t> classes;
  for (std::string const& name : class_names)
    if (!classes.emplace(name, static_cast<std::int32_t>(classes.size())).second)
      detail::throw_error<data_error>(
          {"csv: class names must be unique; found \"", detail::excerpt(name), "\" twice; name each class once"});
  if (class_names.empty()) {
    for (std::size_t row = 0; row < table.rows(); ++row) classes.emplace(table.field(row, column), 0);
    for (auto& [name, number] : classes) {
      number = static_cast<std::int32_t>(class_names.size());
      class_names.emplace_back(name);
    }
  }
  std::vector<std::int32_t> labels;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    auto const found = classes.find(table.field(row, column));
    if (found == classes.end())
      detail::throw_error<data_error>(
          {"csv: ", path, " must have one of the ", class_names.size(), " known classes in column ", target, "; found ",
           detail::excerpt(table.field(row, column)), " in line ", table.line(row), "; add it to class_names"});
    labels.push_back(found->second);
  }
  int const count = static_cast<int>(class_names.size());
  return in_memory_classes({columns}, std::move(numbers), count, std::move(labels), std::move(class_names));
}

}  // namespace dsl::TYPENET_MODE
