// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/data/dataset.hpp>
#include <dsl/detail/message.hpp>
#include <dsl/detail/option_check.hpp>
#include <dsl/error.hpp>
#include <dsl/executors/process_checks.hpp>
#include <dsl/training/evaluation.hpp>

#include <cstdint>
#include <vector>

namespace dsl {

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
  double r2(int output = 0) const {
    if (count_ <= 0) return 0;
    detail::option_check{"regression_scores"}.need(output >= 0 && output < outputs_,
                                                   "the output must be one of the network's", output);
    double const* const of = moments_.data() + 3 * output;
    double const samples = count_ / outputs_;
    double const spread = of[1] - of[0] * of[0] / samples;
    return spread > 0 ? 1 - of[2] / spread : 0;
  }
  int outputs() const { return outputs_; }

  [[gnu::cold]] void on_begin(dataset const& data) override {
    if (data.values < 1)
      detail::refuse<option_error>({"regression_scores: samples must have values to be learnt; found ", data.classes,
                                    " classes; use confusion_matrix"});
    outputs_ = data.values;
    count_ = sums_[distance] = sums_[square] = 0;
    moments_.assign(3 * static_cast<std::size_t>(outputs_), 0);
    origin_.assign(data.wanted(0), data.wanted(0) + outputs_);
  }
  void on_batch(float const*, std::int32_t const*, std::int64_t, int) override {}
  [[gnu::cold]] void on_values(float const* outputs, float const* values, std::int64_t, int size) override {
    for (int n = 0; n < size; ++n)
      for (int i = 0; i < outputs_; ++i) {
        double const wanted = static_cast<double>(*values++);
        double const d = static_cast<double>(*outputs++) - wanted;
        double* const of = moments_.data() + 3 * i;
        double const from_origin = wanted - static_cast<double>(origin_[static_cast<std::size_t>(i)]);
        of[0] += from_origin, of[1] += from_origin * from_origin, of[2] += d * d;
        sums_[distance] += d < 0 ? -d : d;
        sums_[square] += d * d;
      }
    count_ += 1.0 * size * outputs_;
  }
  [[gnu::cold]] void on_end(process_checks* processes) override {
    if (!processes) return;
    processes->sum("the regression's scores", &count_, 1);
    processes->sum("the regression's scores", sums_, 2);
    processes->sum("the regression's scores", moments_.data(), static_cast<int>(moments_.size()));
  }

 private:
  enum { distance, square };
  double count_ = 0;     // numbers seen
  double sums_[2] = {};  // of distances and their squares
  int outputs_ = 1;
  std::vector<float> origin_{};    // of the data set's first sample: sums of distances from it lose no digits
  std::vector<double> moments_{};  // per output: the sums of these and of their squares, the squared error's sum
};

}  // namespace dsl
