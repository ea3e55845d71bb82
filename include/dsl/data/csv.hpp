// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/data/csv_table.hpp>
#include <dsl/data/dataset.hpp>
#include <dsl/detail/mode.hpp>

#include <concepts>
#include <string>
#include <vector>

namespace dsl::detail::TYPENET_MODE {

/// Returns the numbers in all columns except the columns named in `left_out`, row by row.
std::vector<float> numbers_without(csv_table const& table, std::vector<std::string> const& left_out, int& columns);

}  // namespace dsl::detail::TYPENET_MODE

namespace dsl::TYPENET_MODE {

/// Reads a table in which the columns `targets` are the values to be learnt from all other columns. The other columns
/// become the numbers of a sample, in the file's order. Throws data_error, which names the line and the column, for a
/// missing file, a line with more or fewer fields than the first line, and a field that is not a finite number.
///   dsl::dataset const houses = dsl::read_csv_values("houses.csv", {"price"}, {.ignore = {"id"}});
dataset read_csv_values(std::string const& path, std::vector<std::string> const& targets, csv_options const& o = {});
/// Reads a table with one target column, which need not be in braces: read_csv_values("houses.csv", "price").
template <std::convertible_to<std::string> Target>
dataset read_csv_values(std::string const& path, Target const& target, csv_options const& o = {}) {
  return read_csv_values(path, std::vector<std::string>{std::string(target)}, o);
}

/// Reads a table in which the column `target` has the name of each sample's class. The classes are `class_names` or, if
/// no names are given, all names that occur, in alphabetical order. For a test set, pass the names of the training set:
/// train.storage->class_names. Throws data_error as read_csv_values does, and for a class that is not among
/// class_names.
///   dsl::dataset const flowers = dsl::read_csv_classes("iris.csv", "species");
dataset read_csv_classes(std::string const& path, std::string const& target, std::vector<std::string> class_names = {},
                         csv_options const& o = {});

}  // namespace dsl::TYPENET_MODE

#ifdef TYPENET_DEFINITIONS
#include <dsl/data/csv_inl.hpp>
#endif
