// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/io/folders.hpp>
#include <dsl/io/plot.hpp>
#include <dsl/training/callback.hpp>

#include <ctime>
#include <string>
#include <utility>

namespace dsl {

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
  explicit plot_each_epoch(std::string path, plot_each_epoch_options const& o = {}, history earlier = {})
      : path_(std::move(path)), options_(o), earlier_(std::move(earlier)) {
    bool const is_share = o.most_time >= 0 && o.most_time <= 1;
    if (!is_share)
      throw option_error(detail::message({"plot_each_epoch: most_time must be a share, 0 to 1; found ", o.most_time}));
  }

  [[gnu::cold]] void on_train_begin(fit_run& run) override {
    warned_ = waiting_ = false;
    if (!run.leads) return;
    plot_format_of(path_);  // before a folder is made for it
    detail::make_folders(path_, "plot");
    check_plot(path_);
    drawn_ = cost_ = 0;
  }
  [[gnu::cold]] void on_epoch_end(fit_run& run) override {
    if (!run.leads) return;
    waiting_ = true;
    if ((seconds() - drawn_) * options_.most_time >= cost_ * (1 - options_.most_time)) draw(run);
  }
  [[gnu::cold]] void on_train_end(fit_run& run) override {
    // a run that goes on with nothing left to do may have been killed before it drew its last epoch
    bool const unseen = run.leads && drawn_ == 0 && !run.past.epochs.empty();
    if (waiting_ || unseen) draw(run);
  }

 private:
  [[gnu::cold]] void draw(fit_run const& run) {
    waiting_ = false;
    double const begin = seconds();
    history all = earlier_;
    all.epochs.insert(all.epochs.end(), run.past.epochs.begin(), run.past.epochs.end());
    detail::write_or_warn(warned_, [&] { plot(all, path_, options_.plot); });
    drawn_ = seconds();
    cost_ = drawn_ - begin;
  }
  static double seconds() {
    std::timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
  }

  std::string path_;
  plot_each_epoch_options options_;
  history earlier_;
  bool waiting_ = false;  // epochs have ended that are in no picture
  double drawn_ = 0;      // when, and how long it took
  double cost_ = 0;
  bool warned_ = false;
};

}  // namespace dsl
