// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/combinators/setting.hpp>
#include <dsl/graph/initializer.hpp>
#include <dsl/number.hpp>

namespace dsl {

/// What kernels in initialized<...> begin with.
namespace init {

/// Uniform in +-sqrt(6 / (fan_in + fan_out)) (Glorot & Bengio 2010): what all kernels begin with by default.
struct glorot_uniform {
  static constexpr initializer value{distribution::glorot_uniform};
};
/// Normal with deviation sqrt(2 / (fan_in + fan_out)), without its tails; see distribution.
struct glorot_normal {
  static constexpr initializer value{distribution::glorot_normal};
};
/// Uniform in +-sqrt(6 / fan_in) (He et al. 2015), for layers before a ReLU.
struct he_uniform {
  static constexpr initializer value{distribution::he_uniform};
};
/// Normal with deviation sqrt(2 / fan_in), without its tails, for layers before a ReLU; see distribution.
struct he_normal {
  static constexpr initializer value{distribution::he_normal};
};
/// Normal, drawn with this deviation and cut off at twice that, as Keras's TruncatedNormal.
template <number Deviation>
struct truncated_normal {
  static_assert(static_cast<double>(Deviation) > 0, "truncated_normal: its deviation must be above 0");
  static constexpr initializer value{distribution::truncated_normal, static_cast<double>(Deviation)};
};
/// The same number everywhere.
template <number Value>
struct constant {
  static constexpr initializer value{distribution::constant, static_cast<double>(Value)};
};
/// Zero everywhere, as for the last layer of a new head.
struct zeros {
  static constexpr initializer value{distribution::constant, 0};
};

}  // namespace init

namespace detail {

template <class How>
struct initializing {
  static constexpr initializer enter(builder& b) { return b.initialize_with(How::value); }
  static constexpr void leave(builder& b, initializer const& outside) { b.initialize_with(outside); }
};

}  // namespace detail

/// One layer after the other, whose kernels begin with values drawn another way than from Glorot's uniform
/// distribution. Of several around a layer the innermost one counts. Biases begin with 0. Weights keep their names:
///   initialized<init::he_normal, conv2d<64, 3>, relu, conv2d<64, 3>, relu>, initialized<init::zeros, dense<10>>
template <class How, class... Layers>
struct initialized : detail::with_setting<detail::initializing<How>, Layers...> {};

namespace detail {

template <>
inline constexpr bool is_of_each_layer<dsl::initialized> = true;

}  // namespace detail

}  // namespace dsl
