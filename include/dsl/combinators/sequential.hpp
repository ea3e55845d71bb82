// SPDX-License-Identifier: MIT
#pragma once

#include <initializer_list>

#include <dsl/layer.hpp>

namespace dsl {

template <int Count, class... Layers>
struct repeat;

namespace detail {

template <class... Lists>
struct joined;
template <class... Layers>
struct joined<types<Layers...>> {
  using type = types<Layers...>;
};
template <class... First, class... Second, class... Rest>
struct joined<types<First...>, types<Second...>, Rest...> : joined<types<First..., Second...>, Rest...> {};

/// The layers that one entry of a list stands for. repeat<2, A, B> stands for A, B, A, B; most layers stand for
/// themselves.
template <class Layer>
struct spread {
  using type = types<Layer>;
};
template <class Layer>
inline constexpr bool stands_for_several = false;
template <int Count, class... Layers>
inline constexpr bool stands_for_several<repeat<Count, Layers...>> = true;

template <class... Layers>
constexpr bool have_several() {
  for (bool each : {false, stands_for_several<Layers>...})
    if (each) return true;
  return false;
}

template <class... Layers>
struct flattened {
  using type = types<Layers...>;
};
template <class... Layers>
  requires(have_several<Layers...>())
struct flattened<Layers...> : joined<typename spread<Layers>::type...> {};

template <int Count, class... Layers>
  requires(Count > 0)
struct spread<repeat<Count, Layers...>>
    : joined<typename spread<repeat<Count - 1, Layers...>>::type, typename flattened<Layers...>::type> {};
template <int Count, class... Layers>
  requires(Count <= 0)
struct spread<repeat<Count, Layers...>> {
  static_assert(Count == 0, "repeat: the number of times must not be negative");
  using type = types<>;
};

template <class... Layers>
constexpr value lower_in_turn(builder& b, value in, types<Layers...>) {
  if constexpr (sizeof...(Layers) > 0) {
    int i = 0;
    for (lowering const* child : {&lowering_of<Layers>...}) in = (*child)(b, in, i++);
  }
  return in;
}

}  // namespace detail

/// Runs layers one after the other.
template <class... Layers>
struct sequential {
  using children = typename detail::flattened<Layers...>::type;

  static constexpr value lower(builder& b, value in) { return detail::lower_in_turn(b, in, children{}); }
};

/// Runs a sequence of layers Count times, each time with separate weights: sequential<A, repeat<2, B, C>> is
/// sequential<A, B, C, B, C>.
template <int Count, class... Layers>
struct repeat {
  using children = typename detail::spread<repeat>::type;

  static constexpr value lower(builder& b, value in) { return detail::lower_in_turn(b, in, children{}); }
};
// repeat<2, conv2d<64, 3>, relu> on 3x8x8 -> 64x8x8

}  // namespace dsl
