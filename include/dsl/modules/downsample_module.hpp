// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/combinators/concat.hpp>
#include <dsl/layers/pool2d.hpp>
#include <dsl/modules/conv_module.hpp>

namespace dsl {

/// Halves height and width with a strided convolution and a max pool, side by side.
template <int Filters, class Norm = batch_norm<>>
struct downsample_module : concat<conv_module<Filters, 3, 3, 2, padding::valid, Norm>, max_pool2d<3, 2>> {};

}  // namespace dsl
