// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/training/callback.hpp>

#include <cstdint>
#include <type_traits>

namespace dsl::TYPENET_MODE {

/// The interval at which a callback writes: every_epochs(2), every_batches(500). A plain number is refused, since
/// Keras's counts batches.
struct save_freq {
  int epochs;            // 0: counts batches
  std::int64_t batches;  // counted across epochs

  template <class Number>
    requires std::is_arithmetic_v<Number>
  save_freq(Number) = delete;  // NOLINT(google-explicit-constructor): write every_batches(500) or every_epochs(2)

  /// Throws option_error if the interval is less than 1, since nothing would ever be written.
  void require() const;

  /// Whether the callback should write at this saving point. `since` counts batches and is part of the callback's
  /// state.
  bool now(fit_run const& run, std::int64_t& since) const;

 private:
  explicit save_freq(int e, std::int64_t b) : epochs(e), batches(b) {}
  friend save_freq every_epochs(int n);
  friend save_freq every_batches(std::int64_t n);
};

/// Writes after every n-th epoch and its validation. Throws option_error for n below 1.
save_freq every_epochs(int n);
/// Writes after every n-th training step, counted across epochs. Throws option_error for n below 1.
save_freq every_batches(std::int64_t n);

}  // namespace dsl::TYPENET_MODE

#ifdef TYPENET_DEFINITIONS
#include <dsl/io/save_freq_inl.hpp>
#endif
