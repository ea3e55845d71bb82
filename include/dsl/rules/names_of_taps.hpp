// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/combinators/tap.hpp>
#include <dsl/rules/lowering.hpp>

// The taps of a network as types, for the error about a from<...> without its tap. They are found by lowering the
// network again, once for each tap: only a broken network pays for this.
namespace dsl::rules {

template <class J>
constexpr void lower_again(builder& b) {
  detail::lower_layers<typename J::layers>(b, detail::lower_input<typename J::input>(b));
}

/// The number of taps of a network.
template <class J>
inline constexpr int tap_count = [] {
  builder b;
  lower_again<J>(b);
  return b.taps();
}();

template <class J, int Number>
inline constexpr int tap_name_size = [] {
  builder b;
  lower_again<J>(b);
  return b.tap_name(Number).size;
}();

/// The name of tap number Number, in the order in which the taps run.
template <class J, int Number>
inline constexpr auto tap_label = [] {
  builder b;
  lower_again<J>(b);
  char text[tap_name_size<J, Number> + 1]{};
  for (int i = 0; i < tap_name_size<J, Number>; ++i) text[i] = b.tap_name(Number).data[i];
  return label<tap_name_size<J, Number> + 1>(text);
}();

/// Taps First to End - 1: types<tap<"a">, tap<"b">>.
template <class J, long long First, long long End, class... Found>
struct names_of_taps : names_of_taps<J, First + 1, End, Found..., tap<tap_label<J, static_cast<int>(First)>>> {};
template <class J, long long End, class... Found>
struct names_of_taps<J, End, End, Found...> {
  using type = types<Found...>;
};

}  // namespace dsl::rules
