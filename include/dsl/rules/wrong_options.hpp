// SPDX-License-Identifier: MIT
#pragma once

// Sentences about a braced list that does not fit the options of fit() or compile(). training/any_options.hpp finds the
// member that is wrong.
namespace dsl::broken {

/// The names of options, including some that only other frameworks have.
namespace field {
struct epochs;
struct batch_size;
struct verbose;
struct learning_rate;
struct lr;
struct validation_data;
struct validation_split;
struct validation;
struct augment;
struct callbacks;
struct average;
struct shuffle;
struct prefetch;
struct loader_threads;
struct cache;
struct initial_epoch;
struct steps_per_epoch;
struct class_weight;
struct sample_weight;
struct optimizer;
struct loss;
struct metrics;
struct losses;
struct loss_weights;
struct seed;
struct batch_norm_momentum;
struct unbiased_running_variance;
struct label_smoothing;
struct class_weights;
struct verify;
struct patience;
struct min_delta;
struct mode;
struct baseline;
struct restore_best_weights;
struct start_from_epoch;
struct save_best_only;
struct save_weights_only;
struct save_freq;
struct initial_value_threshold;
struct writer;
struct written;
struct out;
struct delete_checkpoint;
struct restore;
}  // namespace field

/// Stands for an option in braces whose name is wrong. GCC prints the options that there are, in their order.
template <class... Options>
struct has_only_these_options {
  has_only_these_options() = default;
  template <class... Found>
    requires(sizeof...(Found) > 0)
  has_only_these_options(Found const&...) {}  // NOLINT(google-explicit-constructor)
  template <int = 0>
  has_only_these_options(...) {}  // NOLINT(google-explicit-constructor,cert-dcl50-cpp): of a list with an error in it
};
/// Stands in the place of an option's name if options are given before the optimizer.
struct compile_takes_the_optimizer_first;

template <class Option, class Takes, class Found, bool Fits>
struct options_take_their_type {
  static_assert(Fits,
                "fit, compile: an option has a value of the wrong type; the error's template arguments are the option, "
                "the type that it "
                "takes, and the type found");
};

template <class Option, class Takes, int Values>
struct options_take_one_value {
  static_assert(
      Values == 1,
      "fit, compile: an option takes one value, not a list; the error's template arguments are the option, the type "
      "that it takes, and the number of values found; to combine augmentations, write .augment = in_order{...}");
};

template <class Option, class Found, bool Fits>
struct validation_takes_a_pointer {
  static_assert(Fits, "fit: .validation takes a pointer to a data set; write .validation = &test");
};

template <class Option, class Found, bool InBraces>
struct options_are_in_braces {
  static_assert(InBraces,
                "fit: an option takes a list; write .callbacks = {...} or .metrics = {...}, even for one value");
};

template <class Option, bool Exists>
struct fit_has_this_option {
  static_assert(
      Exists,
      "fit: it does not have this option; it has epochs, batch_size, validation, metrics, augment, callbacks, average, "
      "shuffle, prefetch, loader_threads, cache and initial_epoch; validation data are .validation = &test, the "
      "learning rate belongs to the optimizer, class weights to compile(), weights of samples to the data set as in "
      "with_weights(data, weights), and printed progress to the callback progress_bar{}");
};

template <class Option, bool Exists>
struct compile_has_this_option {
  static_assert(
      Exists,
      "compile: it does not have this option; it has loss, losses, seed, batch_norm_momentum, "
      "unbiased_running_variance, label_smoothing, class_weights, loss_weights and verify; the optimizer, with its "
      "learning rate, is an argument before the options; epochs, batch_size and metrics are options of fit()");
};

}  // namespace dsl::broken
