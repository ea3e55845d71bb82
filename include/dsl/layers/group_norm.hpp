// SPDX-License-Identifier: MIT
#pragma once

#include <initializer_list>

#include <dsl/layer.hpp>
#include <dsl/number.hpp>

namespace dsl {

/// Group normalisation (Wu & He 2018), group_norm<Groups, Epsilon = 1e-5>: normalises each of Groups equal parts of a
/// sample's channels over all pixels, as in PyTorch; Keras's epsilon is 1e-3. With one group, it normalises the whole
/// sample at once; with as many groups as channels, it normalises each channel separately (instance normalisation).
template <int Groups, number... Epsilon>
  requires(sizeof...(Epsilon) <= 1)
struct group_norm {
  static constexpr double epsilon = detail::number_at<Epsilon...>(0, 1e-5);

  static constexpr value lower(builder& b, value in) {
    b.require(divides(Groups, in.shape.channels),
              {.broken = rule::norm_groups_divide_the_channels, .first = in.shape, .wanted = Groups});
    b.require(epsilon >= 1e-30 && epsilon < 1e30, {.broken = rule::epsilon_is_positive, .number = epsilon});
    for (role r : {role::gamma, role::beta}) b.parameter({.role = r, .dims = {in.shape.channels, 1, 1, 1}});
    return b.append({.kind = op::group_norm, .epsilon = epsilon, .groups = Groups}, in, in.shape);
  }
};
// group_norm<32> on 64x8x8 -> 64x8x8, with 2 x 64 parameters and the moments of 2x8x8 numbers

}  // namespace dsl
