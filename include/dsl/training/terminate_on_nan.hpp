// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/math.hpp>
#include <dsl/detail/message.hpp>
#include <dsl/detail/print.hpp>
#include <dsl/training/callback.hpp>

#include <cstdio>

namespace dsl {

/// A run whose loss is no number any more ends in its step, with Keras's line instead of a training_error. fit returns
/// the epochs before; on_train_end is called, on_batch_end and on_epoch_end are not, and no checkpoint is written or
/// removed: that of backup_and_restore is one whose weights have given a number.
struct terminate_on_nan : callback {
  [[gnu::cold]] bool on_bad_loss(fit_run& run) override {
    bool const in_validation = run.step == run.steps;
    if (run.leads)
      detail::print_lines(stdout,
                          in_validation
                              ? detail::message({"Epoch ", run.epoch + 1, ": Invalid val_loss, terminating training\n"})
                              : detail::message({"Batch ", run.step, ": Invalid loss, terminating training\n"}));
    return true;
  }
};

}  // namespace dsl
