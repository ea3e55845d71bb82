// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/failure_text.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/detail/threads.hpp>
#include <dsl/towers/abort_state.hpp>
#include <dsl/towers/process_group.hpp>

#include <string>

namespace dsl::detail::TYPENET_MODE {

TYPENET_INLINE void abort_state::require() const {
  if (broken_) refuse();
}

TYPENET_INLINE void abort_state::break_with(std::string const& why) {
  if (broken_) return;  // the first reason is the cause
  broken_ = true;
  why_ = failure_text([&] { return why; });
  changed.notify_all();
  if (exchanging_) world_->interrupt(why);
}

TYPENET_INLINE void abort_state::wait_for_exchange() {
  while (exchanging_) changed.wait(guard);
}

}  // namespace dsl::detail::TYPENET_MODE
