// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/layer.hpp>

namespace dsl {

/// Softmax, e^x divided by the sum of all e^x: the probabilities of a classifier. If it is the last layer, it is fused
/// with the cross-entropy loss, whose gradient with respect to the logits is the probability minus the target.
struct softmax {
  static constexpr value lower(builder& b, value in) {
    b.require(in.shape.is_flat(), {.broken = rule::softmax_takes_a_flat_input, .first = in.shape});
    return b.append({.kind = op::softmax}, in, in.shape);
  }
};

/// Softmax over the channels of each pixel, as in PyTorch's Softmax2d: the probabilities of each pixel's class.
///   softmax2d on 5x64x64 -> 5x64x64, whose five numbers add up to 1 at each pixel
struct softmax2d {
  static constexpr value lower(builder& b, value in) { return b.append({.kind = op::softmax}, in, in.shape); }
};

}  // namespace dsl
