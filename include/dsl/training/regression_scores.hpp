// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/data/dataset.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/executors/process_checks.hpp>
#include <dsl/training/evaluation.hpp>

#include <cstdint>
#include <vector>

namespace dsl::TYPENET_MODE {

/// Measures the distance between a network's outputs and the target values, over all samples and outputs of an
/// evaluation:
///   dsl::regression_scores scores;
///   trainer.evaluate(test, 64, &scores);
///   scores.mean_absolute_error();
class regression_scores : public evaluation_observer {
 public:
  /// Return the mean absolute error and the mean squared error; both are 0 without samples.
  double mean_absolute_error() const { return count_ > 0 ? sums_[distance] / count_ : 0; }
  double mean_squared_error() const { return count_ > 0 ? sums_[square] / count_ : 0; }
  /// Returns the coefficient of determination of one output: 1 - squared error / squared deviation of the values from
  /// their mean. It is 1 for a perfect network, and 0 for a network that always outputs the mean. It is also 0 if all
  /// values are equal.
  double r2(int output = 0) const;
  /// Returns the mean of r2() over the outputs.
  double mean_r2() const;
  int outputs() const { return outputs_; }

  void on_begin(dataset const& data) override;
  void on_batch(float const*, std::int32_t const*, std::int64_t, int) override {}
  void on_values(float const* outputs, float const* values, std::int64_t, int size) override;
  void on_end(process_checks* processes) override;

 private:
  enum { distance, square };
  double count_ = 0;     // count of values seen
  double sums_[2] = {};  // of absolute and squared distances
  int outputs_ = 1;
  std::vector<float> origin_{};    // the first sample's values: sums of distances from them stay precise
  std::vector<double> moments_{};  // per output: sums of these distances and of their squares, sum of squared errors
};

}  // namespace dsl::TYPENET_MODE

#ifdef TYPENET_DEFINITIONS
#include <dsl/training/regression_scores_inl.hpp>
#endif
