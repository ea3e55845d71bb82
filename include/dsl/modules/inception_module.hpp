// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/combinators/concat.hpp>
#include <dsl/modules/conv_module.hpp>

namespace dsl {

/// A 1x1 and a 3x3 convolution side by side.
template <int Filters1x1, int Filters3x3, class Norm = batch_norm<>>
struct inception_module : concat<conv_module<Filters1x1, 1, 1, 1, padding::same, Norm>,
                                 conv_module<Filters3x3, 3, 3, 1, padding::same, Norm>> {};

}  // namespace dsl
