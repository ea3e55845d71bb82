// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/io/plot.hpp>
#include <dsl/training/callback.hpp>

#include <string>

namespace dsl::TYPENET_MODE {

/// The options of plot_each_epoch: the layout of the plot, and how much time drawing may take.
struct plot_each_epoch_options {
  plot_options plot{};
  double most_time = 0.05;  // share of a run's time that drawing may take; 1: draw every epoch
};

/// Plots while the training runs. After every epoch, a plot of all epochs so far replaces the previous plot atomically,
/// so that a viewer that watches the file always shows the progress.
///   trainer.fit(data, {.epochs = 70, .callbacks = {plot_each_epoch{"run.png"}, plot_each_epoch{"run.svg"}}});
/// gnuplot takes about 0.1 s. If epochs are short, .most_time limits how often the callback draws; it always draws
/// after the last epoch. The plot of a run that resumes from a file begins with the first epoch of the original run.
/// With fit's .initial_epoch, the run does not know the epochs before it: pass them as `earlier`. Throws file_error
/// before the first step if a plot cannot be drawn. If a later plot fails, the callback warns once, and tries again
/// after the next epoch.
class plot_each_epoch : public callback {
 public:
  explicit plot_each_epoch(std::string path, plot_each_epoch_options const& o = {}, history earlier = {});

  void on_train_begin(fit_run& run) override;
  void on_epoch_end(fit_run& run) override;
  void on_train_end(fit_run& run) override;

 private:
  void draw(fit_run const& run);
  static double seconds();

  std::string path_;
  plot_each_epoch_options options_;
  history earlier_;
  bool waiting_ = false;  // whether epochs have ended since the last plot
  double drawn_ = 0;      // time of the last plot, and how long it took
  double cost_ = 0;
  bool warned_ = false;
};

}  // namespace dsl::TYPENET_MODE

#ifdef TYPENET_DEFINITIONS
#include <dsl/io/plot_each_epoch_inl.hpp>
#endif
