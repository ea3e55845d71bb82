// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/combinators/setting.hpp>
#include <dsl/graph/initializer.hpp>
#include <dsl/number.hpp>

namespace dsl {

/// The distributions that initialized<...> accepts for the initial values of kernels.
namespace init {

/// Uniform in +-sqrt(6 / (fan_in + fan_out)) (Glorot & Bengio 2010). This is the default for all kernels.
struct glorot_uniform {
  static constexpr initializer value{distribution::glorot_uniform};
};
/// Truncated normal with deviation sqrt(2 / (fan_in + fan_out)); see distribution.
struct glorot_normal {
  static constexpr initializer value{distribution::glorot_normal};
};
/// Uniform in +-sqrt(6 / fan_in) (He et al. 2015), for layers before a ReLU.
struct he_uniform {
  static constexpr initializer value{distribution::he_uniform};
};
/// Truncated normal with deviation sqrt(2 / fan_in), for layers before a ReLU; see distribution.
struct he_normal {
  static constexpr initializer value{distribution::he_normal};
};
/// A normal distribution with this standard deviation, truncated at twice the deviation, like Keras's TruncatedNormal.
template <number Deviation>
struct truncated_normal {
  static_assert(static_cast<double>(Deviation) > 0, "truncated_normal: its deviation must be above 0; 0.02 is usual");
  static constexpr initializer value{distribution::truncated_normal, static_cast<double>(Deviation)};
};
/// Sets every number to Value.
template <number Value>
struct constant {
  static constexpr initializer value{distribution::constant, static_cast<double>(Value)};
};
/// Sets every number to 0, for example in the last layer of a new head.
struct zeros {
  static constexpr initializer value{distribution::constant, 0};
};

}  // namespace init

namespace detail {

template <class How>
struct initializing {
  static constexpr initializer enter(builder& b)
    requires requires(initializer i) { i = How::value; }
  {
    return b.initialize_with(How::value);
  }
  static constexpr void leave(builder& b, initializer const& outside) { b.initialize_with(outside); }
};

}  // namespace detail

/// Layers in sequence whose kernels are initialised from the distribution How instead of Glorot's uniform distribution.
/// If several initialized<...> are nested, the innermost applies. Biases are initialised with 0. The weights keep their
/// names:
///   initialized<init::he_normal, conv2d<64, 3>, relu, conv2d<64, 3>, relu>, initialized<init::zeros, dense<10>>
template <class How, class... Layers>
struct initialized : detail::with_setting<detail::initializing<How>, Layers...> {};

namespace detail {

template <>
inline constexpr bool is_of_each_layer<dsl::initialized> = true;

}  // namespace detail

}  // namespace dsl
