// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/layers/conv2d.hpp>

namespace dsl {
namespace detail {

constexpr value lower_dense(builder& b, value in, int units, int others = 0) {
  b.require(others == 0, {.broken = rule::activations_are_layers, .first = in.shape, .found = others});
  b.require(units > 0, {.broken = rule::units_are_positive, .first = in.shape, .found = units});
  b.require(in.shape.is_flat(), {.broken = rule::dense_takes_a_flat_input, .first = in.shape, .found = units});
  b.parameter(
      {.role = role::kernel, .dims = {units, in.shape.channels, 1, 1}, .fan_in = in.shape.channels, .fan_out = units});
  b.parameter({.role = role::bias, .dims = {units, 1, 1, 1}});
  return b.append({.kind = op::dense}, in, {units, 1, 1});
}

constexpr value lower_pointwise_dense(builder& b, value in, int units, bool has_bias) {
  b.require(units > 0, {.broken = rule::units_are_positive, .first = in.shape, .found = units});
  b.parameter({.role = role::kernel,
               .dims = {units, in.shape.channels, 1, 1},
               .rank = 2,
               .fan_in = in.shape.channels,
               .fan_out = units});
  if (has_bias) b.parameter({.role = role::bias, .dims = {units, 1, 1, 1}});
  return b.append({.kind = op::conv2d}, in, {units, in.shape.height, in.shape.width});
}

}  // namespace detail

/// A fully connected layer: every output is a weighted sum of all inputs plus a bias. Its input must be flat. The
/// template accepts further arguments only to report them with a readable error, because Keras's Dense has its
/// activation there.
template <int Units, class... Others>
struct dense {
  static constexpr value lower(builder& b, value in) {
    return detail::lower_dense(b, in, Units, static_cast<int>(sizeof...(Others)));
  }
};
// dense<10> on 336 -> 10

/// A dense layer over the channels of each pixel, with the same weights for all pixels, for example for a sequence of
/// tokens. It equals nn.Linear and Keras's Dense on the last axis; kernels are (out, in). It is computed as a
/// convolution with a 1x1 window. Kernels are initialised like those of dense. pointwise_dense<96, bias<false>> has no
/// bias.
template <int Units, option::bias Bias = option::bias{true}>
struct pointwise_dense {
  static constexpr value lower(builder& b, value in) {
    return detail::lower_pointwise_dense(b, in, Units, Bias.is_added);
  }
};
// pointwise_dense<3072> on 768x1x197 -> 3072x1x197

}  // namespace dsl
