// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/math.hpp>
#include <dsl/detail/message.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/detail/name.hpp>
#include <dsl/training/callback.hpp>
#include <dsl/training/schedules.hpp>

#include <string>

namespace dsl::detail::TYPENET_MODE {

TYPENET_INLINE void refuse_rate(double rate, int epoch, name schedule) {
  std::string const who(schedule.data, static_cast<std::size_t>(schedule.size));
  throw option_error(message({"learning_rate_schedule: ", who.empty() ? "its function" : who,
                              " must return a rate of at least 0 and less than 1e30; found ", rate, " for epoch ",
                              epoch + 1, "; correct the schedule, or give it the same number of epochs as fit"}));
}

}  // namespace dsl::detail::TYPENET_MODE

namespace dsl::TYPENET_MODE {

TYPENET_INLINE double poly_decay::operator()(int epoch) const {
  if (epochs < 1) detail::throw_error<option_error>({"poly_decay: epochs must be 1 or more; found ", epochs});
  if (epoch < 0 || epoch > epochs)
    throw option_error(detail::message({"poly_decay: it is set for ", detail::counted(epochs, "epoch"),
                                        "; found epoch ", epoch + 1, "; give it the same number of epochs as fit"}));
  return base * detail::pow(1.0 - static_cast<double>(epoch) / epochs, power);
}

}  // namespace dsl::TYPENET_MODE
