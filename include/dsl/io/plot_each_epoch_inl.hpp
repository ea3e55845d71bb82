// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/io/folders.hpp>
#include <dsl/io/plot.hpp>
#include <dsl/io/plot_each_epoch.hpp>
#include <dsl/training/callback.hpp>
#include <dsl/training/earlier_files.hpp>

#include <ctime>
#include <string>
#include <utility>

namespace dsl::TYPENET_MODE {

TYPENET_INLINE plot_each_epoch::plot_each_epoch(std::string path, plot_each_epoch_options const& o, history earlier)
    : path_(std::move(path)), options_(o), earlier_(std::move(earlier)) {
  bool const is_share = o.most_time >= 0 && o.most_time <= 1;
  if (!is_share)
    throw option_error(detail::message(
        {"plot_each_epoch: most_time must be a fraction of the run's time, from 0 to 1; found ", o.most_time}));
}

TYPENET_INLINE void plot_each_epoch::on_train_begin(fit_run& run) {
  warned_ = waiting_ = false;
  if (!run.leads) return;
  plot_format_of(path_);  // throws before a folder is made
  detail::make_folders(path_, "plot");
  check_plot(path_);
  drawn_ = cost_ = 0;
}

TYPENET_INLINE void plot_each_epoch::on_epoch_end(fit_run& run) {
  if (!run.leads) return;
  waiting_ = true;
  if ((seconds() - drawn_) * options_.most_time >= cost_ * (1 - options_.most_time)) draw(run);
}

TYPENET_INLINE void plot_each_epoch::on_train_end(fit_run& run) {
  // A resumed run with nothing left to do may have been killed before it drew its last epoch.
  bool const unseen = run.leads && drawn_ == 0 && !run.past.epochs.empty();
  if (waiting_ || unseen) draw(run);
}

TYPENET_INLINE void plot_each_epoch::draw(fit_run const& run) {
  waiting_ = false;
  double const begin = seconds();
  history all = earlier_;
  all.epochs.insert(all.epochs.end(), run.past.epochs.begin(), run.past.epochs.end());
  detail::write_or_warn(warned_, [&] {
    if (run.earlier) run.earlier->keep(path_, "plot_each_epoch");
    plot(all, path_, options_.plot);
    if (run.earlier) run.earlier->wrote(path_);
  });
  drawn_ = seconds();
  cost_ = drawn_ - begin;
}

TYPENET_INLINE double plot_each_epoch::seconds() {
  std::timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace dsl::TYPENET_MODE
