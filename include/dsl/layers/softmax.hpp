// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/layer.hpp>

namespace dsl {

/// e^x over the sum of all e^x: the probabilities of a classifier. As the last layer it is computed together with the
/// cross-entropy loss, from the logits: its gradient is probability minus target, whatever the logits.
struct softmax {
  static constexpr value lower(builder& b, value in) {
    b.require(in.shape.is_flat(), {.broken = rule::softmax_takes_a_flat_input, .first = in.shape});
    return b.append({.kind = op::softmax}, in, in.shape);
  }
};

}  // namespace dsl
