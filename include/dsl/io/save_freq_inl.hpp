// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/message.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/error.hpp>
#include <dsl/io/save_freq.hpp>
#include <dsl/training/callback.hpp>

#include <cstdint>

namespace dsl::TYPENET_MODE {

TYPENET_INLINE void save_freq::require() const {
  if (epochs < 0 || (epochs == 0 && batches < 1))
    throw option_error(detail::message(
        {"save_freq: the interval must be 1 or more; found ", epochs, " epochs and ", batches, " batches"}));
}

TYPENET_INLINE bool save_freq::now(fit_run const& run, std::int64_t& since) const {
  if (epochs > 0) return run.next.step == 0 && run.next.epoch % epochs == 0;
  if (run.next.step == 0 || ++since < batches) return false;
  since = 0;
  return true;
}

TYPENET_INLINE save_freq every_epochs(int n) {
  if (n < 1) throw option_error(detail::message({"save_freq: the interval must be 1 or more; found ", n, " epochs"}));
  return save_freq(n, 0);
}

TYPENET_INLINE save_freq every_batches(std::int64_t n) {
  if (n < 1) throw option_error(detail::message({"save_freq: the interval must be 1 or more; found ", n, " batches"}));
  return save_freq(0, n);
}

}  // namespace dsl::TYPENET_MODE
