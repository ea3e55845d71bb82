// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/training/callback.hpp>

namespace dsl::TYPENET_MODE {

/// A run whose loss is no number any more ends in its step, with Keras's line instead of a training_error. fit returns
/// the epochs before; on_train_end is called, on_batch_end and on_epoch_end are not, and no checkpoint is written or
/// removed: that of backup_and_restore is one whose weights have given a number.
struct terminate_on_nan : callback {
  [[gnu::cold]] bool on_bad_loss(fit_run& run) override;
};

}  // namespace dsl::TYPENET_MODE

#ifndef TYPENET_COMPILED
#include <dsl/training/terminate_on_nan_inl.hpp>
#endif
