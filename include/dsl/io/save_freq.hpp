// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/training/callback.hpp>

#include <cstdint>

namespace dsl::TYPENET_MODE {

/// How often a callback writes: every_epochs(2), every_batches(500).
struct save_freq {
  int epochs = 1;            // 0: batches
  std::int64_t batches = 0;  // over epochs' ends, too

  /// Throws option_error for less than 1 of what is counted: nothing would ever be written.
  [[gnu::cold]] void require() const;

  /// At a saving point. `since` counts batches, and is part of the callback's state.
  bool now(fit_run const& run, std::int64_t& since) const;
};

/// After each n-th epoch's validation. Throws option_error for less than 1.
[[gnu::cold]] save_freq every_epochs(int n);
/// After each n-th training step, counted through all epochs. Throws option_error for less than 1.
[[gnu::cold]] save_freq every_batches(std::int64_t n);

}  // namespace dsl::TYPENET_MODE

#ifndef TYPENET_COMPILED
#include <dsl/io/save_freq_inl.hpp>
#endif
