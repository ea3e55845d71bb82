// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/io/plot.hpp>
#include <dsl/training/callback.hpp>

#include <string>

namespace dsl::TYPENET_MODE {

/// How the plot looks, and how often there is time for it.
struct plot_each_epoch_options {
  plot_options plot{};
  double most_time = 0.05;  // share of a run's time that drawing may take; 1: every epoch is drawn
};

/// plot() while the training runs: after every epoch a picture of all epochs so far takes the place of the one before,
/// whole, so that a viewer that looks for changes shows how it goes.
///   trainer.fit(data, {.epochs = 70, .callbacks = {plot_each_epoch{"run.png"}, plot_each_epoch{"run.svg"}}});
/// gnuplot takes 0.1 s or so; of epochs that are not much longer only so many are drawn as .most_time allows, and the
/// last one always. A run that goes on from a state is drawn from its beginning; `earlier` are the epochs before
/// fit's .initial_epoch, where the run does not know them. Throws file_error before the first step where a picture
/// can't be drawn; later it warns once, and tries again after the next epoch.
class plot_each_epoch : public callback {
 public:
  explicit plot_each_epoch(std::string path, plot_each_epoch_options const& o = {}, history earlier = {});

  [[gnu::cold]] void on_train_begin(fit_run& run) override;
  [[gnu::cold]] void on_epoch_end(fit_run& run) override;
  [[gnu::cold]] void on_train_end(fit_run& run) override;

 private:
  [[gnu::cold]] void draw(fit_run const& run);
  static double seconds();

  std::string path_;
  plot_each_epoch_options options_;
  history earlier_;
  bool waiting_ = false;  // epochs have ended that are in no picture
  double drawn_ = 0;      // when, and how long it took
  double cost_ = 0;
  bool warned_ = false;
};

}  // namespace dsl::TYPENET_MODE

#ifndef TYPENET_COMPILED
#include <dsl/io/plot_each_epoch_inl.hpp>
#endif
