// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/data/dataset.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/executors/process_checks.hpp>
#include <dsl/training/evaluation.hpp>

#include <cstdint>
#include <vector>

namespace dsl::TYPENET_MODE {

/// How far a network's outputs are from the values that it learns, over all samples and outputs of an evaluation:
///   dsl::regression_scores scores;
///   trainer.evaluate(test, 64, &scores);
///   scores.mean_absolute_error();
class regression_scores : public evaluation_observer {
 public:
  /// 0 without samples; so are the others.
  double mean_absolute_error() const { return count_ > 0 ? sums_[distance] / count_ : 0; }
  double mean_squared_error() const { return count_ > 0 ? sums_[square] / count_ : 0; }
  /// 1 - the squared error's part of the values' own spread around their mean, of one output: 1 for a perfect network,
  /// 0 for one that always gives the mean. 0 where all values are equal.
  double r2(int output = 0) const;
  int outputs() const { return outputs_; }

  [[gnu::cold]] void on_begin(dataset const& data) override;
  void on_batch(float const*, std::int32_t const*, std::int64_t, int) override {}
  [[gnu::cold]] void on_values(float const* outputs, float const* values, std::int64_t, int size) override;
  [[gnu::cold]] void on_end(process_checks* processes) override;

 private:
  enum { distance, square };
  double count_ = 0;     // numbers seen
  double sums_[2] = {};  // of distances and their squares
  int outputs_ = 1;
  std::vector<float> origin_{};    // of the data set's first sample: sums of distances from it lose no digits
  std::vector<double> moments_{};  // per output: the sums of these and of their squares, the squared error's sum
};

}  // namespace dsl::TYPENET_MODE

#ifndef TYPENET_COMPILED
#include <dsl/training/regression_scores_inl.hpp>
#endif
