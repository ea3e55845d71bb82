// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/combinators/sequential.hpp>

namespace dsl {

template <class... Layers>
struct frozen;

namespace detail {

template <class List>
struct frozen_each;
template <class... Layers>
struct frozen_each<types<Layers...>> {
  using type = types<frozen<Layers>...>;
};

/// Whether frozen<A, B> in a list of layers stands for frozen<A>, frozen<B>, so that weights keep their names.
template <class First, class Second, class... Rest>
inline constexpr bool stands_for_several<frozen<First, Second, Rest...>> = true;
template <class First, class Second, class... Rest>
struct spread<frozen<First, Second, Rest...>> : frozen_each<typename flattened<First, Second, Rest...>::type> {};
template <int Count, class... Layers>
inline constexpr bool stands_for_several<frozen<repeat<Count, Layers...>>> = true;
template <int Count, class... Layers>
struct spread<frozen<repeat<Count, Layers...>>> : frozen_each<typename spread<repeat<Count, Layers...>>::type> {};

/// Lowers Layers within frozen<...>.
template <class Layers>
constexpr value lower_frozen(builder& b, value in) {
  bool const outside = b.freeze(true);
  value const out = Layers::lower(b, in);
  b.freeze(outside);
  return out;
}

}  // namespace detail

/// Layers in sequence whose parameters are not trained. The plan has no gradients and no optimizer slots for these
/// layers, and no backward pass for layers before the first trainable one. A frozen batch_norm uses its running
/// statistics, which do not change either; a frozen dropout still zeroes values. Weights have the same names as without
/// frozen<...>, so that weights that were trained elsewhere can be loaded:
///   using model = dsl::network<dsl::image<3, 32, 32>, dsl::frozen<body>, dsl::dense<5>, dsl::softmax>;
template <class... Layers>
struct frozen {
  using children = typename sequential<Layers...>::children;
  static constexpr value lower(builder& b, value in) { return detail::lower_frozen<sequential<Layers...>>(b, in); }
};
template <layer Layer>
struct frozen<Layer> {
  static constexpr value lower(builder& b, value in) { return detail::lower_frozen<Layer>(b, in); }
};
template <layer Layer>
  requires requires { typename Layer::children; }
struct frozen<Layer> {
  using children = typename Layer::children;
  static constexpr value lower(builder& b, value in) { return detail::lower_frozen<Layer>(b, in); }
};
// frozen<conv2d<64, 3>> on 3x32x32 -> 64x32x32

}  // namespace dsl
