// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/data/dataset.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/training/batch_checks.hpp>
#include <dsl/training/evaluation.hpp>
#include <dsl/training/fit_options.hpp>

#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

// Which arguments the member functions of a trainer take. Overloads that take any other arguments report these.
namespace dsl::detail::TYPENET_MODE {

template <class Given, class... Takes>
concept one_of_them = (std::is_convertible_v<Given, Takes> || ...);

/// Whether fit() can be called with these arguments.
template <class... Given>
inline constexpr bool fit_takes = false;
template <class Data>
inline constexpr bool fit_takes<Data> = std::is_convertible_v<Data const&, dataset const&>;
template <class Data, class Options>
inline constexpr bool fit_takes<Data, Options> =
    std::is_convertible_v<Data const&, dataset const&> && std::is_convertible_v<Options const&, fit_options const&>;

/// Whether evaluate() can be called with these arguments. More than three are for the trainer itself.
template <class... Given>
inline constexpr bool evaluate_takes = sizeof...(Given) > 3;
template <class Data>
inline constexpr bool evaluate_takes<Data> = one_of_them<Data, dataset const&>;
template <class Data, class Size>
inline constexpr bool evaluate_takes<Data, Size> = one_of_them<Data, dataset const&> && one_of_them<Size, int>;
template <class Data, class Size, class Seen>
inline constexpr bool evaluate_takes<Data, Size, Seen> =
    evaluate_takes<Data, Size> && one_of_them<Seen, evaluation_observer*>;

/// Whether predict() can be called with these arguments.
template <class... Given>
inline constexpr bool predict_takes = sizeof...(Given) < 3 && evaluate_takes<Given...>;

/// Whether train_on_batch() can be called with these arguments.
template <class... Given>
inline constexpr bool train_on_batch_takes = false;
template <class Samples, class Targets>
inline constexpr bool train_on_batch_takes<Samples, Targets> =
    one_of_them<Samples, std::span<float const>, std::vector<batch_input> const&> &&
    one_of_them<Targets, std::span<std::int32_t const>, std::span<float const>, std::vector<batch_target> const&>;
template <class Samples, class Targets, class Size>
inline constexpr bool train_on_batch_takes<Samples, Targets, Size> =
    one_of_them<Samples, float const*> && one_of_them<Targets, std::int32_t const*, float const*> &&
    one_of_them<Size, int>;

/// Whether predict_on_batch() can be called with these arguments.
template <class... Given>
inline constexpr bool predict_on_batch_takes = false;
template <class Samples, class Outputs>
inline constexpr bool predict_on_batch_takes<Samples, Outputs> =
    one_of_them<Samples, std::span<float const>, std::vector<batch_input> const&> &&
    one_of_them<Outputs, std::span<float>>;
template <class Samples, class Size, class Outputs>
inline constexpr bool predict_on_batch_takes<Samples, Size, Outputs> =
    one_of_them<Samples, float const*> && one_of_them<Size, int> && one_of_them<Outputs, float*>;

}  // namespace dsl::detail::TYPENET_MODE
