// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/layer.hpp>

namespace dsl {
namespace detail {

constexpr value lower_dense(builder& b, value in, int units) {
  b.require(units > 0, {.broken = rule::units_are_positive, .first = in.shape, .found = units});
  b.require(in.shape.is_flat(), {.broken = rule::dense_takes_a_flat_input, .first = in.shape, .found = units});
  b.parameter(
      {.role = role::kernel, .dims = {units, in.shape.channels, 1, 1}, .fan_in = in.shape.channels, .fan_out = units});
  b.parameter({.role = role::bias, .dims = {units, 1, 1, 1}});
  return b.append({.kind = op::dense}, in, {units, 1, 1});
}

}  // namespace detail

/// A fully connected layer: every output is a weighted sum of all inputs plus a bias. Its input must be flat.
template <int Units>
struct dense {
  static constexpr value lower(builder& b, value in) { return detail::lower_dense(b, in, Units); }
};
// dense<10> on 336 -> 10

}  // namespace dsl
