// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/layers/conv2d_transpose.hpp>
#include <dsl/models/parts.hpp>

namespace dsl::models {

/// Two 3x3 convolutions with batch normalisation.
template <int Filters>
struct double_conv : sequential<named<"double_conv", conv2d<Filters, 3, pad<1>, bias<false>>, torch_norm, relu,
                                      conv2d<Filters, 3, pad<1>, bias<false>>, torch_norm, relu>> {};

/// Halves height and width, and outputs Filters channels.
template <int Level, int Filters>
struct unet_down : named<numbered_label<"down", Level>, named<"maxpool_conv", max_pool2d<2>, double_conv<Filters>>> {};

/// The Count levels below a level of Width channels. Each level has twice as many channels as the level above it. The
/// output of these levels is upsampled and concatenated with their input.
template <int Count, int Width, int Level = 1>
struct unet_below
    : sequential<
          concat<identity,
                 sequential<unet_down<Level, 2 * Width>, unet_below<Count - 1, 2 * Width, Level + 1>,
                            named<numbered_label<"up", Count>, named<"up", conv2d_transpose<Width, 2, stride<2>>>>>>,
          named<numbered_label<"up", Count>, named<"conv", double_conv<Width>>>> {};
template <int Width, int Level>
struct unet_below<0, Width, Level> : identity {};

/// U-Net (Ronneberger et al. 2015), with padded convolutions and batch normalisation, so that the output is as large as
/// the image, whose height and width must be multiples of 16. Width is the number of channels at the top level. The
/// weights are named inc, down1 to down4, up1 to up4 and outc.
template <int Classes = 2, int Width = 64>
struct unet : sequential<named<"inc", double_conv<Width>>, unet_below<4, Width>,
                         named<"outc", named<"conv", conv2d<Classes, 1>>>, softmax2d> {};
// unet<2> on 3x576x576 -> 2x576x576

}  // namespace dsl::models
