// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/models/parts.hpp>

namespace dsl::models {

/// 3x3 convolutions, and a pool that halves height and width.
template <int Count, int Filters>
struct vgg_stage {
  using plain = repeat<Count, conv2d<Filters, 3, pad<1>>, relu>;
  using normalised = repeat<Count, conv2d<Filters, 3, pad<1>>, torch_norm, relu>;
};

template <int Classes, class... Features>
struct vgg : sequential<named<"features", Features...>, flatten,
                        named<"classifier", repeat<2, dense<4096>, relu, dropout<0.5>>, dense<Classes>>, softmax> {};

/// VGG (Simonyan & Zisserman 2015), with so many convolutions between its pools.
template <int Classes, int First, int Second, int Third, int Fourth, int Fifth>
struct vgg_plain : vgg<Classes,                                                   //
                       typename vgg_stage<First, 64>::plain, max_pool2d<2>,       // 64x112x112
                       typename vgg_stage<Second, 128>::plain, max_pool2d<2>,     // 128x56x56
                       typename vgg_stage<Third, 256>::plain, max_pool2d<2>,      // 256x28x28
                       typename vgg_stage<Fourth, 512>::plain, max_pool2d<2>,     // 512x14x14
                       typename vgg_stage<Fifth, 512>::plain, max_pool2d<2>> {};  // 512x7x7
/// The same with a batch_norm after each convolution.
template <int Classes, int First, int Second, int Third, int Fourth, int Fifth>
struct vgg_normalised
    : vgg<Classes,                                                   //
          typename vgg_stage<First, 64>::normalised, max_pool2d<2>,  //
          typename vgg_stage<Second, 128>::normalised, max_pool2d<2>, typename vgg_stage<Third, 256>::normalised,
          max_pool2d<2>, typename vgg_stage<Fourth, 512>::normalised, max_pool2d<2>,
          typename vgg_stage<Fifth, 512>::normalised, max_pool2d<2>> {};

template <int Classes = 1000>
struct vgg11 : vgg_plain<Classes, 1, 1, 2, 2, 2> {};
template <int Classes = 1000>
struct vgg13 : vgg_plain<Classes, 2, 2, 2, 2, 2> {};
template <int Classes = 1000>
struct vgg16 : vgg_plain<Classes, 2, 2, 3, 3, 3> {};
template <int Classes = 1000>
struct vgg19 : vgg_plain<Classes, 2, 2, 4, 4, 4> {};
template <int Classes = 1000>
struct vgg11_bn : vgg_normalised<Classes, 1, 1, 2, 2, 2> {};
template <int Classes = 1000>
struct vgg13_bn : vgg_normalised<Classes, 2, 2, 2, 2, 2> {};
template <int Classes = 1000>
struct vgg16_bn : vgg_normalised<Classes, 2, 2, 3, 3, 3> {};
template <int Classes = 1000>
struct vgg19_bn : vgg_normalised<Classes, 2, 2, 4, 4, 4> {};

}  // namespace dsl::models
