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
        {"normalization: it belongs to the weights and can change only while a single trainer or predictor uses them; "
         "found ",
         static_cast<long long>(shared.use_count() - 1),
         " that share them; destroy the others, or make them with copies: make_predictor<model>(executor, trainer)"});
  shared->normalization = std::move(n);
}

TYPENET_INLINE void engine::require_targets(mode m, per_output<target_kind> const& targets) const {
  if (m == mode::inference) return;
  int const outputs = output_count(graph_);
  if (!targets.is_shared() && targets.count != outputs)
    detail::throw_error<option_error>({"batch: there must be one kind of targets for each of the network's ", outputs,
                                       " outputs, or one for all of them; found ", targets.count});
  int k = 0;
  for (; k < outputs && takes(options_.loss[k], targets[k]); ++k)
    if (long long const each = targets_each(graph_, targets, k), shared = targets_each(graph_, targets, 0);
        targets.is_shared() && each != shared)
      detail::throw_error<option_error>({"batch: outputs that share their targets must have ", shared,
                                         " numbers, as many as the network's result; ", "found output ", k,
                                         ", which has ", each, "; give each output targets of its own"});
  if (k == outputs) return;
  constexpr char const* found[] = {" needs float targets; found one class per sample",
                                   " needs one class per sample; found float targets",
                                   " cannot be used with one class per pixel; only categorical_crossentropy can"};
  detail::throw_error<option_error>({"loss: ", detail::name_of_loss(options_.loss[k]),
                                     found[static_cast<int>(targets[k])],
                                     "; change the loss in compile() or the targets of the batch"});
}

TYPENET_INLINE void engine::require_parameter(int k) const {
  if (k < 0 || k >= graph_.size.parameters)
    detail::throw_error<option_error>({"engine: there must be a parameter ", k, "; found ",
                                       detail::counted(graph_.size.parameters, "parameter"), ", counted from 0"});
}

TYPENET_INLINE void engine::require_slot(int s, int k) const {
  require_parameter(k);
  if (s < 0 || s >= options_.update.slots() || !graph_.parameters[k].trainable())
    detail::throw_error<option_error>({"engine: parameter ", k, " has no optimizer slot ", s});
}

}  // namespace dsl::TYPENET_MODE
