// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/data/dataset.hpp>
#include <dsl/detail/message.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/error.hpp>
#include <dsl/executors/engine.hpp>
#include <dsl/training/confusion_matrix.hpp>
#include <dsl/training/evaluation.hpp>

#include <cstddef>
#include <cstdint>

namespace dsl::TYPENET_MODE {

TYPENET_INLINE double confusion_matrix::accuracy() const {
  long long right = 0;
  for (int c = 0; c < classes(); ++c) right += count(c, c);
  return share(right, samples());
}

TYPENET_INLINE double confusion_matrix::precision(int predicted) const {
  return share(count(predicted, predicted), taken_for(predicted));
}

TYPENET_INLINE double confusion_matrix::iou(int label) const {
  long long const both = count(label, label);
  return share(both, samples(label) + taken_for(label) - both);
}

TYPENET_INLINE double confusion_matrix::f1(int label) const {
  return share(2 * count(label, label), samples(label) + taken_for(label));
}

TYPENET_INLINE double confusion_matrix::mean(double (confusion_matrix::*of_class)(int) const) const {
  double sum = 0;
  int there = 0;
  for (int c = 0; c < classes(); ++c) {
    if (samples(c) + taken_for(c) == 0) continue;
    sum += (this->*of_class)(c);
    ++there;
  }
  return there > 0 ? sum / there : 0;
}

TYPENET_INLINE void confusion_matrix::on_begin(dataset const& data) {
  if (!data.has_classes())
    detail::throw_error<option_error>({"confusion_matrix: it counts classes, but the data set has ",
                                       detail::counted(data.values, "value"),
                                       " per sample; use regression_scores, r2_score, mae_score or mse_score"});
  pixels_ = data.labels_each();
  names_.clear();
  for (int c = 0; c < data.classes; ++c) names_.push_back(data.class_name(c));
  auto const n = static_cast<std::size_t>(data.classes);
  counts_.assign(n * n, 0);
}

TYPENET_INLINE void confusion_matrix::on_batch(float const* outputs, std::int32_t const* labels, std::int64_t,
                                               int size) {
  for (int n = 0; n < size; ++n, outputs += classes() * pixels_)
    for (std::int64_t i = 0; i < pixels_; ++i) {
      std::int32_t const label = *labels++;
      if (label < 0) continue;  // a pixel without a class
      int best = 0;
      for (int c = 1; c < classes(); ++c)
        if (outputs[c * pixels_ + i] > outputs[best * pixels_ + i]) best = c;
      ++counts_[index(label, best)];
    }
}

TYPENET_INLINE void confusion_matrix::on_end(process_checks* processes) {
  if (processes) processes->sum("the confusion matrix", counts_.data(), static_cast<int>(counts_.size()));
}

TYPENET_INLINE double confusion_matrix::share(long long part, long long all) {
  return all > 0 ? static_cast<double>(part) / static_cast<double>(all) : 0;
}

TYPENET_INLINE long long confusion_matrix::labelled(int first, int end) const {
  long long all = 0;
  for (int label = first; label < end; ++label)
    for (int c = 0; c < classes(); ++c) all += count(label, c);
  return all;
}

TYPENET_INLINE long long confusion_matrix::taken_for(int predicted) const {
  long long all = 0;
  for (int c = 0; c < classes(); ++c) all += count(c, predicted);
  return all;
}

TYPENET_INLINE std::size_t confusion_matrix::index(int label, int predicted) const {
  if (label < 0 || label >= classes() || predicted < 0 || predicted >= classes())
    throw option_error(classes() == 0
                           ? "confusion_matrix: it is still empty; pass it to evaluate() first"
                           : detail::message({"confusion_matrix: label and prediction must be 0 to ", classes() - 1,
                                              "; found label ", label, " and prediction ", predicted,
                                              "; choose classes of the data set that was evaluated"}));
  return static_cast<std::size_t>(label) * names_.size() + static_cast<std::size_t>(predicted);
}

}  // namespace dsl::TYPENET_MODE
