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

/// The normalisation of a network's inputs, (number - mean) / deviation, with the moments of the data that its weights
/// were trained on. Inputs that are not normalised are not listed.
struct normalization {
  std::vector<input_moments> inputs{};

  /// Whether no input is normalised.
  bool empty() const { return inputs.empty(); }
  /// Returns the moments of an input; null if it is not normalised.
  input_moments const* find(std::string const& input) const;
};

/// Whether two normalisations have equal numbers, even if they do not share them in memory.
bool operator==(normalization const& a, normalization const& b);

/// Returns the normalisation of a data set, including its further inputs.
normalization normalization_of(dataset const& data);

/// Returns the data set with another normalisation in place of its own. Throws data_error if the data set lacks an
/// input, or if the number of values of an input differs:
///   dsl::dataset const rows = dsl::normalize_as(dsl::read_csv_values("new.csv", {"price"}), trainer.normalization());
dataset normalize_as(dataset data, normalization const& n);

}  // namespace dsl::TYPENET_MODE

namespace dsl::detail::TYPENET_MODE {

/// Returns the first difference of two normalisations for a message about the one that was found:
/// "the mean 0.5 instead of 0.25 for number 3 of the first input".
std::string difference(normalization const& found, normalization const& wanted);

}  // namespace dsl::detail::TYPENET_MODE

#ifndef TYPENET_COMPILED
#include <dsl/data/normalization_inl.hpp>
#endif
