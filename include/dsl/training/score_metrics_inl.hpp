// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/data/dataset.hpp>
#include <dsl/detail/message.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/error.hpp>
#include <dsl/executors/process_checks.hpp>
#include <dsl/training/score_metrics.hpp>

#include <cstdint>

namespace dsl::detail::TYPENET_MODE {

TYPENET_INLINE void largest_outputs::on_begin(dataset const& data) {
  if (!data.has_classes())
    throw_error<option_error>({"top_k_accuracy: samples must have classes; found ", counted(data.values, "value"),
                               " per sample; use r2_score<> or mae_score"});
  if (k_ > data.classes)
    throw_error<option_error>({"top_k_accuracy: K must be at most the number of classes, ", data.classes, "; found ",
                               k_, "; choose a smaller one"});
  classes_ = data.classes;
  pixels_ = data.labels_each();
  seen_ = right_ = 0;
}

TYPENET_INLINE void largest_outputs::on_batch(float const* outputs, std::int32_t const* labels, std::int64_t,
                                              int size) {
  for (int n = 0; n < size; ++n, outputs += classes_ * pixels_)
    for (std::int64_t i = 0; i < pixels_; ++i) {
      std::int32_t const label = *labels++;
      if (label < 0) continue;  // a pixel without a class
      ++seen_;
      float const own = outputs[label * pixels_ + i];
      int larger = own != own ? k_ : 0;
      for (int c = 0; c < classes_; ++c) larger += outputs[c * pixels_ + i] > own;
      right_ += larger < k_;
    }
}

TYPENET_INLINE void largest_outputs::on_end(process_checks* processes) {
  if (!processes) return;
  long long counts[] = {seen_, right_};
  processes->sum("the top k accuracy", counts, 2);
  seen_ = counts[0], right_ = counts[1];
}

TYPENET_INLINE void class_counts::on_begin(dataset const& data) {
  counts_.on_begin(data);
  if (of_ >= data.classes)
    throw_error<option_error>(
        {"metrics: the class must be 0 to ", data.classes - 1, "; found ", of_, "; choose a class of the data set"});
}

TYPENET_INLINE double class_counts::score(double (confusion_matrix::*of_class)(int) const) const {
  return of_ >= 0 && counts_.classes() > 0 ? (counts_.*of_class)(of_) : counts_.mean(of_class);
}

}  // namespace dsl::detail::TYPENET_MODE
