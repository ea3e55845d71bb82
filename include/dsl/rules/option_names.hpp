// SPDX-License-Identifier: MIT
#pragma once

#include <utility>

namespace dsl::broken {

/// The names of options: those of fit() in their order, those of compile(), those of callbacks, and those that only
/// other frameworks have.
enum class field {
  // clang-format off
  epochs, batch_size, validation, metrics, augment, callbacks, average, shuffle, prefetch, loader_threads, cache,
  initial_epoch,
  loss, losses, seed, batch_norm_momentum, unbiased_running_variance, label_smoothing, class_weights, loss_weights,
  verify,
  patience, min_delta, mode, baseline, restore_best_weights, start_from_epoch, verbose, save_best_only,
  save_weights_only, save_freq, initial_value_threshold, writer, written, out, delete_checkpoint, restore,
  class_weight, learning_rate, lr, optimizer, sample_weight, steps, steps_per_epoch, validation_data, validation_split
  // clang-format on
};

/// Lists options, for errors: compilers print this type if a name in braces is not among them.
template <field... Options>
struct has_only_these_options {
  has_only_these_options() = default;
  template <class... Found>
    requires(sizeof...(Found) > 0)
  has_only_these_options(Found const&...) {}  // NOLINT(google-explicit-constructor)
  template <int = 0>
  has_only_these_options(...) {}  // NOLINT(google-explicit-constructor,cert-dcl50-cpp): of a list with an error in it
};

/// Lists the options from First to Last.
template <field First, field Last, class Offsets = std::make_integer_sequence<int, int(Last) - int(First) + 1>>
struct options_between;
template <field First, field Last, int... Offsets>
struct options_between<First, Last, std::integer_sequence<int, Offsets...>> {
  using type = has_only_these_options<field{int(First) + Offsets}...>;
};

/// The options that there are.
namespace options_of {
using enum field;
using fit = options_between<epochs, initial_epoch>::type;
using compile = options_between<loss, verify>::type;
using early_stopping =
    has_only_these_options<patience, min_delta, mode, baseline, restore_best_weights, start_from_epoch, verbose>;
using model_checkpoint = has_only_these_options<save_best_only, save_weights_only, save_freq, mode,
                                                initial_value_threshold, writer, written, verbose, out>;
using backup_and_restore = has_only_these_options<save_freq, delete_checkpoint, restore, verbose, out>;
}  // namespace options_of

}  // namespace dsl::broken
