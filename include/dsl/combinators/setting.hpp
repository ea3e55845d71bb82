// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/combinators/sequential.hpp>

/// The common part of combinators such as initialized<How, Layers...>, which change a setting of the builder for some
/// layers.
namespace dsl::detail {

/// Whether Word<How, A, B> in a list of layers stands for Word<How, A>, Word<How, B>, so that weights keep their names.
template <template <class, class...> class Word>
inline constexpr bool is_of_each_layer = false;

template <template <class, class...> class Word, class How, class List>
struct word_of_each;
template <template <class, class...> class Word, class How, class... Layers>
struct word_of_each<Word, How, types<Layers...>> {
  using type = types<Word<How, Layers>...>;
};

template <template <class, class...> class Word, class How, class First, class Second, class... Rest>
  requires is_of_each_layer<Word>
inline constexpr bool stands_for_several<Word<How, First, Second, Rest...>> = true;
template <template <class, class...> class Word, class How, class First, class Second, class... Rest>
  requires is_of_each_layer<Word>
struct spread<Word<How, First, Second, Rest...>>
    : word_of_each<Word, How, typename flattened<First, Second, Rest...>::type> {};

template <template <class, class...> class Word, class How, int Count, class... Layers>
  requires is_of_each_layer<Word>
inline constexpr bool stands_for_several<Word<How, repeat<Count, Layers...>>> = true;
template <template <class, class...> class Word, class How, int Count, class... Layers>
  requires is_of_each_layer<Word>
struct spread<Word<How, repeat<Count, Layers...>>>
    : word_of_each<Word, How, typename spread<repeat<Count, Layers...>>::type> {};

template <class Setting, class Layers>
constexpr value lower_with(builder& b, value in) {
  if constexpr (requires { Setting::enter(b); }) {
    auto const outside = Setting::enter(b);
    value const out = Layers::lower(b, in);
    Setting::leave(b, outside);
    return out;
  } else {
    b.require(false, {.broken = rule::settings_come_first, .first = in.shape});
    return in;
  }
}

/// Layers in sequence that are lowered with another setting. Setting::enter(builder) changes the setting and returns
/// the previous one, and Setting::leave restores that.
template <class Setting, class... Layers>
struct with_setting {
  using children = typename sequential<Layers...>::children;
  static constexpr value lower(builder& b, value in) { return lower_with<Setting, sequential<Layers...>>(b, in); }
};
template <class Setting, layer Layer>
struct with_setting<Setting, Layer> {
  static constexpr value lower(builder& b, value in) { return lower_with<Setting, Layer>(b, in); }
};
template <class Setting, layer Layer>
  requires requires { typename Layer::children; }
struct with_setting<Setting, Layer> {
  using children = typename Layer::children;
  static constexpr value lower(builder& b, value in) { return lower_with<Setting, Layer>(b, in); }
};

}  // namespace dsl::detail
