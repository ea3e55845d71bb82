// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/models/segmentation.hpp>

namespace dsl::models {

/// Fully convolutional networks (Long et al. 2015) on dilated ResNets. The 21 classes are those of Pascal VOC and the
/// background.
template <int Classes = 21>
struct fcn_resnet50 : segmentation_resnet<6, identity, fcn_head<Classes, 512>> {};
template <int Classes = 21>
struct fcn_resnet101 : segmentation_resnet<23, identity, fcn_head<Classes, 512>> {};

/// Fully convolutional networks with an auxiliary classifier.
template <int Classes = 21>
struct fcn_resnet50_aux : segmentation_resnet<6, auxiliary_pixel_classes<Classes>, fcn_head<Classes, 512>> {};
template <int Classes = 21>
struct fcn_resnet101_aux : segmentation_resnet<23, auxiliary_pixel_classes<Classes>, fcn_head<Classes, 512>> {};
// fcn_resnet50<21> on 3x520x520 -> 21x520x520

}  // namespace dsl::models
