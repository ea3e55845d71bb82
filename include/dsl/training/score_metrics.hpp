// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/rules/broken_training.hpp>
#include <dsl/training/confusion_matrix.hpp>
#include <dsl/training/evaluation_metric.hpp>
#include <dsl/training/regression_scores.hpp>

#include <cstdint>
#include <type_traits>

/// Metrics for fit's .metrics, and for evaluate.
namespace dsl::detail::TYPENET_MODE {

/// The name of a metric and its number: {"f1_", 3} is "f1_3"; {"f1", -1}, without a number, is "f1".
struct numbered_name {
  char text[32]{};
  constexpr numbered_name(char const* word, int number, char const* behind = "") {
    char* to = text;
    for (; *word; ++word) *to++ = *word;
    if (number >= 0) {
      if (to[-1] != '_') *to++ = '_';
      int ten = 1;
      while (number / ten >= 10) ten *= 10;
      for (; ten > 0; ten /= 10) *to++ = static_cast<char>('0' + number / ten % 10);
    }
    for (; *behind; ++behind) *to++ = *behind;
  }
};

/// Counts the samples for which the output of the sample's class is among the network's K largest. Equal outputs all
/// have the best of their ranks, and a NaN is never among the largest, as in Keras.
class largest_outputs : public evaluation_observer {
 public:
  explicit largest_outputs(int k) : k_(k) {}
  /// Returns the number of such samples as a share of all samples; 0 without samples.
  double value() const { return seen_ > 0 ? static_cast<double>(right_) / static_cast<double>(seen_) : 0; }

  void on_begin(dataset const& data) override;
  void on_batch(float const* outputs, std::int32_t const* labels, std::int64_t first, int size) override;
  void on_end(process_checks* processes) override;

 private:
  int k_, classes_ = 0;
  std::int64_t pixels_ = 1;
  long long seen_ = 0, right_ = 0;
};

/// A metric that is computed from a confusion matrix. It is the score of one class; for class -1, it is the mean score
/// of the classes that occur or were predicted, like scikit-learn's average="macro".
class class_counts : public evaluation_observer {
 public:
  explicit class_counts(int of) : of_(of) {}
  void on_begin(dataset const& data) override;
  void on_batch(float const* outputs, std::int32_t const* labels, std::int64_t first, int size) override {
    counts_.on_batch(outputs, labels, first, size);
  }
  void on_end(process_checks* processes) override { counts_.on_end(processes); }

 protected:
  double score(double (confusion_matrix::*of_class)(int) const) const;

 private:
  int of_;
  confusion_matrix counts_{};
};

/// A metric computed from the distances between outputs and target values.
class value_distances : public evaluation_observer {
 public:
  void on_begin(dataset const& data) override { scores_.on_begin(data); }
  void on_batch(float const*, std::int32_t const*, std::int64_t, int) override {}
  void on_values(float const* outputs, float const* values, std::int64_t first, int size) override {
    scores_.on_values(outputs, values, first, size);
  }
  void on_end(process_checks* processes) override { scores_.on_end(processes); }

 protected:
  regression_scores scores_{};
};

}  // namespace dsl::detail::TYPENET_MODE

namespace dsl::TYPENET_MODE {

/// The share of samples whose class has one of the K largest outputs. The metric's name is "top_5_acc" for K = 5.
template <int K>
struct top_k_accuracy : detail::largest_outputs {
  static_assert(K >= 1, "top_k_accuracy: K must be 1 or more");
  static constexpr detail::numbered_name own{"top_", K, "_acc"};
  static constexpr char const* name = own.text;
  static constexpr bool more_is_better = true;
  top_k_accuracy() : largest_outputs(K) {}
  /// Reports that K is given in braces or parentheses.
  template <class Found>
    requires std::is_arithmetic_v<Found>
  explicit top_k_accuracy(Found) noexcept(sizeof(broken::top_k_accuracy_takes_k<Found, false>) != 0);
};
template <class Found>
  requires std::is_arithmetic_v<Found>
top_k_accuracy(Found) -> top_k_accuracy<1>;

/// Precision, recall, F1 and intersection over union. f1_score<3>, with the name "f1_3", is the score of class 3;
/// f1_score<>, with the name "f1", is the mean over the classes that occur or were predicted.
template <int Class = -1>
struct precision_score : detail::class_counts {
  static constexpr detail::numbered_name own{"precision", Class};
  static constexpr char const* name = own.text;
  static constexpr bool more_is_better = true;
  precision_score() : class_counts(Class) {}
  /// Returns the score of the last evaluation.
  double value() const { return score(&confusion_matrix::precision); }
};
template <int Class = -1>
struct recall_score : detail::class_counts {
  static constexpr detail::numbered_name own{"recall", Class};
  static constexpr char const* name = own.text;
  static constexpr bool more_is_better = true;
  recall_score() : class_counts(Class) {}
  /// Returns the score of the last evaluation.
  double value() const { return score(&confusion_matrix::recall); }
};
template <int Class = -1>
struct f1_score : detail::class_counts {
  static constexpr detail::numbered_name own{"f1", Class};
  static constexpr char const* name = own.text;
  static constexpr bool more_is_better = true;
  f1_score() : class_counts(Class) {}
  /// Returns the score of the last evaluation.
  double value() const { return score(&confusion_matrix::f1); }
};
template <int Class = -1>
struct iou_score : detail::class_counts {
  static constexpr detail::numbered_name own{"iou", Class};
  static constexpr char const* name = own.text;
  static constexpr bool more_is_better = true;
  iou_score() : class_counts(Class) {}
  /// Returns the score of the last evaluation.
  double value() const { return score(&confusion_matrix::iou); }
};

/// The coefficient of determination. r2_score<1>, with the name "r2_1", is that of output 1; r2_score<>, with the name
/// "r2", is the mean over all outputs.
template <int Output = -1>
struct r2_score : detail::value_distances {
  static constexpr detail::numbered_name own{"r2", Output};
  static constexpr char const* name = own.text;
  static constexpr bool more_is_better = true;
  /// Returns the score of the last evaluation.
  double value() const { return Output >= 0 ? scores_.r2(Output) : scores_.mean_r2(); }
};
/// The mean absolute error and the mean squared error, over all samples and outputs.
struct mae_score : detail::value_distances {
  static constexpr char const* name = "mae";
  static constexpr bool more_is_better = false;
  /// Returns the score of the last evaluation.
  double value() const { return scores_.mean_absolute_error(); }
};
struct mse_score : detail::value_distances {
  static constexpr char const* name = "mse";
  static constexpr bool more_is_better = false;
  /// Returns the score of the last evaluation.
  double value() const { return scores_.mean_squared_error(); }
};

}  // namespace dsl::TYPENET_MODE

#ifdef TYPENET_DEFINITIONS
#include <dsl/training/score_metrics_inl.hpp>
#endif
