// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/layers/channel_scale.hpp>
#include <dsl/models/inception_v3.hpp>

namespace dsl::models::keras {

/// The norm and the pools of stride 1 in Keras's Inception networks.
struct inception_style {
  using norm = unscaled_batch_norm<>;
  using pool = avg_pool2d<3, 1, pad<1>, count_padding<false>>;
};

/// Inception v3 (Szegedy et al. 2016), for images of 299x299.
template <int Classes = 1000>
struct inception_v3 : inception_v3_around<inception_style, identity, flatten, dense<Classes>> {};

/// A convolution without bias, normalisation without a scale, and ReLU.
template <int Filters, auto... Options>
using inception_conv = inception_conv2d<inception_style, Filters, Options...>;
template <int Filters, int Size>
using inception_row = row_conv2d<inception_style, Filters, Size>;
template <int Filters, int Size>
using inception_column = column_conv2d<inception_style, Filters, Size>;

/// Adds Scale times a 1x1 convolution of the concatenated branches.
template <int Filters, number Scale, class... Branches>
struct inception_residual : residual<concat<Branches...>, conv2d<Filters, 1>, constant_scale<Scale>> {};

/// The blocks A, B and C of Inception-ResNet v2, without their last ReLU.
struct inception_resnet_a
    : inception_residual<
          320, 0.17, inception_conv<32, 1>,                                  //
          sequential<inception_conv<32, 1>, inception_conv<32, 3, pad<1>>>,  //
          sequential<inception_conv<32, 1>, inception_conv<48, 3, pad<1>>, inception_conv<64, 3, pad<1>>>> {};
struct inception_resnet_b
    : inception_residual<1088, 0.1, inception_conv<192, 1>,
                         sequential<inception_conv<128, 1>, inception_row<160, 7>, inception_column<192, 7>>> {};
template <number Scale>
struct inception_resnet_c
    : inception_residual<2080, Scale, inception_conv<192, 1>,
                         sequential<inception_conv<192, 1>, inception_row<224, 3>, inception_column<256, 3>>> {};

/// Inception-ResNet v2 (Szegedy et al. 2017), for images of 299x299.
template <int Classes = 1000>
struct inception_resnet_v2
    : sequential<inception_conv<32, 3, stride<2>, pad<0>>, inception_conv<32, 3, pad<0>>, inception_conv<64, 3, pad<1>>,
                 max_pool2d<3, 2>, inception_conv<80, 1>, inception_conv<192, 3, pad<0>>,
                 max_pool2d<3, 2>,  // 192x35x35
                 concat<inception_conv<96, 1>, sequential<inception_conv<48, 1>, inception_conv<64, 5, pad<2>>>,
                        sequential<inception_conv<64, 1>, repeat<2, inception_conv<96, 3, pad<1>>>>,
                        sequential<inception_style::pool, inception_conv<64, 1>>>,
                 repeat<10, inception_resnet_a, relu>,  // 320x35x35
                 concat<inception_conv<384, 3, stride<2>, pad<0>>,
                        sequential<inception_conv<256, 1>, inception_conv<256, 3, pad<1>>,
                                   inception_conv<384, 3, stride<2>, pad<0>>>,
                        max_pool2d<3, 2>>,
                 repeat<20, inception_resnet_b, relu>,  // 1088x17x17
                 concat<sequential<inception_conv<256, 1>, inception_conv<384, 3, stride<2>, pad<0>>>,
                        sequential<inception_conv<256, 1>, inception_conv<288, 3, stride<2>, pad<0>>>,
                        sequential<inception_conv<256, 1>, inception_conv<288, 3, pad<1>>,
                                   inception_conv<320, 3, stride<2>, pad<0>>>,
                        max_pool2d<3, 2>>,
                 repeat<9, inception_resnet_c<0.2>, relu>, inception_resnet_c<1.0>,  // 2080x8x8
                 inception_conv<1536, 1>, global_avg_pool2d, flatten, dense<Classes>, softmax> {};

}  // namespace dsl::models::keras
