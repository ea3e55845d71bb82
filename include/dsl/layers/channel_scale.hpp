// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/layer.hpp>
#include <dsl/number.hpp>

namespace dsl {

/// Multiplies each channel by a learnt number, without a bias (LayerScale; Touvron et al. 2021). The numbers are
/// initialised with 1. In PyTorch's files, they have the name that named<> gives to this layer.
struct channel_scale {
  static constexpr value lower(builder& b, value in) {
    b.parameter({.role = role::gamma, .dims = {in.shape.channels, 1, 1, 1}});
    return b.append({.kind = op::channel_scale}, in, in.shape);
  }
};
// channel_scale on 64x8x8 -> 64x8x8, with 64 numbers

/// Multiplies all numbers by a constant. It has no parameters.
template <number Factor>
struct constant_scale {
  static constexpr value lower(builder& b, value in) {
    b.parameter({.role = role::gamma,
                 .dims = {in.shape.channels, 1, 1, 1},
                 .initial = {distribution::constant, static_cast<double>(Factor)},
                 .constant = true});
    return b.append({.kind = op::channel_scale}, in, in.shape);
  }
};
// constant_scale<0.17> on 64x8x8 -> 64x8x8

}  // namespace dsl
