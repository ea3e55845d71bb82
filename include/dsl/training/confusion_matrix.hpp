// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/data/dataset.hpp>
#include <dsl/detail/message.hpp>
#include <dsl/error.hpp>
#include <dsl/executors/engine.hpp>
#include <dsl/training/evaluation.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace dsl {

/// How often a classifier took each class for each other one, counted by evaluate:
///   dsl::confusion_matrix confusion;
///   dsl::scores const s = trainer.evaluate(cifar.test, 64, &confusion);
///   confusion.count(/*label=*/3, /*predicted=*/5);   // cats that it took for dogs
/// It holds the last evaluation's counts; those of all processes, where there are several.
class confusion_matrix final : public evaluation_observer {
 public:
  int classes() const { return static_cast<int>(names_.size()); }
  std::vector<std::string> const& class_names() const { return names_; }

  /// Samples of class `label` that were taken for class `predicted`. Throws option_error for classes that are not
  /// there.
  long long count(int label, int predicted) const { return counts_[index(label, predicted)]; }
  long long samples() const { return labelled(0, classes()); }
  /// Of one class: all its samples.
  long long samples(int label) const { return labelled(label, label + 1); }
  /// Share of the samples on the diagonal: evaluate's accuracy. 0 without samples.
  double accuracy() const {
    long long right = 0;
    for (int c = 0; c < classes(); ++c) right += count(c, c);
    return share(right, samples());
  }
  /// Of the samples of a class, those that were taken for it; 0 where there are none.
  double recall(int label) const { return share(count(label, label), samples(label)); }
  /// Of the samples that were taken for a class, those that are of it; 0 where there are none.
  double precision(int predicted) const {
    long long all = 0;
    for (int c = 0; c < classes(); ++c) all += count(c, predicted);
    return share(count(predicted, predicted), all);
  }

  [[gnu::cold]] void on_begin(dataset const& data) override {
    if (!data.has_classes())
      detail::refuse<option_error>({"confusion_matrix: it counts classes, and the data set has ", data.values,
                                    " values a sample; use regression_scores"});
    names_.clear();
    for (int c = 0; c < data.classes; ++c) names_.push_back(data.class_name(c));
    auto const n = static_cast<std::size_t>(data.classes);
    counts_.assign(n * n, 0);
  }
  /// Of equal outputs the first one is the prediction, as it is for the accuracy.
  [[gnu::cold]] void on_batch(float const* outputs, std::int32_t const* labels, std::int64_t, int size) override {
    for (int n = 0; n < size; ++n, outputs += classes()) {
      int best = 0;
      for (int c = 1; c < classes(); ++c)
        if (outputs[c] > outputs[best]) best = c;
      ++counts_[index(labels[n], best)];
    }
  }
  [[gnu::cold]] void on_end(process_checks* processes) override {
    if (processes) processes->sum("the confusion matrix", counts_.data(), static_cast<int>(counts_.size()));
  }

 private:
  static double share(long long part, long long all) {
    return all > 0 ? static_cast<double>(part) / static_cast<double>(all) : 0;
  }
  long long labelled(int first, int end) const {
    long long all = 0;
    for (int label = first; label < end; ++label)
      for (int c = 0; c < classes(); ++c) all += count(label, c);
    return all;
  }
  std::size_t index(int label, int predicted) const {
    if (label < 0 || label >= classes() || predicted < 0 || predicted >= classes())
      throw option_error(detail::message({"confusion_matrix: classes are 0 to ", classes() - 1, "; found ", label,
                                          " and ", predicted, classes() == 0 ? "; give it to evaluate first" : ""}));
    return static_cast<std::size_t>(label) * names_.size() + static_cast<std::size_t>(predicted);
  }

  std::vector<std::string> names_;
  std::vector<long long> counts_;  // (label, predicted)
};

}  // namespace dsl
