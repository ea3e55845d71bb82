// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/engine.hpp>
#include <dsl/rules/broken_uses.hpp>
#include <dsl/rules/wrong_options.hpp>
#include <dsl/training/any_loss.hpp>
#include <dsl/training/fit_options.hpp>
#include <dsl/training/loss_of_output.hpp>
#include <dsl/training/optimizers.hpp>
#include <dsl/training/output_weight.hpp>

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <type_traits>
#include <vector>

// Overloads of fit() and compile() accept these types if the options don't fit. For a braced list, a compiler would
// report only that it cannot be converted; here each member that is given reports whether it is wrong. A list with an
// error in it, such as a callback with a wrong argument, fits only a constructor with an ellipsis. With such
// constructors, GCC does not also report that no fit() takes the list.
namespace dsl::detail::TYPENET_MODE {

// GCC prints the names of these types if an option's name is wrong.
using fit_has_only =
    broken::has_only_these_options<broken::field::epochs, broken::field::batch_size, broken::field::validation,
                                   broken::field::metrics, broken::field::augment, broken::field::callbacks,
                                   broken::field::average, broken::field::shuffle, broken::field::prefetch,
                                   broken::field::loader_threads, broken::field::cache, broken::field::initial_epoch>;
using compile_has_only =
    broken::has_only_these_options<broken::field::loss, broken::field::losses, broken::field::seed,
                                   broken::field::batch_norm_momentum, broken::field::unbiased_running_variance,
                                   broken::field::label_smoothing, broken::field::class_weights,
                                   broken::field::loss_weights, broken::field::verify>;
using compile_takes_an_optimizer_first = broken::has_only_these_options<broken::compile_takes_the_optimizer_first>;

template <class Takes, class Found>
inline constexpr bool fits = std::is_convertible_v<Found, Takes>;
template <class Number, class Found>
inline constexpr bool fits<std::vector<Number>, Found> =
    std::is_convertible_v<Found, Number> || std::is_convertible_v<Found, std::vector<Number>>;

/// Whether an option can take a list of several values.
template <class Takes>
inline constexpr bool is_list = false;
template <class Number>
inline constexpr bool is_list<std::vector<Number>> = true;

/// Accepts any argument, and reports nothing.
struct anything {
  anything() = default;
  template <class... Found>
    requires(sizeof...(Found) > 0)
  anything(Found const&...) {}  // NOLINT(google-explicit-constructor)
  template <int = 0>
  anything(...) {}  // NOLINT(google-explicit-constructor,cert-dcl50-cpp)
};

/// Accepts any value of an option, and reports a value of a wrong type, and a list where there must be one value.
template <class Option, class Takes>
struct any_value {
  any_value() = default;
  template <class... Found>
    requires(sizeof...(Found) == 1 || (sizeof...(Found) > 1 && is_list<Takes>))
  any_value(Found const&...)  // NOLINT(google-explicit-constructor): like all below, it stands for any conversion
      noexcept(((sizeof(broken::options_take_their_type<Option, Takes, Found, fits<Takes, Found>>) != 0) && ...)) {}
  template <class... Found>
    requires(sizeof...(Found) > 1 && !is_list<Takes>)
  any_value(Found const&...)  // NOLINT(google-explicit-constructor)
      noexcept(sizeof(broken::options_take_one_value<Option, Takes, static_cast<int>(sizeof...(Found))>) != 0) {}
  template <int = 0>
  any_value(...) {}  // NOLINT(google-explicit-constructor,cert-dcl50-cpp): of a list with an error in it
};
struct any_validation {
  any_validation() = default;
  template <class Found>
  any_validation(Found const&)  // NOLINT(google-explicit-constructor)
      noexcept(
          sizeof(broken::validation_takes_a_pointer<broken::field::validation, Found, fits<dataset const*, Found>>) !=
          0) {}
  template <int = 0>
  any_validation(...) {}  // NOLINT(google-explicit-constructor,cert-dcl50-cpp)
};
struct any_callbacks {
  any_callbacks() = default;
  any_callbacks(std::initializer_list<callback_handle>) {}  // NOLINT(google-explicit-constructor)
  template <class Found>
  any_callbacks(Found const&)  // NOLINT(google-explicit-constructor)
      noexcept(sizeof(broken::options_are_in_braces<broken::field::callbacks, Found,
                                                    std::derived_from<Found, std::vector<callback_handle>>>) != 0) {}
  template <int = 0>
  any_callbacks(...) {}  // NOLINT(google-explicit-constructor,cert-dcl50-cpp)
};
template <class Option>
struct not_of_fit {
  not_of_fit() = default;
  template <class Found>
  not_of_fit(Found const&)  // NOLINT(google-explicit-constructor)
      noexcept(sizeof(broken::fit_has_this_option<Option, sizeof(Found) == 0>) != 0) {}
};
template <class Option>
struct not_of_compile {
  not_of_compile() = default;
  template <class... Found>
    requires(sizeof...(Found) > 0)
  not_of_compile(Found const&...)  // NOLINT(google-explicit-constructor)
      noexcept(sizeof(broken::compile_has_this_option<Option, sizeof...(Found) == 0>) != 0) {}
};

/// The options of fit(), and options that users of other frameworks may expect.
struct any_fit_options {
  any_value<broken::field::epochs, int> epochs{};
  any_value<broken::field::batch_size, int> batch_size{};
  not_of_fit<broken::field::verbose> verbose{};
  not_of_fit<broken::field::learning_rate> learning_rate{};
  not_of_fit<broken::field::lr> lr{};
  not_of_fit<broken::field::validation_data> validation_data{};
  not_of_fit<broken::field::validation_split> validation_split{};
  any_validation validation{};
  any_value<broken::field::metrics, std::vector<metric_handle>> metrics{};
  any_value<broken::field::augment, augmentation> augment{};
  any_callbacks callbacks{};
  any_value<broken::field::average, std::optional<weight_average>> average{};
  any_value<broken::field::shuffle, bool> shuffle{};
  any_value<broken::field::prefetch, int> prefetch{};
  any_value<broken::field::loader_threads, int> loader_threads{};
  any_value<broken::field::cache, bool> cache{};
  not_of_fit<broken::field::class_weight> class_weight{};
  not_of_fit<broken::field::sample_weight> sample_weight{};
  any_value<broken::field::initial_epoch, int> initial_epoch{};
  not_of_fit<broken::field::steps_per_epoch> steps_per_epoch{};
};

/// A loss of the library, or a loss that you have defined.
struct any_loss_option {
  any_loss_option() = default;
  template <class Found>
  any_loss_option(Found const&)  // NOLINT(google-explicit-constructor)
      noexcept(sizeof(broken::options_take_their_type<broken::field::loss, dsl::loss, Found, fits<any_loss, Found>>) !=
               0) {}
};

/// The weights of the outputs' losses, written in a separate pair of braces inside the options.
struct any_loss_weights : any_value<broken::field::loss_weights, std::vector<output_weight>> {
  using any_value::any_value;
  any_loss_weights(std::initializer_list<output_weight>) {}  // NOLINT(google-explicit-constructor)
};

/// The losses of outputs, written in a separate pair of braces inside the options.
struct any_losses : any_value<broken::field::losses, std::vector<loss_of_output>> {
  using any_value::any_value;
  any_losses(std::initializer_list<loss_of_output>) {}  // NOLINT(google-explicit-constructor)
};

/// The options of compile(), and options that users of other frameworks may expect.
struct any_compile_options {
  not_of_compile<broken::field::optimizer> optimizer{};
  not_of_compile<broken::field::lr> lr{};
  not_of_compile<broken::field::learning_rate> learning_rate{};
  not_of_compile<broken::field::epochs> epochs{};
  not_of_compile<broken::field::batch_size> batch_size{};
  any_loss_option loss{};
  any_losses losses{};
  not_of_compile<broken::field::metrics> metrics{};
  any_value<broken::field::seed, std::uint64_t> seed{};
  any_value<broken::field::batch_norm_momentum, double> batch_norm_momentum{};
  any_value<broken::field::unbiased_running_variance, bool> unbiased_running_variance{};
  any_value<broken::field::label_smoothing, double> label_smoothing{};
  not_of_compile<broken::field::class_weight> class_weight{};
  any_value<broken::field::class_weights, std::vector<float>> class_weights{};
  any_loss_weights loss_weights{};
  any_value<broken::field::verify, plan_checker> verify{};
};

/// The names of options without their values, for calls that lack the optimizer or take no options.
struct options_in_braces {
  anything optimizer{}, lr{}, learning_rate{}, epochs{}, batch_size{}, verbose{}, steps{}, callbacks{};
  anything loss{}, losses{}, metrics{}, seed{};
  anything batch_norm_momentum{}, unbiased_running_variance{}, label_smoothing{}, class_weight{}, class_weights{};
  anything loss_weights{}, verify{};
};

/// Types to which any argument before the options can be converted. Because this needs a conversion, an overload with
/// the right options is preferred.
struct any_executor {
  template <class Found>
  any_executor(Found const&)  // NOLINT(google-explicit-constructor)
      noexcept(sizeof(broken::compile_takes_an_executor<Found, executor<Found>>) != 0) {}
};
struct any_optimizer {
  template <class Found>
  any_optimizer(Found const&)  // NOLINT(google-explicit-constructor)
      noexcept(sizeof(broken::compile_takes_an_optimizer<Found, optimizer<Found>>) != 0) {}
};

}  // namespace dsl::detail::TYPENET_MODE
