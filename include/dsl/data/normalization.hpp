// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/data/dataset.hpp>
#include <dsl/detail/mode.hpp>

#include <memory>
#include <string>
#include <vector>

namespace dsl::TYPENET_MODE {

/// The mean and the deviation of each number of an input; null for none. `input` is "" for a network's first input.
struct input_moments {
  std::string input;
  std::shared_ptr<std::vector<float> const> mean{}, deviation{};
};

/// How the inputs of a network are normalised, (number - mean) / deviation: that of the data from which its weights
/// have learned. Inputs that are used as they are do not occur.
struct normalization {
  std::vector<input_moments> inputs{};

  /// Whether all inputs are used as they are.
  bool empty() const { return inputs.empty(); }
  /// Returns the moments of an input; null if it is used as it is.
  input_moments const* find(std::string const& input) const;
};

/// Whether two normalisations have the same numbers, wherever these are.
bool operator==(normalization const& a, normalization const& b);

/// Returns the normalisation of a data set, also of its further inputs.
normalization normalization_of(dataset const& data);

/// Returns the data set with another normalisation in place of its own. Throws data_error if the data set lacks an
/// input, or an input has another number of numbers:
///   dsl::dataset const rows = dsl::normalize_as(dsl::read_csv_values("new.csv", {"price"}), trainer.normalization());
dataset normalize_as(dataset data, normalization const& n);

}  // namespace dsl::TYPENET_MODE

namespace dsl::detail::TYPENET_MODE {

/// Returns where two normalisations differ, for a message: "the mean 0.5 as number 3 of the first input, and not 0.25".
/// The first one is what was found.
std::string difference(normalization const& found, normalization const& wanted);

}  // namespace dsl::detail::TYPENET_MODE

#ifndef TYPENET_COMPILED
#include <dsl/data/normalization_inl.hpp>
#endif
