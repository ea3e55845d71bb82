// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/data/dataset.hpp>
#include <dsl/detail/mode.hpp>

#include <memory>
#include <string>
#include <vector>

namespace dsl::TYPENET_MODE {

/// The mean and the standard deviation of each number of an input. A null pointer means that the input has none.
/// `input` is "" for a network's first input.
struct input_moments {
  std::string input;
  std::shared_ptr<std::vector<float> const> mean{}, deviation{};
};

/// The normalisation of a network's inputs, (number - mean) / deviation. The means and deviations are those of the data
/// that the weights were trained on. Inputs that are not normalised are not listed.
struct normalization {
  std::vector<input_moments> inputs{};

  /// Whether no input is normalised.
  bool empty() const { return inputs.empty(); }
  /// Returns the mean and deviation of an input, or null if the input is not normalised.
  input_moments const* find(std::string const& input) const;
};

/// Whether two normalisations have equal numbers. These need not be the same objects in memory.
bool operator==(normalization const& a, normalization const& b);

/// Returns the normalisation of a data set, including its further inputs.
normalization normalization_of(dataset const& data);

/// Returns the data set with the normalisation `n` in place of its own. Throws data_error if the data set lacks an
/// input that `n` names, or if such an input has another number of values:
///   dsl::dataset const rows = dsl::normalize_as(dsl::read_csv_values("new.csv", {"price"}), trainer.normalization());
dataset normalize_as(dataset data, normalization const& n);

}  // namespace dsl::TYPENET_MODE

namespace dsl::detail::TYPENET_MODE {

/// Returns the first difference between two normalisations, for a message that says what was found instead of what was
/// wanted: "the mean 0.5 instead of 0.25 for number 3 of the first input".
std::string difference(normalization const& found, normalization const& wanted);

}  // namespace dsl::detail::TYPENET_MODE

#ifdef TYPENET_DEFINITIONS
#include <dsl/data/normalization_inl.hpp>
#endif
