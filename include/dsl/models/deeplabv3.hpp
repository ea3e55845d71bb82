// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/models/segmentation.hpp>

namespace dsl::models {

/// Passes the mean of each channel over the image through layers, and repeats the result for each pixel.
template <label Name, class... Layers>
struct image_level {
  using children = typename named<Name, global_avg_pool2d, Layers...>::children;

  static constexpr value lower(builder& b, value in) {
    value const mean = named<Name, global_avg_pool2d, Layers...>::lower(b, in);
    return b.append({.kind = op::upsample_nearest}, mean, {mean.shape.channels, in.shape.height, in.shape.width});
  }
};

/// 256 filters of 3x3 that read every Rate-th pixel.
template <label Name, int Rate>
struct atrous : named<Name, conv2d<256, 3, pad<Rate>, dilation<Rate>, bias<false>>, torch_norm, relu> {};

/// Atrous spatial pyramid pooling: summarises each pixel's surroundings at several scales, and the whole image, in 256
/// channels.
struct atrous_pyramid
    : sequential<named<"convs", concat<named<"0", conv2d<256, 1, bias<false>>, torch_norm, relu>, atrous<"1", 12>,
                                       atrous<"2", 24>, atrous<"3", 36>,
                                       image_level<"4", conv2d<256, 1, bias<false>>, torch_norm, relu>>>,
                 named<"project", conv2d<256, 1, bias<false>>, torch_norm, relu, dropout<0.5>>> {};

/// The classifier of DeepLabv3.
template <int Classes>
struct deeplabv3_head : pixel_classes<Classes, atrous_pyramid, conv2d<256, 3, pad<1>, bias<false>>, torch_norm, relu> {
};

/// DeepLabv3 (Chen et al. 2017) on dilated ResNets.
template <int Classes = 21>
struct deeplabv3_resnet50 : segmentation_resnet<6, identity, deeplabv3_head<Classes>> {};
template <int Classes = 21>
struct deeplabv3_resnet101 : segmentation_resnet<23, identity, deeplabv3_head<Classes>> {};

/// DeepLabv3 with an auxiliary classifier.
template <int Classes = 21>
struct deeplabv3_resnet50_aux : segmentation_resnet<6, auxiliary_pixel_classes<Classes>, deeplabv3_head<Classes>> {};
template <int Classes = 21>
struct deeplabv3_resnet101_aux : segmentation_resnet<23, auxiliary_pixel_classes<Classes>, deeplabv3_head<Classes>> {};
// deeplabv3_resnet50<21> on 3x520x520 -> 21x520x520

}  // namespace dsl::models
