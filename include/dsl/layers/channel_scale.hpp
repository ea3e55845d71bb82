// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/layer.hpp>

namespace dsl {

/// Each channel times a number that is learnt, without a bias (LayerScale; Touvron et al. 2021). The numbers start
/// from 1. Where named<> gives it a name of its own, that is the name of the numbers in PyTorch's files.
struct channel_scale {
  static constexpr value lower(builder& b, value in) {
    b.parameter({.role = role::gamma, .dims = {in.shape.channels, 1, 1, 1}});
    return b.append({.kind = op::channel_scale}, in, in.shape);
  }
};
// channel_scale on 64x8x8 -> 64x8x8, with 64 numbers

}  // namespace dsl
