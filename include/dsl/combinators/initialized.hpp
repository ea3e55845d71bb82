// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/combinators/sequential.hpp>
#include <dsl/graph/initializer.hpp>
#include <dsl/number.hpp>

namespace dsl {

/// What kernels in initialized<...> begin with.
namespace init {

struct glorot_uniform {
  static constexpr initializer value{distribution::glorot_uniform};
};
struct glorot_normal {
  static constexpr initializer value{distribution::glorot_normal};
};
struct he_uniform {
  static constexpr initializer value{distribution::he_uniform};
};
struct he_normal {
  static constexpr initializer value{distribution::he_normal};
};
template <number Deviation>
struct truncated_normal {
  static_assert(static_cast<double>(Deviation) > 0, "truncated_normal: its deviation must be above 0");
  static constexpr initializer value{distribution::truncated_normal, static_cast<double>(Deviation)};
};
template <number Value>
struct constant {
  static constexpr initializer value{distribution::constant, static_cast<double>(Value)};
};
struct zeros {
  static constexpr initializer value{distribution::constant, 0};
};

}  // namespace init

template <class How, class... Layers>
struct initialized;

namespace detail {

template <class How, class List>
struct initialized_each;
template <class How, class... Layers>
struct initialized_each<How, types<Layers...>> {
  using type = types<initialized<How, Layers>...>;
};

/// In a list initialized<How, A, B> is initialized<How, A>, initialized<How, B>, so that weights keep their names.
template <class How, class First, class Second, class... Rest>
inline constexpr bool stands_for_several<initialized<How, First, Second, Rest...>> = true;
template <class How, class First, class Second, class... Rest>
struct spread<initialized<How, First, Second, Rest...>>
    : initialized_each<How, typename flattened<First, Second, Rest...>::type> {};

template <class How, int Count, class... Layers>
inline constexpr bool stands_for_several<initialized<How, repeat<Count, Layers...>>> = true;
template <class How, int Count, class... Layers>
struct spread<initialized<How, repeat<Count, Layers...>>>
    : initialized_each<How, typename spread<repeat<Count, Layers...>>::type> {};

template <class How, class Layers>
constexpr value lower_initialized(builder& b, value in) {
  initializer const outside = b.initialize_with(How::value);
  value const out = Layers::lower(b, in);
  b.initialize_with(outside);
  return out;
}

}  // namespace detail

/// One layer after the other, whose kernels begin with values drawn another way than from Glorot's uniform
/// distribution. Of several around a layer the innermost one counts. Biases begin with 0. Weights keep their names:
///   initialized<init::he_normal, conv2d<64, 3>, relu, conv2d<64, 3>, relu>, initialized<init::zeros, dense<10>>
template <class How, class... Layers>
struct initialized {
  using children = typename sequential<Layers...>::children;
  static constexpr value lower(builder& b, value in) {
    return detail::lower_initialized<How, sequential<Layers...>>(b, in);
  }
};
template <class How, layer Layer>
struct initialized<How, Layer> {
  static constexpr value lower(builder& b, value in) { return detail::lower_initialized<How, Layer>(b, in); }
};
template <class How, layer Layer>
  requires requires { typename Layer::children; }
struct initialized<How, Layer> {
  using children = typename Layer::children;
  static constexpr value lower(builder& b, value in) { return detail::lower_initialized<How, Layer>(b, in); }
};

}  // namespace dsl
