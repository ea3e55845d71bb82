// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/models/parts.hpp>

namespace dsl::models {

/// The shortcut of a block that changes the shape.
template <int Filters, int Stride>
struct projection : named<"downsample", conv2d<Filters, 1, stride<Stride>, pad<0>, bias<false>>, torch_norm> {};

/// Two 3x3 convolutions, and a shortcut.
template <int Filters, int Stride = 1, class Shortcut = identity>
struct basic_block
    : sequential<add<sequential<named<"conv1", conv2d<Filters, 3, stride<Stride>, pad<1>, bias<false>>>,
                                named<"bn1", torch_norm>, relu, named<"conv2", conv2d<Filters, 3, pad<1>, bias<false>>>,
                                named<"bn2", torch_norm>>,
                     Shortcut>,
                 relu> {};

/// A 1x1 convolution to Width channels, a 3x3 one with Options, and a 1x1 convolution to Filters, and a shortcut.
template <int Filters, int Width, class Shortcut, auto... Options>
struct bottleneck_around
    : sequential<add<sequential<named<"conv1", conv2d<Width, 1, bias<false>>>, named<"bn1", torch_norm>, relu,
                                named<"conv2", conv2d<Width, 3, Options..., bias<false>>>, named<"bn2", torch_norm>,
                                relu, named<"conv3", conv2d<Filters, 1, bias<false>>>, named<"bn3", torch_norm>>,
                     Shortcut>,
                 relu> {};

/// A bottleneck whose 3x3 convolution has a stride and groups.
template <int Filters, int Width, int Groups, int Stride = 1, class Shortcut = identity>
struct bottleneck : bottleneck_around<Filters, Width, Shortcut, stride<Stride>, pad<1>, groups<Groups>> {};

/// ResNet with the given stages, between its first convolution and its classifier.
template <int Classes, class... Stages>
struct resnet : sequential<named<"conv1", conv2d<64, 7, stride<2>, pad<3>, bias<false>>>, named<"bn1", torch_norm>,
                           relu, max_pool2d<3, 2, pad<1>>, Stages..., classifier<"fc", Classes>> {};

/// A stage whose first block halves height and width.
template <label Name, int Count, int Filters>
struct basic_stage
    : named<Name, basic_block<Filters, 2, projection<Filters, 2>>, repeat<Count - 1, basic_block<Filters>>> {};

/// ResNet of basic blocks (He et al. 2016); First to Fourth are the numbers of blocks in its stages.
template <int Classes, int First, int Second, int Third, int Fourth>
struct basic_resnet : resnet<Classes,                                          //
                             named<"layer1", repeat<First, basic_block<64>>>,  // 64x56x56
                             basic_stage<"layer2", Second, 128>,               // 128x28x28
                             basic_stage<"layer3", Third, 256>,                // 256x14x14
                             basic_stage<"layer4", Fourth, 512>> {};           // 512x7x7

/// A stage of bottlenecks, whose first one changes the shape.
template <label Name, int Count, int Filters, int Width, int Groups, int Stride>
struct bottleneck_stage : named<Name, bottleneck<Filters, Width, Groups, Stride, projection<Filters, Stride>>,
                                repeat<Count - 1, bottleneck<Filters, Width, Groups>>> {};

/// ResNet of bottlenecks. Width is the number of channels of the 3x3 convolutions in the first stage. In all stages,
/// these convolutions have Groups groups (ResNeXt; Xie et al. 2017) and the stride.
template <int Classes, int First, int Second, int Third, int Fourth, int Width = 64, int Groups = 1>
struct bottleneck_resnet : resnet<Classes,                                                             //
                                  bottleneck_stage<"layer1", First, 256, Width, Groups, 1>,            // 256x56x56
                                  bottleneck_stage<"layer2", Second, 512, 2 * Width, Groups, 2>,       // 512x28x28
                                  bottleneck_stage<"layer3", Third, 1024, 4 * Width, Groups, 2>,       // 1024x14x14
                                  bottleneck_stage<"layer4", Fourth, 2048, 8 * Width, Groups, 2>> {};  // 2048x7x7

/// ResNet (He et al. 2016), under torchvision's names.
template <int Classes = 1000>
struct resnet18 : basic_resnet<Classes, 2, 2, 2, 2> {};
template <int Classes = 1000>
struct resnet34 : basic_resnet<Classes, 3, 4, 6, 3> {};
template <int Classes = 1000>
struct resnet50 : bottleneck_resnet<Classes, 3, 4, 6, 3> {};
template <int Classes = 1000>
struct resnet101 : bottleneck_resnet<Classes, 3, 4, 23, 3> {};
template <int Classes = 1000>
struct resnet152 : bottleneck_resnet<Classes, 3, 8, 36, 3> {};

/// Wide ResNets (Zagoruyko & Komodakis 2016).
template <int Classes = 1000>
struct wide_resnet50_2 : bottleneck_resnet<Classes, 3, 4, 6, 3, 128> {};
template <int Classes = 1000>
struct wide_resnet101_2 : bottleneck_resnet<Classes, 3, 4, 23, 3, 128> {};

/// ResNeXt (Xie et al. 2017), named by layers, groups, and channels per group.
template <int Classes = 1000>
struct resnext50_32x4d : bottleneck_resnet<Classes, 3, 4, 6, 3, 128, 32> {};
template <int Classes = 1000>
struct resnext101_32x8d : bottleneck_resnet<Classes, 3, 4, 23, 3, 256, 32> {};
template <int Classes = 1000>
struct resnext101_64x4d : bottleneck_resnet<Classes, 3, 4, 23, 3, 256, 64> {};

}  // namespace dsl::models
