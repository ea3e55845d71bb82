// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/math.hpp>
#include <dsl/detail/message.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/training/callback_state.hpp>
#include <dsl/training/weight_average.hpp>
#include <dsl/training/weights.hpp>

#include <cstddef>
#include <optional>
#include <vector>

namespace dsl::detail::TYPENET_MODE {

TYPENET_INLINE weight_averager::weight_averager(engine& e, std::optional<weight_average> const& o, int epochs)
    : engine_(e), options_(o.value_or(weight_average{})) {
  if (!o) return;
  if (o->start_from_epoch < 0 || o->start_from_epoch >= epochs)
    throw_error<option_error>({"average: start_from_epoch must be ",
                               epochs > 1 ? message({"0 to ", epochs - 1, ", counted from 0"}) : "0, the only epoch",
                               "; found ", o->start_from_epoch});
  if (o->every < 1) throw_error<option_error>({"average: .every must be 1 or more; found ", o->every});
  bool const keeps_some = o->momentum > 0 && o->momentum <= 1;
  if (!keeps_some)
    throw_error<option_error>(
        {"average: momentum must be above 0 and at most 1; found ", o->momentum, "; try 0.999, or 1"});
}

TYPENET_INLINE weight_averager::~weight_averager() {
  try {
    if (!kept_) hide();
  } catch (...) {  // NOLINT(bugprone-empty-catch): the device is lost, and with it both
  }
}

TYPENET_INLINE void weight_averager::after_step(int epoch, bool last) {
  if (epoch < options_.start_from_epoch) return;
  ++since_;
  if (is_empty() || since_ >= options_.every || last) take();
}

TYPENET_INLINE bool weight_averager::show() {
  if (is_empty() || shown_) return false;
  own_ = read_weights(engine_);
  shown_ = true;
  write_weights(engine_, average_);
  return true;
}

TYPENET_INLINE void weight_averager::hide() {
  if (shown_) write_weights(engine_, own_);
  shown_ = false;
}

TYPENET_INLINE void weight_averager::keep() {
  show();
  kept_ = true;
}

TYPENET_INLINE void weight_averager::state(callback_state& s) {
  s.same("start_from_epoch", message({options_.start_from_epoch}));
  s.same("momentum", message({options_.momentum}));
  s.same("every", message({options_.every}));
  if (!s.restores() && !shown_) own_ = read_weights(engine_);
  s("since", since_, 0, s.largest_count), s("taken", taken_, 1, s.largest_count), s("average", average_),
      s("own", own_);
  if (!s.restores()) return;
  s.need_count("average", average_.size(), count_weights(engine_));
  s.need_count("own", own_.size(), count_weights(engine_));
  write_weights(engine_, own_);
}

TYPENET_INLINE void weight_averager::take() {
  std::vector<float> const now = read_weights(engine_);
  ++taken_;
  double const faded = 1 - pow(options_.momentum, static_cast<double>(since_)), alike = 1 / static_cast<double>(taken_);
  auto const share = static_cast<float>(faded > alike ? faded : alike);
  if (is_empty()) average_ = now;
  for (std::size_t i = 0; i < now.size(); ++i) average_[i] += share * (now[i] - average_[i]);
  since_ = 0;
}

}  // namespace dsl::detail::TYPENET_MODE
