// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/detail/print.hpp>
#include <dsl/training/callback_state.hpp>
#include <dsl/training/metrics.hpp>

#include <cstddef>
#include <cstdio>
#include <initializer_list>
#include <optional>
#include <vector>

namespace dsl::TYPENET_MODE {

/// As Keras's EarlyStopping has them.
struct early_stopping_options {
  int patience = 0;      // epochs without a better value after which the run ends; 0 is as 1
  double min_delta = 0;  // a value counts as better by more than this
  monitor_mode mode = monitor_mode::automatic;
  std::optional<double> baseline{};   // patience runs out until a value is better than this, too
  bool restore_best_weights = false;  // at the run's end, whatever ended it; a loss that is no number, too
  int start_from_epoch = 0;           // epochs before this one, from 0, are not looked at
  bool verbose = false;               // says so on standard output
};

}  // namespace dsl::TYPENET_MODE

namespace dsl::detail::TYPENET_MODE {

/// Not a template on the metric.
class early_stopping_on : public callback {
 public:
  void on_train_begin(fit_run& run) override;
  [[gnu::cold]] void on_epoch_end(fit_run& run) override;
  [[gnu::cold]] void on_train_end(fit_run& run) override;
  /// fit() throws after it, where no other callback ends the run.
  [[gnu::cold]] bool on_bad_loss(fit_run& run) override;
  [[gnu::cold]] void state(callback_state& s) override;

  /// The best value so far, from which epoch (from 0), and after which one it ended the run; 0: it did not. Of the
  /// epochs that it has seen: where it was first given to a run that went on, those before do not count.
  double best() const { return best_; }
  int best_epoch() const { return best_epoch_; }
  int stopped_epoch() const { return stopped_epoch_; }
  /// With restore_best_weights: whether it has seen an epoch, whose weights the network has after the run.
  bool has_weights() const { return !best_weights_.empty(); }

 protected:
  [[gnu::cold]] early_stopping_on(early_stopping_options const& o, any_metric const& m);

 private:
  [[gnu::cold]] static void say(std::initializer_list<piece> line) { print_lines(stdout, message(line)); }

  early_stopping_options options_;
  monitor monitor_;
  int wait_ = 0, stopped_epoch_ = 0, best_epoch_ = 0;
  int epochs_ = 0;           // before this run
  std::size_t weights_ = 0;  // the network's
  double best_ = 0;
  std::vector<float> best_weights_;
};

}  // namespace dsl::detail::TYPENET_MODE

namespace dsl::TYPENET_MODE {

/// Ends a run whose metric has not become better for `patience` epochs, as Keras's EarlyStopping:
///   early_stopping<val_accuracy>({.patience = 10, .restore_best_weights = true})
/// Best weights are parameters and running statistics, not the optimizer's; a checkpoint keeps them too. Throws
/// option_error before the first step where the run does not have the metric.
template <class Monitor = val_loss>
class early_stopping : public detail::early_stopping_on {
 public:
  explicit early_stopping(early_stopping_options const& o = {}, Monitor const& m = {})
      : early_stopping_on(o, detail::monitored<Monitor>::value(m)) {}
};

}  // namespace dsl::TYPENET_MODE

#ifndef TYPENET_COMPILED
#include <dsl/training/early_stopping_inl.hpp>
#endif
