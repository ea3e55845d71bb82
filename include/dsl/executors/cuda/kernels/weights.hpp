// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/cuda/kernels/spec.hpp>
#include <dsl/executors/engine.hpp>
#include <dsl/executors/host/squares.hpp>

/// Specs of kernels/weights.cuh.
namespace dsl::cu::kernels::TYPENET_MODE {

struct update_options {
  bool copies = false;  // new weights are also written to a working copy in T
  bool staged = false;  // some gradients are read from a staging arena in T
  int advance = 0;      // the number that is added to step_state::position
};

/// The numbers of a rule that factors of a part of the network multiply, for one step. The struct is the same as in
/// weights.cuh.
struct part_rates {
  float learning_rate = 0;  // as in step_state
  float shrink = 0;
  float decay = 0;  // weight decay that is added to gradients
};
static_assert(sizeof(part_rates) == 12);

/// Applies the optimizer to flat arenas of `count` numbers, with the same bits as host::update, then increments
/// step_state::step. All arenas have the same offsets; slots are stored one after the other. stage_map has a byte for
/// every 16 numbers, which is not 0 if their gradient is in `stage`. These pointers are null: `slots` if the rule has
/// none, `scale` if the rule clips no norm, and copy, stage and stage_map unless the options ask for them.
inline auto update(storage t, update_rule const& rule, long long count, update_options const& o)
    -> kernel_spec<float*, float const*, float*, element*, element const*, unsigned char const*, float const*,
                   step_state*> {
  int const lanes = count % 4 == 0 ? 4 : 1;
  auto const number = [](double x) { return static_cast<float>(x); };
  return detail::pointwise("update", t, count / lanes, detail::checked_count("update", count), lanes,
                           static_cast<int>(rule.method), rule.slots(), rule.nesterov, rule.rate_in_velocity,
                           rule.where == epsilon_place::in_root, rule.centered, rule.decoupled, number(rule.momentum),
                           number(rule.decoupled ? 0 : rule.weight_decay), number(rule.first_decay),
                           number(1 - rule.first_decay), number(rule.second_decay), number(1 - rule.second_decay),
                           number(rule.clip.value), rule.clip.norm > 0, o.copies, o.staged, o.advance);
}
/// Does the same for a network whose parts have factors. part_of has the number of a part for every 16 numbers, and
/// `rates` the numbers of each part, which are used instead of those of the rule and of step_state.
inline auto update_by_parts(storage t, update_rule const& rule, long long count, update_options const& o)
    -> kernel_spec<float*, float const*, float*, element*, element const*, unsigned char const*, float const*,
                   step_state*, int const*, part_rates const*> {
  any_kernel s = update(t, rule, count, o);
  s.function = "update_by_parts";
  return s;
}
/// Computes the factor by which update() scales gradients, so that their norm is at most rule.clip.norm.
inline auto measure(storage t, update_rule const& rule, long long count, bool staged)
    -> meeting_spec<double, float const*, element const*, unsigned char const*, float*> {
  any_kernel s{.function = "measure", .storage = t};
  s.constants = detail::constants_of(detail::checked_count("measure", count), staged,
                                     static_cast<float>(rule.clip.norm), static_cast<float>(rule.clip.norm_epsilon));
  s.threads = host::square_lanes;
  s.blocks_x = static_cast<unsigned>(host::square_chunks(count));
  s.scratch_bytes = 8LL * s.blocks_x;
  s.counters = 1;
  return s;
}

/// Folds a batch_norm with running moments into the convolution before it, for inference: computes the kernel and the
/// bias. inner: the size of one filter, height * width * in. bias may be null.
inline auto fold_batch_norm(storage t, int out_channels, int inner, double epsilon)
    -> kernel_spec<float const*, float const*, float const*, float const*, float const*, float const*, element*,
                   float*> {
  return detail::pointwise("fold_batch_norm", t, 1LL * out_channels * inner, out_channels, inner,
                           static_cast<float>(epsilon));
}

}  // namespace dsl::cu::kernels::TYPENET_MODE
