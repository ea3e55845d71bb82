// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/data/dataset.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/rules/broken_options.hpp>
#include <dsl/rules/broken_training.hpp>
#include <dsl/rules/broken_uses.hpp>
#include <dsl/rules/explain.hpp>
#include <dsl/training/batch_checks.hpp>
#include <dsl/training/evaluation.hpp>
#include <dsl/training/fit_options.hpp>
#include <dsl/training/option_diagnostics.hpp>

#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

// Which arguments the member functions of a trainer take. Overloads that take any other arguments report these.
namespace dsl::detail::TYPENET_MODE {

/// The options of fit() in braces, and options that users of other frameworks may expect.
template <bool Reports>
struct any_options<broken::options_of::fit, Reports> {
  template <broken::field Option, class Takes>
  using value = option_value<Reports, Option, Takes>;
  template <broken::field Option>
  using none =
      no_option<broken::fit_has_this_option<Option, typename in_braces<broken::options_of::fit>::names, !Reports>>;

  value<broken::field::epochs, decltype(fit_options::epochs)> epochs{};
  value<broken::field::batch_size, decltype(fit_options::batch_size)> batch_size{};
  none<broken::field::verbose> verbose{};
  none<broken::field::learning_rate> learning_rate{};
  none<broken::field::lr> lr{};
  none<broken::field::validation_data> validation_data{};
  none<broken::field::validation_split> validation_split{};
  value<broken::field::validation, decltype(fit_options::validation)> validation{};
  value<broken::field::metrics, decltype(fit_options::metrics)> metrics{};
  value<broken::field::augment, decltype(fit_options::augment)> augment{};
  value<broken::field::callbacks, decltype(fit_options::callbacks)> callbacks{};
  value<broken::field::average, decltype(fit_options::average)> average{};
  value<broken::field::shuffle, decltype(fit_options::shuffle)> shuffle{};
  value<broken::field::prefetch, decltype(fit_options::prefetch)> prefetch{};
  value<broken::field::loader_threads, decltype(fit_options::loader_threads)> loader_threads{};
  value<broken::field::cache, decltype(fit_options::cache)> cache{};
  none<broken::field::class_weight> class_weight{};
  none<broken::field::sample_weight> sample_weight{};
  value<broken::field::initial_epoch, decltype(fit_options::initial_epoch)> initial_epoch{};
  none<broken::field::steps_per_epoch> steps_per_epoch{};
  none<broken::field::steps> steps{};
};
using fit_in_braces = in_braces<broken::options_of::fit>::type;
/// Options in braces for a function without options.
using options_in_braces = in_braces<broken::options_of::fit, false>::type;

/// Whether fit() cannot be called with these arguments. Options in braces and options that are not given have the same
/// type; fit() itself, which is no template, is preferred if it takes the former.
template <class Data, class Options, class Third>
concept wrong_fit = !std::is_same_v<Third, fit_in_braces> || !std::is_convertible_v<Data const&, dataset const&> ||
                    (std::is_same_v<Options, fit_in_braces> ? std::is_same_v<Data, dataset>
                                                            : !std::is_convertible_v<Options const&, fit_options>);

/// Names the class with the error message for wrong arguments of fit(). Wrong options in braces report themselves.
template <class Data, class Options, class Third>
struct fit_diagnostic : rules::says<broken::fit_takes_data_and_options<false, Data, Options, Third>> {};
template <class Data, class Options>
struct fit_diagnostic<Data, Options, fit_in_braces>
    : rules::says<broken::fit_takes_data_and_options<false, Data, Options>> {};
template <class Data>
struct fit_diagnostic<Data, fit_in_braces, fit_in_braces>
    : rules::says<broken::fit_takes_data_and_options<false, Data>> {};
template <>
struct fit_diagnostic<dataset, fit_in_braces, fit_in_braces> : rules::says<rules::nothing> {};

/// The parameters of a trainer's functions, without the overloads that report wrong arguments.
struct trainer_functions {
  static void evaluate(dataset const&, int = 64, evaluation_observer* = nullptr);
  static void predict(dataset const&, int = 64);
  static void train_on_batch(std::span<float const>, std::span<std::int32_t const>);
  static void train_on_batch(std::span<float const>, std::span<float const>);
  static void train_on_batch(std::vector<batch_input> const&, std::span<std::int32_t const>);
  static void train_on_batch(std::vector<batch_input> const&, std::span<float const>);
  static void train_on_batch(std::vector<batch_input> const&, std::vector<batch_target> const&);
  static void train_on_batch(float const*, std::int32_t const*, int);
  static void train_on_batch(float const*, float const*, int);
  static void predict_on_batch(std::span<float const>, std::span<float>);
  static void predict_on_batch(std::vector<batch_input> const&, std::span<float>);
  static void predict_on_batch(float const*, int, float*);
};

/// Whether the functions can be called with these arguments. More than three of evaluate() are for the trainer itself.
template <class... Given>
concept evaluate_takes =
    sizeof...(Given) > 3 || requires(Given&&... given) { trainer_functions::evaluate(static_cast<Given&&>(given)...); };
template <class... Given>
concept predict_takes = requires(Given&&... given) { trainer_functions::predict(static_cast<Given&&>(given)...); };
template <class... Given>
concept train_on_batch_takes =
    requires(Given&&... given) { trainer_functions::train_on_batch(static_cast<Given&&>(given)...); };
template <class... Given>
concept predict_on_batch_takes =
    requires(Given&&... given) { trainer_functions::predict_on_batch(static_cast<Given&&>(given)...); };

}  // namespace dsl::detail::TYPENET_MODE
