// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/rules/broken_options.hpp>
#include <dsl/rules/explain.hpp>

#include <initializer_list>
#include <type_traits>

// Types that stand for wrong options in braces. For such a list, a compiler would report only that it cannot be
// converted; here each member that is given reports whether it is wrong. The report is in the exception specification
// of a constructor, because compilers and editors look at it where the constructor is called. The body of a constructor
// comes later, and clangd skips it. A list with an error of its own, such as a callback with a wrong argument, fits
// only a constructor with an ellipsis. With such constructors, GCC does not also report that no function takes the
// list.
namespace dsl::detail::TYPENET_MODE {

/// Accepts any argument, and reports nothing.
struct anything {
  anything() = default;
  template <class... Found>
    requires(sizeof...(Found) > 0)
  anything(Found const&...) {}  // NOLINT(google-explicit-constructor)
  template <int = 0>
  anything(...) {}  // NOLINT(google-explicit-constructor,cert-dcl50-cpp)
};

/// The elements of an option that takes a list of values.
template <class Takes>
struct element_of {
  element_of() = delete;
  using type = element_of;
};
template <class Takes>
  requires requires { typename Takes::value_type; }
struct element_of<Takes> {
  using type = typename Takes::value_type;
};

template <class Takes>
inline constexpr bool is_list = !std::is_same_v<typename element_of<Takes>::type, element_of<Takes>>;

/// Chooses the class with the error message for a value of an option. Fits says that nothing is wrong.
template <bool Fits, broken::field Option, class Takes, class Found>
struct value_diagnostic : rules::says<broken::options_take_their_type<Option, Takes, Found, false>> {};
template <broken::field Option, class Takes, class Found>
  requires std::is_convertible_v<Found, typename element_of<Takes>::type>
struct value_diagnostic<false, Option, Takes, Found>
    : rules::says<broken::options_are_in_braces<Option, Found, false>> {};
template <class Takes, class Found>
struct value_diagnostic<false, broken::field::validation, Takes, Found>
    : rules::says<broken::validation_takes_a_pointer<broken::field::validation, Found, false>> {};
template <broken::field Option, class Takes, class Found>
struct value_diagnostic<true, Option, Takes, Found> : rules::says<anything> {};

/// Stands for an option that exists. Reports a value of a wrong type, and a list where there must be one value.
template <bool Reports, broken::field Option, class Takes>
struct option_value {
  template <class Found>
  using diagnostic =
      typename value_diagnostic<!Reports || std::is_convertible_v<Found, Takes>, Option, Takes, Found>::type;

  option_value() = default;
  option_value(std::initializer_list<typename element_of<Takes>::type>) {}  // NOLINT(google-explicit-constructor)
  template <class Found>
  option_value(Found const&)  // NOLINT(google-explicit-constructor): like all here, it stands for any conversion
      noexcept(sizeof(diagnostic<Found>) != 0) {}
  template <class... Found>
    requires(sizeof...(Found) > 1)
  option_value(Found const&...)  // NOLINT(google-explicit-constructor)
      noexcept(sizeof(broken::options_take_one_value < Option, Takes,
                      Reports && !is_list<Takes> ? int{sizeof...(Found)} : 1 >) != 0) {}
  template <int = 0>
  option_value(...) {}  // NOLINT(google-explicit-constructor,cert-dcl50-cpp): of a list with an error in it
};

/// Stands for an option that does not exist. Broken is the class with the error message.
template <class Broken>
struct no_option {
  no_option() = default;
  template <class... Found>
    requires(sizeof...(Found) > 0)
  no_option(Found const&...)  // NOLINT(google-explicit-constructor)
      noexcept(sizeof(std::conditional_t<sizeof...(Found) == 0, anything, Broken>) != 0) {}
  template <int = 0>
  no_option(...) {}  // NOLINT(google-explicit-constructor,cert-dcl50-cpp)
};

/// The type of options in braces after arguments that do not tell their type. Names is one of the lists in
/// broken::options_of. Each member reports errors if Reports is true.
template <class Names, bool Reports>
struct any_options;

/// Names this type and the list without the list's alias, so that compilers print the options.
template <class Names, bool Reports = true>
struct in_braces;
template <broken::field... Names, bool Reports>
struct in_braces<broken::has_only_these_options<Names...>, Reports> {
  using names = broken::has_only_these_options<Names...>;
  using type = any_options<names, Reports>;
};

}  // namespace dsl::detail::TYPENET_MODE
