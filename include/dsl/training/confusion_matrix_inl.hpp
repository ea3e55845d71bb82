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
  long long all = 0;
  for (int c = 0; c < classes(); ++c) all += count(c, predicted);
  return share(count(predicted, predicted), all);
}

TYPENET_INLINE void confusion_matrix::on_begin(dataset const& data) {
  if (!data.has_classes())
    detail::refuse<option_error>({"confusion_matrix: it counts classes, but the data set has ", data.values,
                                  " values per sample; use regression_scores"});
  names_.clear();
  for (int c = 0; c < data.classes; ++c) names_.push_back(data.class_name(c));
  auto const n = static_cast<std::size_t>(data.classes);
  counts_.assign(n * n, 0);
}

TYPENET_INLINE void confusion_matrix::on_batch(float const* outputs, std::int32_t const* labels, std::int64_t,
                                               int size) {
  for (int n = 0; n < size; ++n, outputs += classes()) {
    int best = 0;
    for (int c = 1; c < classes(); ++c)
      if (outputs[c] > outputs[best]) best = c;
    ++counts_[index(labels[n], best)];
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

TYPENET_INLINE std::size_t confusion_matrix::index(int label, int predicted) const {
  if (label < 0 || label >= classes() || predicted < 0 || predicted >= classes())
    throw option_error(detail::message({"confusion_matrix: classes are 0 to ", classes() - 1, "; found ", label,
                                        " and ", predicted, classes() == 0 ? "; give it to evaluate first" : ""}));
  return static_cast<std::size_t>(label) * names_.size() + static_cast<std::size_t>(predicted);
}

}  // namespace dsl::TYPENET_MODE
