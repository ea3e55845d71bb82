// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/data/dataset.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/rules/wrong_options.hpp>

#include <cstddef>
#include <initializer_list>
#include <type_traits>
#include <utility>
#include <vector>

// Types of options that also accept wrong values, only to report them: an option in braces is converted before fit() is
// chosen, and a compiler that finds no conversion would not name the option. The report is in the exception
// specification of a constructor, because compilers and editors look at it where the constructor is called. The body of
// a constructor comes later, and clangd skips it.
namespace dsl::detail::TYPENET_MODE {

/// The address of a data set, or null, for fit's option .validation.
class validation_data {
 public:
  validation_data(std::nullptr_t = nullptr) {}  // NOLINT(google-explicit-constructor): .validation = &test
  template <class Pointer>
    requires std::is_convertible_v<Pointer const&, dataset const*>
  validation_data(Pointer const& at) : at_(at) {}  // NOLINT(google-explicit-constructor)

  /// Reports that the option is given a value that is not an address, such as the data set itself.
  template <class Found>
    requires(!std::is_convertible_v<Found const&, dataset const*> && !std::is_same_v<Found, validation_data>)
  validation_data(Found const&)  // NOLINT(google-explicit-constructor)
      noexcept(sizeof(broken::validation_takes_a_pointer<broken::field::validation, Found, false>) != 0) {}
  /// Reports that the option is given several values, such as samples and labels.
  template <class First, class Second, class... Further>
  validation_data(First const&, Second const&, Further const&...) noexcept(
      sizeof(broken::validation_takes_a_pointer<broken::field::validation, First, false>) != 0) {}

  operator dataset const*() const { return at_; }  // NOLINT(google-explicit-constructor)
  dataset const* operator->() const { return at_; }

 private:
  dataset const* at_ = nullptr;
};

/// A list of callbacks or metrics, for the options of these names.
template <class Option, class Element>
class option_list : public std::vector<Element> {
 public:
  option_list() = default;
  option_list(std::initializer_list<Element> all) : std::vector<Element>(all) {}  // NOLINT(google-explicit-constructor)
  option_list(std::vector<Element> all)                                           // NOLINT(google-explicit-constructor)
      : std::vector<Element>(std::move(all)) {}

  /// Reports a value that is not in braces.
  template <class Found>
    requires(!std::is_convertible_v<Found const&, std::vector<Element> const&>)
  option_list(Found const&)  // NOLINT(google-explicit-constructor)
      noexcept(sizeof(broken::options_are_in_braces<Option, Found, false>) != 0) {}
};

}  // namespace dsl::detail::TYPENET_MODE
