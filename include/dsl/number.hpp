// SPDX-License-Identifier: MIT
#pragma once

namespace dsl {

/// A real number as a template argument: batch_norm<0.9>, dropout<0.5>. It is a class because Clang before 18, and thus
/// the clangd of many editors, rejects template parameters of type double.
struct number {
  double value = 0;

  constexpr number(double x) : value(x) {}             // NOLINT(google-explicit-constructor): batch_norm<0.9>
  constexpr operator double() const { return value; }  // NOLINT(google-explicit-constructor)
};

namespace detail {

/// Returns the template argument at a position, or the default if fewer are given. Layers take such arguments as a pack
/// because compilers print a pack as it was written, batch_norm<>, but fill in default arguments:
/// batch_norm<0.99, 0.001>.
template <number... Given>
constexpr double number_at(int position, double otherwise) {
  double const all[] = {Given.value..., 0};
  return position < static_cast<int>(sizeof...(Given)) ? all[position] : otherwise;
}

}  // namespace detail
}  // namespace dsl
