// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/combinators/named_output.hpp>
#include <dsl/layers/upsample2d.hpp>
#include <dsl/models/resnet.hpp>

/// Networks that give each pixel a class. The height and width of images must be multiples of 8. The networks end with
/// a softmax2d, which torchvision leaves to the loss.
namespace dsl::models {

/// A bottleneck that keeps height and width; its 3x3 kernels read every Dilation-th pixel.
template <int Filters, int Dilation, class Shortcut = identity>
struct dilated_bottleneck : bottleneck_around<Filters, Filters / 4, Shortcut, pad<Dilation>, dilation<Dilation>> {};

/// A stage of a ResNet with dilation instead of a stride. The kernels of its first block are dilated by First only.
template <label Name, int Count, int Filters, int First, int Dilation>
struct dilated_stage : named<Name, dilated_bottleneck<Filters, First, projection<Filters, 1>>,
                             repeat<Count - 1, dilated_bottleneck<Filters, Dilation>>> {};

/// A ResNet whose last two stages are dilated, so that its 2048 channels have an eighth of the image's rows and
/// columns. Auxiliary comes before the last stage, after 1024 channels. Third is the number of blocks in the third
/// stage: 6 for ResNet-50, 23 for ResNet-101.
template <int Third, class Auxiliary, class Classifier>
struct segmentation_resnet
    : sequential<named<"backbone", named<"conv1", conv2d<64, 7, stride<2>, pad<3>, bias<false>>>,  //
                       named<"bn1", torch_norm>, relu, max_pool2d<3, 2, pad<1>>,                   //
                       bottleneck_stage<"layer1", 3, 256, 64, 1, 1>,                               // 1/4 of the image
                       bottleneck_stage<"layer2", 4, 512, 128, 1, 2>,                              // 1/8
                       dilated_stage<"layer3", Third, 1024, 1, 2>>,
                 Auxiliary, named<"backbone", dilated_stage<"layer4", 3, 2048, 2, 4>>,
                 named<"classifier", Classifier>> {};

/// Layers in sequence, then the upsampling to a class for each pixel of the image; the layers are numbered as in an
/// nn.Sequential.
template <int Classes, class... Layers>
struct pixel_classes : numbered<Layers..., conv2d<Classes, 1>, upsample2d<8, interpolation::bilinear>, softmax2d> {};

/// The classifier of FCN, which is also the auxiliary classifier of both networks. Its inputs have 4 Width channels.
template <int Classes, int Width>
struct fcn_head : pixel_classes<Classes, conv2d<Width, 3, pad<1>, bias<false>>, torch_norm, relu, dropout<0.1>> {};

/// The output aux_classifier, for training, as with torchvision's aux_loss; torchvision's reference training weights
/// its loss by 0.5. To predict, load the trained weights into the network without it, with .strict = false.
template <int Classes>
struct auxiliary_pixel_classes : named_output<"aux_classifier", fcn_head<Classes, 256>> {};

}  // namespace dsl::models
