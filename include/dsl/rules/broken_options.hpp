// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/rules/option_names.hpp>

// Errors about options in braces. training/option_diagnostics.hpp finds the member that is wrong.
namespace dsl::broken {

template <field Option, class Takes, class Found, bool Fits>
struct options_take_their_type {
  static_assert(Fits,
                "fit, compile: an option has a value of the wrong type; the error's template arguments are the option, "
                "the type that it "
                "takes, and the type found");
};

template <field Option, class Takes, int Values>
struct options_take_one_value {
  static_assert(
      Values == 1,
      "fit, compile: an option takes one value, not a list; the error's template arguments are the option, the type "
      "that it takes, and the number of values found; to combine augmentations, write .augment = in_order{...}");
};

template <field Option, class Found, bool Fits>
struct validation_takes_a_pointer {
  static_assert(Fits, "fit: .validation takes a pointer to a data set; write .validation = &test");
};

template <field Option, class Found, bool InBraces>
struct options_are_in_braces {
  static_assert(
      InBraces,
      "fit, compile: an option takes a list; write it in braces, as in .callbacks = {...}, even for one value");
};

template <field Option, class Options, bool Exists>
struct fit_has_this_option {
  static_assert(Exists,
                "fit: it does not have this option; the error's template arguments are the option, and those that fit "
                "has; validation data are .validation = &test, the learning rate belongs to the optimizer, class "
                "weights to compile(), weights of samples to the data set as in with_weights(data, weights), and "
                "printed progress to the callback progress_bar{}");
};

template <field Option, class Options, bool Exists>
struct compile_has_this_option {
  static_assert(Exists,
                "compile: it does not have this option; the error's template arguments are the option, and those that "
                "compile has; the optimizer, with its learning rate, is an argument before the options; epochs, "
                "batch_size and metrics are options of fit()");
};

}  // namespace dsl::broken
