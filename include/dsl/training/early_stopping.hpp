// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/detail/print.hpp>
#include <dsl/rules/broken_training.hpp>
#include <dsl/rules/option_names.hpp>
#include <dsl/training/callback_state.hpp>
#include <dsl/training/metrics.hpp>

#include <cstddef>
#include <cstdio>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <type_traits>
#include <vector>

namespace dsl::TYPENET_MODE {

/// The options of Keras's EarlyStopping.
struct early_stopping_options {
  int patience = 0;      // epochs without a better value after which the run ends; 0 means 1
  double min_delta = 0;  // the amount by which a better value must differ
  monitor_mode mode = monitor_mode::automatic;
  std::optional<double> baseline{};   // a value must also be better than this to reset the patience
  bool restore_best_weights = false;  // however the run ends, even after a loss that is not finite
  int start_from_epoch = 0;           // epochs before this one, from 0, are ignored
  bool verbose = false;               // prints a line to standard output
};

}  // namespace dsl::TYPENET_MODE

namespace dsl::detail::TYPENET_MODE {

/// The part of early_stopping that does not depend on the metric's type.
class early_stopping_on : public callback {
 public:
  void on_train_begin(fit_run& run) override;
  void on_epoch_end(fit_run& run) override;
  void on_train_end(fit_run& run) override;
  /// Restores the best weights before fit() throws because of the loss. If another callback ends the run instead, fit()
  /// does not throw.
  bool on_bad_loss(fit_run& run) override;
  void state(callback_state& s) override;

  /// Return the best value so far, the epoch of this value (from 0), and the epoch after which this callback ended the
  /// run, or 0 if it did not. If the callback is first used in a resumed run, epochs before that do not count.
  double best() const { return best_; }
  int best_epoch() const { return best_epoch_; }
  int stopped_epoch() const { return stopped_epoch_; }
  /// Whether the callback has a copy of the best epoch's weights, which the network gets after the run. It has one only
  /// with restore_best_weights.
  bool has_weights() const { return !best_weights_.empty(); }

 protected:
  early_stopping_on(early_stopping_options const& o, any_metric const& m);

 private:
  static void say(std::initializer_list<piece> line) { print_lines(stdout, message(line)); }

  early_stopping_options options_;
  monitor monitor_;
  int wait_ = 0, stopped_epoch_ = 0, best_epoch_ = 0;
  int epochs_ = 0;           // number of epochs before this run
  std::size_t weights_ = 0;  // number of the network's weights
  double best_ = 0;
  std::vector<float> best_weights_;
};

}  // namespace dsl::detail::TYPENET_MODE

namespace dsl::TYPENET_MODE {

/// Ends a run whose metric has not improved for `patience` epochs, as Keras's EarlyStopping does:
///   early_stopping<val_accuracy>({.patience = 10, .restore_best_weights = true})
/// The best weights consist of parameters and running statistics, without the optimizer's state. Checkpoints include
/// the best weights. Throws option_error before the first step if the run does not have the metric.
template <class Monitor = val_loss>
class early_stopping : public detail::early_stopping_on {
 public:
  explicit early_stopping(early_stopping_options const& o = {}, Monitor const& m = {})
      : early_stopping_on(o, detail::monitored<Monitor>::value(m)) {}

  /// Reports that the metric's name is given as text.
  template <class Text>
    requires std::is_convertible_v<Text const&, std::string_view>
  explicit early_stopping(Text const&, early_stopping_options const& = {}) noexcept(
      sizeof(broken::monitors_are_types<Text, false>) != 0)
      : early_stopping_on({}, detail::monitored<Monitor>::value({})) {}
  /// Options with a wrong name or value. Clang takes such options for the ellipsis, and GCC takes them for the array.
#if defined(__clang__) && !defined(__CUDACC__)
  template <class Options = broken::options_of::early_stopping>
  explicit early_stopping(...) = delete;
#elif !defined(__CUDACC__)
  template <int Given>
  explicit early_stopping(broken::options_of::early_stopping const (&options)[Given]) = delete;
#endif
};

}  // namespace dsl::TYPENET_MODE

#ifdef TYPENET_DEFINITIONS
#include <dsl/training/early_stopping_inl.hpp>
#endif
