// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/data/dataset.hpp>
#include <dsl/detail/message.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/executors/engine.hpp>
#include <dsl/training/evaluation.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace dsl::TYPENET_MODE {

/// Counts how often a classifier predicted each class for samples of each class, in evaluate:
///   dsl::confusion_matrix confusion;
///   dsl::scores const s = trainer.evaluate(cifar.test, 64, &confusion);
///   confusion.count(/*label=*/3, /*predicted=*/5);   // cats that were predicted to be dogs
/// The object has the counts of the last evaluation, over all processes. If the labels are a class per pixel, it counts
/// labelled pixels instead of samples.
class confusion_matrix : public evaluation_observer {
 public:
  /// Return the number of classes and their names.
  int classes() const { return static_cast<int>(names_.size()); }
  std::vector<std::string> const& class_names() const { return names_; }

  /// Returns the number of samples of class `label` that were predicted to be `predicted`. Throws option_error for
  /// classes that do not exist.
  long long count(int label, int predicted) const { return counts_[index(label, predicted)]; }
  long long samples() const { return labelled(0, classes()); }
  /// Whether the labels are those of pixels, of which a sample has several.
  bool counts_pixels() const { return pixels_ > 1; }
  /// Returns the number of samples of one class.
  long long samples(int label) const { return labelled(label, label + 1); }
  /// Returns the share of all samples that were predicted correctly, which is evaluate's accuracy; 0 without samples.
  double accuracy() const;
  /// Returns the share of the samples of class `label` that were predicted correctly; 0 if the class has no samples.
  double recall(int label) const { return share(count(label, label), samples(label)); }
  /// Returns how many of the predictions of class `predicted` are correct, as a share of them; 0 if it was never
  /// predicted.
  double precision(int predicted) const;
  /// Returns the harmonic mean of a class's precision and recall; 0 if both are 0.
  double f1(int label) const;
  /// Returns the intersection over union of class `label`: the number of its samples that were predicted correctly,
  /// divided by the number of samples that have this class or were predicted to have it; 0 if there are no such
  /// samples.
  double iou(int label) const;
  /// Returns the mean of iou() over the classes that occur or were predicted, which is the mean IoU of a segmentation;
  /// 0 without samples.
  double mean_iou() const { return mean(&confusion_matrix::iou); }
  /// Returns the mean of any score of a class over the same classes: mean(&confusion_matrix::f1) is the macro F1.
  double mean(double (confusion_matrix::*of_class)(int) const) const;

  void on_begin(dataset const& data) override;
  /// Counts a batch. If several outputs are equally large, the first of them is the prediction, as for the accuracy.
  void on_batch(float const* outputs, std::int32_t const* labels, std::int64_t, int size) override;
  void on_end(process_checks* processes) override;

 private:
  static double share(long long part, long long all);
  long long labelled(int first, int end) const;
  long long taken_for(int predicted) const;
  std::size_t index(int label, int predicted) const;

  std::vector<std::string> names_;
  std::vector<long long> counts_;  // index (label, predicted)
  std::int64_t pixels_ = 1;        // labels per sample
};

}  // namespace dsl::TYPENET_MODE

#ifdef TYPENET_DEFINITIONS
#include <dsl/training/confusion_matrix_inl.hpp>
#endif
