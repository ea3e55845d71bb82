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

/// Accepts any value of an option, and reports a value of a wrong type, and a list where there must be one value.
template <class Option, class Takes>
struct any_value {
  any_value() = default;
  template <class... Found>
    requires(sizeof...(Found) > 0)
  any_value(Found const&...) {  // NOLINT(google-explicit-constructor): like all below, it stands for any conversion
    if constexpr (sizeof...(Found) == 1 || is_list<Takes>)
      (static_cast<void>(sizeof(broken::options_take_their_type<Option, Takes, Found, fits<Takes, Found>>)), ...);
    else
      static_cast<void>(sizeof(broken::options_take_one_value<Option, Takes, static_cast<int>(sizeof...(Found))>));
  }
  template <int = 0>
  any_value(...) {}  // NOLINT(google-explicit-constructor,cert-dcl50-cpp): of a list with an error in it
};
struct any_validation {
  any_validation() = default;
  template <class Found>
  any_validation(Found const&) {  // NOLINT(google-explicit-constructor)
    static_cast<void>(
        sizeof(broken::validation_takes_a_pointer<broken::field::validation, Found, fits<dataset const*, Found>>));
  }
  template <int = 0>
  any_validation(...) {}  // NOLINT(google-explicit-constructor,cert-dcl50-cpp)
};
struct any_callbacks {
  any_callbacks() = default;
  any_callbacks(std::initializer_list<callback_handle>) {}  // NOLINT(google-explicit-constructor)
  template <class Found>
  any_callbacks(Found const&) {  // NOLINT(google-explicit-constructor)
    static_cast<void>(
        sizeof(broken::callbacks_are_in_braces<Found, std::same_as<Found, std::vector<callback_handle>>>));
  }
  template <int = 0>
  any_callbacks(...) {}  // NOLINT(google-explicit-constructor,cert-dcl50-cpp)
};
template <class Option>
struct not_of_fit {
  not_of_fit() = default;
  template <class Found>
  not_of_fit(Found const&) {  // NOLINT(google-explicit-constructor)
    static_cast<void>(sizeof(broken::fit_has_this_option < Option, sizeof(Found) == 0 >));
  }
};
template <class Option>
struct not_of_compile {
  not_of_compile() = default;
  template <class... Found>
    requires(sizeof...(Found) > 0)
  not_of_compile(Found const&...) {  // NOLINT(google-explicit-constructor)
    static_cast<void>(sizeof(broken::compile_has_this_option < Option, sizeof...(Found) == 0 >));
  }
};

/// Whether fit() can be called with these arguments.
template <class... Given>
inline constexpr bool fit_takes = false;
template <class Data>
inline constexpr bool fit_takes<Data> = std::is_convertible_v<Data const&, dataset const&>;
template <class Data, class Options>
inline constexpr bool fit_takes<Data, Options> =
    std::is_convertible_v<Data const&, dataset const&> && std::is_convertible_v<Options const&, fit_options const&>;

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
  any_loss_option(Found const&) {  // NOLINT(google-explicit-constructor)
    static_cast<void>(
        sizeof(broken::options_take_their_type<broken::field::loss, dsl::loss, Found, fits<any_loss, Found>>));
  }
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

/// Any argument before the options can be converted to these types. Because this needs a conversion, an overload with
/// the right options is preferred.
struct any_executor {
  template <class Found>
  any_executor(Found const&) {  // NOLINT(google-explicit-constructor)
    static_cast<void>(sizeof(broken::compile_takes_an_executor<Found, executor<Found>>));
  }
};
struct any_optimizer {
  template <class Found>
  any_optimizer(Found const&) {  // NOLINT(google-explicit-constructor)
    static_cast<void>(sizeof(broken::compile_takes_an_optimizer<Found, optimizer<Found>>));
  }
};

}  // namespace dsl::detail::TYPENET_MODE
