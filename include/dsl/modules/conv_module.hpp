// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/combinators/sequential.hpp>
#include <dsl/layers/activation.hpp>
#include <dsl/layers/batch_norm.hpp>
#include <dsl/layers/conv2d.hpp>

namespace dsl {

/// A convolution, followed by a batch normalisation and a ReLU.
template <int Filters, int KernelH, int KernelW = KernelH, int Stride = 1, padding Pad = padding::same,
          class Norm = batch_norm<>>
struct conv_module : sequential<conv2d<Filters, KernelH, KernelW, Stride, Pad>, Norm, relu> {};

}  // namespace dsl
