// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/combinators/add.hpp>
#include <dsl/layers/flatten.hpp>

namespace dsl {

/// Computes x + Layers(x). The layers must not change the shape (He et al. 2016).
template <class... Layers>
struct residual : add<identity, sequential<Layers...>> {};
// residual<conv2d<64, 3>, batch_norm<>> on 64x8x8 -> 64x8x8

}  // namespace dsl
