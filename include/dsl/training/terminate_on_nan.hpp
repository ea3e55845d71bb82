// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/training/callback.hpp>

namespace dsl::TYPENET_MODE {

/// Ends a run in the step in which the loss is no longer finite. It prints Keras's line, and fit returns the earlier
/// epochs instead of throwing a training_error. on_train_end is called; on_batch_end and on_epoch_end are not. No
/// checkpoint is written or removed: the weights in the file of backup_and_restore have given a finite loss.
struct terminate_on_nan : callback {
  bool on_bad_loss(fit_run& run) override;
};

}  // namespace dsl::TYPENET_MODE

#ifdef TYPENET_DEFINITIONS
#include <dsl/training/terminate_on_nan_inl.hpp>
#endif
