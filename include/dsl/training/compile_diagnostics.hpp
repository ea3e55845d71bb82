// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/engine.hpp>
#include <dsl/network.hpp>
#include <dsl/rules/broken.hpp>
#include <dsl/rules/broken_options.hpp>
#include <dsl/rules/broken_uses.hpp>
#include <dsl/rules/explain.hpp>
#include <dsl/rules/lowering.hpp>
#include <dsl/training/compile_options.hpp>
#include <dsl/training/loss_check.hpp>
#include <dsl/training/option_diagnostics.hpp>
#include <dsl/training/optimizers.hpp>

#include <type_traits>

// What compile() takes, and which class has the error message for anything else.
namespace dsl::detail::TYPENET_MODE {

/// The options of compile() in braces, and options that users of other frameworks may expect.
template <bool Reports>
struct any_options<broken::options_of::compile, Reports> {
  template <broken::field Option, class Takes>
  using value = option_value<Reports, Option, Takes>;
  template <broken::field Option>
  using none = no_option<
      broken::compile_has_this_option<Option, typename in_braces<broken::options_of::compile>::names, !Reports>>;

  none<broken::field::optimizer> optimizer{};
  none<broken::field::lr> lr{};
  none<broken::field::learning_rate> learning_rate{};
  none<broken::field::epochs> epochs{};
  none<broken::field::batch_size> batch_size{};
  value<broken::field::loss, decltype(compile_options::loss)> loss{};
  value<broken::field::losses, decltype(compile_options::losses)> losses{};
  none<broken::field::metrics> metrics{};
  value<broken::field::seed, decltype(compile_options::seed)> seed{};
  value<broken::field::batch_norm_momentum, decltype(compile_options::batch_norm_momentum)> batch_norm_momentum{};
  value<broken::field::unbiased_running_variance, decltype(compile_options::unbiased_running_variance)>
      unbiased_running_variance{};
  value<broken::field::label_smoothing, decltype(compile_options::label_smoothing)> label_smoothing{};
  none<broken::field::class_weight> class_weight{};
  value<broken::field::class_weights, decltype(compile_options::class_weights)> class_weights{};
  value<broken::field::loss_weights, decltype(compile_options::loss_weights)> loss_weights{};
  value<broken::field::verify, decltype(compile_options::verify)> verify{};
};

/// Whether a type is dsl::towers, which <dsl/towers.hpp> declares.
template <class T>
inline constexpr bool is_towers = false;

/// Whether compile() takes these arguments.
template <class... Given>
inline constexpr bool compile_takes = false;
template <optimizer Optimizer>
inline constexpr bool compile_takes<Optimizer> = true;
template <optimizer Optimizer, class Second>
inline constexpr bool compile_takes<Optimizer, Second> = is_towers<Second> || std::is_same_v<Second, compile_options>;
template <optimizer Optimizer, class Towers>
inline constexpr bool compile_takes<Optimizer, Towers, compile_options> = is_towers<Towers>;
template <executor Executor, optimizer Optimizer, class... Rest>
inline constexpr bool compile_takes<Executor, Optimizer, Rest...> = compile_takes<Optimizer, Rest...>;

/// The type of options in braces that are not right, or stand behind the wrong arguments Before.
template <class... Before>
using compile_in_braces =
    typename in_braces<broken::options_of::compile, compile_takes<Before..., compile_options>>::type;

/// Names an argument in an error.
template <class Given>
struct as_given : rules::says<Given> {};
template <bool Reports>
struct as_given<any_options<broken::options_of::compile, Reports>> : rules::says<broken::nothing_or_options> {};

/// Returns the class with the error message for the first wrong argument.
template <class First, class Second = broken::nothing, class Third = broken::nothing, class... Rest>
constexpr auto wrong_argument() {
  using second = typename as_given<Second>::type;
  if constexpr (optimizer<First> && executor<Second>)
    return rules::says<broken::compile_takes_the_executor_first<First, Second, false>>{};
  else if constexpr (optimizer<First>)
    return rules::says<broken::compile_takes_options<std::conditional_t<is_towers<Second>, Third, Second>, false>>{};
  else if constexpr (executor<First> && optimizer<Second>)
    return wrong_argument<Second, Third, Rest...>();
  else if constexpr (executor<First>)
    return rules::says<broken::compile_takes_an_optimizer<second, false>>{};
  else if constexpr (std::is_same_v<First, compile_in_braces<>>)
    return rules::says<broken::compile_takes_an_optimizer<typename as_given<First>::type, false>>{};
  else
    return rules::says<broken::compile_takes_an_executor<First, false>>{};
}

/// Returns the output for which the default loss, cross-entropy, does not suit; -1 if there is none.
template <class Network>
constexpr int unsuitable_output() {
  if constexpr (Network::is_sound) return first_unsuitable(Network::view(), loss::categorical_crossentropy);
  return -1;
}
/// Names the class with the error message if the default loss does not suit the network.
template <class Network, int Output = unsuitable_output<Network>()>
struct loss_diagnostic
    : rules::says<broken::crossentropy_takes_probabilities<Network, last_of(Network::view(), Output).kind, false>> {};
template <class Network>
struct loss_diagnostic<Network, -1> : rules::says<rules::nothing> {};

/// Names the class with the error message for a call of compile(). Wrong options in braces report themselves. For an
/// argument with an error of its own, nvcc would report a second error.
template <class Network, class... Given>
constexpr auto wrong_call() {
  if constexpr (!is_network<Network>)
    return rules::says<broken::compile_takes_a_network<Network, false>>{};
  else if constexpr (!std::is_same_v<typename network_diagnostic<Network>::type, rules::nothing>)
    return network_diagnostic<Network>{};
  else if constexpr (compile_takes<Given..., compile_options>)  // no options are given
    return loss_diagnostic<Network>{};
  else if constexpr (compile_takes<Given...> || !(is_known<Given> && ...) ||
                     (std::is_same_v<Given, typename in_braces<broken::options_of::compile>::type> || ...))
    return rules::says<rules::nothing>{};
  else
    return wrong_argument<Given...>();
}
template <class Network, class... Given>
using compile_diagnostic = typename decltype(wrong_call<Network, Given...>())::type;

}  // namespace dsl::detail::TYPENET_MODE
