// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/math.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/training/callback_state.hpp>
#include <dsl/training/early_stopping.hpp>
#include <dsl/training/metrics.hpp>
#include <dsl/training/trainer.hpp>
#include <dsl/training/weights.hpp>

namespace dsl::detail::TYPENET_MODE {

TYPENET_INLINE void early_stopping_on::on_train_begin(fit_run& run) {
  monitor_.require(run, "early_stopping");
  wait_ = 0, stopped_epoch_ = 0, best_epoch_ = 0;
  epochs_ = run.next.epoch;
  weights_ = count_weights(run.trainer.engine());
  best_ = monitor_.worst();
  best_weights_.clear();
}

TYPENET_INLINE void early_stopping_on::on_epoch_end(fit_run& run) {
  if (run.epoch < options_.start_from_epoch) return;
  double const value = monitor_.what.of(run.current);
  bool const better = monitor_.better(value, best_);
  if (options_.restore_best_weights && (better || best_weights_.empty())) {  // the first epoch is the best so far
    best_weights_ = read_weights(run.trainer.engine());
    best_epoch_ = run.epoch;
  }
  ++wait_;
  if (better) {
    best_ = value;
    best_epoch_ = run.epoch;
    if (!options_.baseline || monitor_.better(value, *options_.baseline)) wait_ = 0;
  } else if (wait_ >= options_.patience && run.epoch > 0) {
    stopped_epoch_ = run.epoch;
    run.stop = true;
  }
}

TYPENET_INLINE void early_stopping_on::on_train_end(fit_run& run) {
  bool const says = options_.verbose && run.leads;
  if (stopped_epoch_ > 0 && says) say({"Epoch ", stopped_epoch_ + 1, ": early stopping\n"});
  if (!options_.restore_best_weights || best_weights_.empty()) return;
  if (says) say({"Restoring model weights from the end of the best epoch: ", best_epoch_ + 1, ".\n"});
  write_weights(run.trainer.engine(), best_weights_);
}

TYPENET_INLINE bool early_stopping_on::on_bad_loss(fit_run& run) {
  if (options_.restore_best_weights && !best_weights_.empty()) write_weights(run.trainer.engine(), best_weights_);
  return false;
}

TYPENET_INLINE void early_stopping_on::state(callback_state& s) {
  s.same("monitor", monitor_.what.name);
  s("best", best_);
  int const last = epochs_ > 0 ? epochs_ - 1 : 0;
  s("best epoch", best_epoch_, 0, last);
  s("stopped epoch", stopped_epoch_, 0, last);
  s("wait", wait_, 0, epochs_);
  s("best weights", best_weights_);
  if (!best_weights_.empty()) s.need_count("best weights", best_weights_.size(), weights_);
}

TYPENET_INLINE early_stopping_on::early_stopping_on(early_stopping_options const& o, any_metric const& m)
    : options_(o), monitor_(m, o.mode, o.min_delta < 0 ? -o.min_delta : o.min_delta) {
  if (!isfinite(o.min_delta))
    throw_error<option_error>({"early_stopping: min_delta must be finite; found ", o.min_delta});
  if (o.baseline && *o.baseline != *o.baseline)
    throw_error<option_error>({"early_stopping: baseline must be a number; found ", *o.baseline});
  if (o.patience < 0) throw option_error(message({"early_stopping: patience must be 0 or more; found ", o.patience}));
}

}  // namespace dsl::detail::TYPENET_MODE
