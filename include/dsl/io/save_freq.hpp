// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/message.hpp>
#include <dsl/error.hpp>
#include <dsl/training/callback.hpp>

#include <cstdint>

namespace dsl {

/// How often a callback writes: every_epochs(2), every_batches(500).
struct save_freq {
  int epochs = 1;            // 0: batches
  std::int64_t batches = 0;  // over epochs' ends, too

  /// Throws option_error for less than 1 of what is counted: nothing would ever be written.
  [[gnu::cold]] void require() const {
    if (epochs < 0 || (epochs == 0 && batches < 1))
      throw option_error(detail::message({"save_freq: it must be every epoch or batch, or more of either; found ",
                                          epochs, " epochs and ", batches, " batches"}));
  }

  /// At a saving point. `since` counts batches, and is part of the callback's state.
  bool now(fit_run const& run, std::int64_t& since) const {
    if (epochs > 0) return run.next.step == 0 && run.next.epoch % epochs == 0;
    if (run.next.step == 0 || ++since < batches) return false;
    since = 0;
    return true;
  }
};

/// After each n-th epoch's validation. Throws option_error for less than 1.
[[gnu::cold]] inline save_freq every_epochs(int n) {
  if (n < 1) throw option_error(detail::message({"save_freq: it must be every epoch or more; found ", n}));
  return {.epochs = n};
}
/// After each n-th training step, counted through all epochs. Throws option_error for less than 1.
[[gnu::cold]] inline save_freq every_batches(std::int64_t n) {
  if (n < 1) throw option_error(detail::message({"save_freq: it must be every batch or more; found ", n}));
  return {.epochs = 0, .batches = n};
}

}  // namespace dsl
