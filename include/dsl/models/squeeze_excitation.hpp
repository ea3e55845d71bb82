// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/combinators/multiply.hpp>
#include <dsl/models/parts.hpp>

namespace dsl::models {

/// Multiplies each of Channels with a number between 0 and 1 that follows from the means of all of them (Hu et al.
/// 2018); the names of the two convolutions are torchvision's.
template <int Channels, int Squeezed, class Activation, class Gate>
struct squeeze_excitation : multiply<identity, sequential<global_avg_pool2d, named<"fc1", conv2d<Squeezed, 1>>,
                                                          Activation, named<"fc2", conv2d<Channels, 1>>, Gate>> {};

}  // namespace dsl::models
