// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/combinators/multiply.hpp>
#include <dsl/models/parts.hpp>

namespace dsl::models {

/// Multiplies each channel by a factor between 0 and 1 that is computed from the means of all channels (Hu et al.
/// 2018); the names of the two convolutions are torchvision's.
template <int Channels, int Squeezed, class Activation, class Gate>
struct squeeze_excitation : multiply<identity, sequential<global_avg_pool2d, named<"fc1", conv2d<Squeezed, 1>>,
                                                          Activation, named<"fc2", conv2d<Channels, 1>>, Gate>> {};

}  // namespace dsl::models
