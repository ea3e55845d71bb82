// SPDX-License-Identifier: MIT
#pragma once

#include <initializer_list>

#include <dsl/layer.hpp>

namespace dsl {

/// Layer normalisation (Ba et al. 2016) over the channels of each pixel, as Keras and ConvNeXt have it; over all
/// numbers of a flat input. Epsilon is PyTorch's and ONNX's; Keras's is 1e-3.
template <double Epsilon = 1e-5>
struct layer_norm {
  static constexpr value lower(builder& b, value in) {
    b.require(Epsilon >= 1e-30 && Epsilon < 1e30, {.broken = rule::epsilon_is_positive, .number = Epsilon});
    for (role r : {role::gamma, role::beta}) b.parameter({.role = r, .dims = {in.shape.channels, 1, 1, 1}});
    return b.append({.kind = op::layer_norm, .epsilon = Epsilon}, in, in.shape);
  }
};
// layer_norm<> on 64x8x8 -> 64x8x8, with 2 x 64 parameters

}  // namespace dsl
