// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/data/normalization.hpp>
#include <dsl/detail/message.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/error.hpp>
#include <dsl/executors/engine.hpp>
#include <dsl/executors/update_rule.hpp>
#include <dsl/plan/plan.hpp>

#include <memory>
#include <utility>

namespace dsl::TYPENET_MODE {

TYPENET_INLINE std::shared_ptr<dsl::normalization const> engine::normalization() {
  auto const shared = weights();
  return shared ? shared->normalization : normalization_;
}

TYPENET_INLINE void engine::set_normalization(std::shared_ptr<dsl::normalization const> n) {
  auto const shared = weights();
  if (!shared) {
    normalization_ = std::move(n);
    return;
  }
  if (n == shared->normalization || (n && shared->normalization && *n == *shared->normalization)) return;
  if (shared.use_count() > 2)  // this one and the engine's own
    detail::throw_error<option_error>(
        {"normalization: it belongs to the weights and can change only while one engine holds them; found ",
         static_cast<long long>(shared.use_count() - 1),
         " holders; destroy the predictors that share them, or give those a copy"});
  shared->normalization = std::move(n);
}

TYPENET_INLINE void engine::require_targets(mode m, target_kind targets) const {
  if (m == mode::inference || takes(options_.loss, targets)) return;
  constexpr char const* names[] = {"categorical_crossentropy", "mean_squared_error", "mean_absolute_error", "huber",
                                   "binary_crossentropy",      "a loss of your own"};
  constexpr char const* found[] = {" compares with values; found one class per sample",
                                   " compares with one class per sample; found values",
                                   " does not compare with one class per pixel, as categorical_crossentropy does"};
  detail::throw_error<option_error>({"loss: ", names[static_cast<int>(options_.loss)], found[static_cast<int>(targets)],
                                     "; change the loss in compile() or the targets of the batch"});
}

TYPENET_INLINE void engine::require_parameter(int k) const {
  if (k < 0 || k >= graph_.size.parameters)
    detail::throw_error<option_error>(
        {"engine: the parameter must be 0 to ", graph_.size.parameters - 1, "; found ", k});
}

TYPENET_INLINE void engine::require_slot(int s, int k) const {
  require_parameter(k);
  if (s < 0 || s >= options_.update.slots() || !graph_.parameters[k].trainable())
    detail::throw_error<option_error>({"engine: parameter ", k, " has no optimizer slot ", s});
}

}  // namespace dsl::TYPENET_MODE
