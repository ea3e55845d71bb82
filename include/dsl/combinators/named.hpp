// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/combinators/sequential.hpp>

namespace dsl {

/// A piece of text as a template argument: named<"conv1", ...>.
template <int Size>
struct label {
  static_assert(Size > 1, "named: a name must have at least one character; write named<\"conv1\", ...>");
  static constexpr int size = Size - 1;
  char text[Size]{};

  constexpr label(char const (&from)[Size]) {  // NOLINT(google-explicit-constructor): text stands for itself
    for (int i = 0; i < Size; ++i) text[i] = from[i];
  }
};

namespace detail {

/// Whether a layer only names a value or reads a named one, and is not counted in the names of weights.
template <class Layer>
inline constexpr bool is_mark = false;

/// Whether the names of weights number the layers under one name. A loop: Clang takes a fold of at most 256 layers.
template <class... Layers>
constexpr bool are_numbered() {
  int counted = 0;
  for (bool mark : {true, is_mark<Layers>...}) counted += mark ? 0 : 1;
  return counted > 1 || have_several<Layers...>();
}

constexpr int digits_of(int number) { return number < 10 ? 1 : 1 + digits_of(number / 10); }

template <label Prefix, int Number>
constexpr auto numbered_label() {
  constexpr int digits = digits_of(Number), end = Prefix.size + digits;
  char text[end + 1]{};
  for (int i = 0; i < Prefix.size; ++i) text[i] = Prefix.text[i];
  for (int i = end - 1, rest = Number; i >= Prefix.size; --i, rest /= 10) text[i] = static_cast<char>('0' + rest % 10);
  return label<end + 1>(text);
}

}  // namespace detail

/// A label with a number at its end: numbered_label<"denselayer", 12> is "denselayer12".
template <label Prefix, int Number>
  requires(Number >= 0)
inline constexpr auto numbered_label = detail::numbered_label<Prefix, Number>();

/// Layers in sequence whose weights are named 0, 1, ... within the next outer name, as in an nn.Sequential.
template <class... Layers>
struct numbered : sequential<Layers...> {
  static constexpr value lower(builder& b, value in) {
    b.number_children();
    return sequential<Layers...>::lower(b, in);
  }
};

/// Layers in sequence under a name: the weights of named<"conv1", conv2d<64, 7>> are conv1.weight and conv1.bias in a
/// PyTorch file. Names can be nested: an inner name follows the outer name and a dot. Positions of layers between two
/// names are not part of a weight's name, except within numbered<...>. If there are several layers under one name, they
/// are numbered, except for layers that have a name themselves: in named<"a", named<"b", L>, relu>, L is a.b. After a
/// name that ends with _ there is no dot: named<"in_proj_", pointwise_dense<96>> has the weights in_proj_weight and
/// in_proj_bias.
template <label Name, class... Layers>
struct named {
  using children = typename sequential<Layers...>::children;

  static constexpr value lower(builder& b, value in) {
    b.name_layer(detail::name{own.text, own.size});
    if (detail::are_numbered<Layers...>()) b.number_children();
    return sequential<Layers...>::lower(b, in);
  }

 private:
  static constexpr auto own = Name;
};
// named<"layer1", conv2d<8, 3>, relu, named<"fc", ...>>: layer1.0.weight, layer1.fc.weight

}  // namespace dsl
