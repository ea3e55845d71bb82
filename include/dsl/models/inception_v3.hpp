// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/models/googlenet.hpp>

namespace dsl::models {

/// The norm and the pools of stride 1 in torchvision's Inception v3.
struct torch_inception {
  using norm = batch_norm<0.9, 1e-3>;
  using pool = avg_pool2d<3, 1, pad<1>>;
};

/// A convolution without bias, the norm of Style, and ReLU. Style is torch_inception, or has its members.
template <class Style, int Filters, auto... Options>
struct inception_conv2d
    : sequential<named<"conv", conv2d<Filters, Options..., bias<false>>>, named<"bn", typename Style::norm>, relu> {};

/// A kernel of 1xSize or Sizex1, padded to keep height and width.
template <class Style, int Filters, int Size>
struct row_conv2d : inception_conv2d<Style, Filters, 1, Size, pad<0, Size / 2>> {};
template <class Style, int Filters, int Size>
struct column_conv2d : inception_conv2d<Style, Filters, Size, 1, pad<Size / 2, 0>> {};

/// A 3x3 average pool of stride 1, and a 1x1 convolution.
template <class Style, int Filters>
struct inception_pool : sequential<typename Style::pool, named<"branch_pool", inception_conv2d<Style, Filters, 1>>> {};

/// Four branches: 1x1, 5x5, two 3x3, and a pool.
template <class Style, int Pooled>
struct inception_a : concat<named<"branch1x1", inception_conv2d<Style, 64, 1>>,
                            sequential<named<"branch5x5_1", inception_conv2d<Style, 48, 1>>,
                                       named<"branch5x5_2", inception_conv2d<Style, 64, 5, pad<2>>>>,
                            sequential<named<"branch3x3dbl_1", inception_conv2d<Style, 64, 1>>,
                                       named<"branch3x3dbl_2", inception_conv2d<Style, 96, 3, pad<1>>>,
                                       named<"branch3x3dbl_3", inception_conv2d<Style, 96, 3, pad<1>>>>,
                            inception_pool<Style, Pooled>> {};

/// Halves height and width.
template <class Style>
struct inception_b : concat<named<"branch3x3", inception_conv2d<Style, 384, 3, stride<2>, pad<0>>>,
                            sequential<named<"branch3x3dbl_1", inception_conv2d<Style, 64, 1>>,
                                       named<"branch3x3dbl_2", inception_conv2d<Style, 96, 3, pad<1>>>,
                                       named<"branch3x3dbl_3", inception_conv2d<Style, 96, 3, stride<2>, pad<0>>>>,
                            max_pool2d<3, 2>> {};

/// 7x7 convolutions as 1x7 and 7x1, once and twice, with Narrow channels in between.
template <class Style, int Narrow>
struct inception_c : concat<named<"branch1x1", inception_conv2d<Style, 192, 1>>,
                            sequential<named<"branch7x7_1", inception_conv2d<Style, Narrow, 1>>,
                                       named<"branch7x7_2", row_conv2d<Style, Narrow, 7>>,
                                       named<"branch7x7_3", column_conv2d<Style, 192, 7>>>,
                            sequential<named<"branch7x7dbl_1", inception_conv2d<Style, Narrow, 1>>,
                                       named<"branch7x7dbl_2", column_conv2d<Style, Narrow, 7>>,
                                       named<"branch7x7dbl_3", row_conv2d<Style, Narrow, 7>>,
                                       named<"branch7x7dbl_4", column_conv2d<Style, Narrow, 7>>,
                                       named<"branch7x7dbl_5", row_conv2d<Style, 192, 7>>>,
                            inception_pool<Style, 192>> {};

/// Halves height and width.
template <class Style>
struct inception_d : concat<sequential<named<"branch3x3_1", inception_conv2d<Style, 192, 1>>,
                                       named<"branch3x3_2", inception_conv2d<Style, 320, 3, stride<2>, pad<0>>>>,
                            sequential<named<"branch7x7x3_1", inception_conv2d<Style, 192, 1>>,
                                       named<"branch7x7x3_2", row_conv2d<Style, 192, 7>>,
                                       named<"branch7x7x3_3", column_conv2d<Style, 192, 7>>,
                                       named<"branch7x7x3_4", inception_conv2d<Style, 192, 3, stride<2>, pad<0>>>>,
                            max_pool2d<3, 2>> {};

/// Has two branches that each end in a 1x3 and a 3x1 convolution, whose outputs are concatenated.
template <class Style>
struct inception_e : concat<named<"branch1x1", inception_conv2d<Style, 320, 1>>,
                            sequential<named<"branch3x3_1", inception_conv2d<Style, 384, 1>>,
                                       concat<named<"branch3x3_2a", row_conv2d<Style, 384, 3>>,
                                              named<"branch3x3_2b", column_conv2d<Style, 384, 3>>>>,
                            sequential<named<"branch3x3dbl_1", inception_conv2d<Style, 448, 1>>,
                                       named<"branch3x3dbl_2", inception_conv2d<Style, 384, 3, pad<1>>>,
                                       concat<named<"branch3x3dbl_3a", row_conv2d<Style, 384, 3>>,
                                              named<"branch3x3dbl_3b", column_conv2d<Style, 384, 3>>>>,
                            inception_pool<Style, 192>> {};

/// Inception v3 with a layer that comes after Mixed_6e, and with a classifier of the means.
template <class Style, class After6e, class... Classifier>
struct inception_v3_around
    : sequential<named<"Conv2d_1a_3x3", inception_conv2d<Style, 32, 3, stride<2>, pad<0>>>,               // 149x149
                 named<"Conv2d_2a_3x3", inception_conv2d<Style, 32, 3, pad<0>>>,                          //
                 named<"Conv2d_2b_3x3", inception_conv2d<Style, 64, 3, pad<1>>>, max_pool2d<3, 2>,        // 73x73
                 named<"Conv2d_3b_1x1", inception_conv2d<Style, 80, 1>>,                                  //
                 named<"Conv2d_4a_3x3", inception_conv2d<Style, 192, 3, pad<0>>>, max_pool2d<3, 2>,       // 192x35x35
                 named<"Mixed_5b", inception_a<Style, 32>>, named<"Mixed_5c", inception_a<Style, 64>>,    //
                 named<"Mixed_5d", inception_a<Style, 64>>,                                               // 288x35x35
                 named<"Mixed_6a", inception_b<Style>>,                                                   // 768x17x17
                 named<"Mixed_6b", inception_c<Style, 128>>, named<"Mixed_6c", inception_c<Style, 160>>,  //
                 named<"Mixed_6d", inception_c<Style, 160>>, named<"Mixed_6e", inception_c<Style, 192>>, After6e,  //
                 named<"Mixed_7a", inception_d<Style>>,                                         // 1280x8x8
                 named<"Mixed_7b", inception_e<Style>>, named<"Mixed_7c", inception_e<Style>>,  // 2048x8x8
                 global_avg_pool2d, Classifier..., softmax> {};

/// The classifier of torchvision's Inception v3.
template <int Classes>
struct inception_v3_classifier : sequential<dropout<0.5>, flatten, named<"fc", dense<Classes>>> {};

/// Inception v3 (Szegedy et al. 2016) for images of 299x299, without the auxiliary classifier. torchvision's pretrained
/// model also rescales the channels of images if transform_input is set.
template <int Classes = 1000>
struct inception_v3 : inception_v3_around<torch_inception, identity, inception_v3_classifier<Classes>> {};

/// Inception v3 with its auxiliary classifier, the output AuxLogits, for training. To predict, load the trained weights
/// into inception_v3<...>, with .strict = false.
template <int Classes = 1000>
struct inception_v3_aux
    : inception_v3_around<torch_inception,
                          named_output<"AuxLogits", avg_pool2d<5, 3>, named<"conv0", basic_conv2d<128, 1>>,
                                       named<"conv1", basic_conv2d<768, 5, pad<0>>>, global_avg_pool2d, flatten,
                                       named<"fc", dense<Classes>>, softmax>,
                          inception_v3_classifier<Classes>> {};

}  // namespace dsl::models
