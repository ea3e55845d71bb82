// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/data/dataset.hpp>
#include <dsl/detail/message.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/detail/option_check.hpp>
#include <dsl/error.hpp>
#include <dsl/executors/process_checks.hpp>
#include <dsl/training/evaluation.hpp>
#include <dsl/training/regression_scores.hpp>

#include <cstdint>

namespace dsl::TYPENET_MODE {

TYPENET_INLINE double regression_scores::r2(int output) const {
  if (count_ <= 0) return 0;
  if (output < 0 || output >= outputs_)
    detail::throw_error<option_error>({"regression_scores: the output must be ",
                                       outputs_ == 1 ? "0" : detail::message({"0 to ", outputs_ - 1}), "; found ",
                                       output});
  double const* const of = moments_.data() + 3 * output;
  double const samples = count_ / outputs_;
  double const spread = of[1] - of[0] * of[0] / samples;
  return spread > 0 ? 1 - of[2] / spread : 0;
}

TYPENET_INLINE double regression_scores::mean_r2() const {
  double sum = 0;
  for (int i = 0; i < outputs_; ++i) sum += r2(i);
  return sum / outputs_;
}

TYPENET_INLINE void regression_scores::on_begin(dataset const& data) {
  if (data.values < 1)
    detail::throw_error<option_error>(
        {"regression_scores: samples must have target values; found ", data.classes, " classes; use confusion_matrix"});
  outputs_ = data.values;
  count_ = sums_[distance] = sums_[square] = 0;
  moments_.assign(3 * static_cast<std::size_t>(outputs_), 0);
  origin_.assign(data.wanted(0), data.wanted(0) + outputs_);
}

TYPENET_INLINE void regression_scores::on_values(float const* outputs, float const* values, std::int64_t, int size) {
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

TYPENET_INLINE void regression_scores::on_end(process_checks* processes) {
  if (!processes) return;
  processes->sum("the regression's scores", &count_, 1);
  processes->sum("the regression's scores", sums_, 2);
  processes->sum("the regression's scores", moments_.data(), static_cast<int>(moments_.size()));
}

}  // namespace dsl::TYPENET_MODE
