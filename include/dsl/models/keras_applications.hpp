// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/models/convnext.hpp>
#include <dsl/models/densenet.hpp>
#include <dsl/models/efficientnet.hpp>
#include <dsl/models/efficientnet_v2.hpp>
#include <dsl/models/keras_efficientnet_v2.hpp>
#include <dsl/models/keras_inception.hpp>
#include <dsl/models/keras_resnet.hpp>
#include <dsl/models/mobilenet.hpp>
#include <dsl/models/mobilenet_v2.hpp>
#include <dsl/models/mobilenet_v3.hpp>
#include <dsl/models/vgg.hpp>
#include <dsl/models/xception.hpp>

/// The networks of keras.applications, without the layers that normalise images. They have as many parameters as the
/// models of Keras, so that load_keras_h5 reads the weights that Keras has saved. If a name is also in dsl::models, the
/// network of that name has torchvision's padding, biases and epsilon, and gives other numbers with the same weights.
namespace dsl::models::keras {

/// VGG (Simonyan & Zisserman 2015) without dropout.
template <int Classes, int Third, int Fourth, int Fifth>
struct vgg : sequential<vgg_stage<2, 64>, max_pool2d<2>,        // 64x112x112
                        vgg_stage<2, 128>, max_pool2d<2>,       // 128x56x56
                        vgg_stage<Third, 256>, max_pool2d<2>,   // 256x28x28
                        vgg_stage<Fourth, 512>, max_pool2d<2>,  // 512x14x14
                        vgg_stage<Fifth, 512>, max_pool2d<2>,   // 512x7x7
                        flatten, repeat<2, dense<4096>, relu>, dense<Classes>, softmax> {};
template <int Classes = 1000>
struct vgg16 : vgg<Classes, 3, 3, 3> {};
template <int Classes = 1000>
struct vgg19 : vgg<Classes, 4, 4, 4> {};

/// Xception (Chollet 2017), for images of 299x299.
template <int Classes = 1000>
using xception = models::xception<Classes>;

/// DenseNet (Huang et al. 2017).
template <int Classes = 1000>
struct densenet121 : models::densenet121<Classes, resnet_norm> {};
template <int Classes = 1000>
struct densenet169 : models::densenet169<Classes, resnet_norm> {};
template <int Classes = 1000>
struct densenet201 : models::densenet201<Classes, resnet_norm> {};

/// MobileNet (Howard et al. 2017).
template <int Classes = 1000>
using mobilenet = models::mobilenet<Classes>;

/// The style of MobileNetV2 and MobileNetV3.
using mobilenet_style = keras_style<batch_norm<0.999>>;

/// MobileNetV2 (Sandler et al. 2018).
template <int Classes = 1000>
struct mobilenet_v2 : mobilenet_v2_of<mobilenet_style, dense<Classes>> {};

/// MobileNetV3 (Howard et al. 2019). Its classifier consists of convolutions of the means.
template <int Classes, int Hidden>
struct mobilenet_v3_classifier : sequential<conv2d<Hidden, 1>, hard_swish, dropout<0.2>, conv2d<Classes, 1>, flatten> {
};
template <int Classes = 1000>
struct mobilenet_v3_large : mobilenet_v3_large_of<mobilenet_style, mobilenet_v3_classifier<Classes, 1280>> {};
template <int Classes = 1000>
struct mobilenet_v3_small : mobilenet_v3_small_of<mobilenet_style, mobilenet_v3_classifier<Classes, 1024>> {};

/// EfficientNets (Tan & Le 2019), for images of 224, 240, 260, 300, 380, 456, 528 and 600 pixels. Keras's models also
/// have a layer `normalization`, which is not part of the network; see keras_h5_options::unused.
template <int Classes = 1000>
struct efficientnet_b0 : models::efficientnet_b0<Classes, keras_style<>> {};
template <int Classes = 1000>
struct efficientnet_b1 : models::efficientnet_b1<Classes, keras_style<>> {};
template <int Classes = 1000>
struct efficientnet_b2 : models::efficientnet_b2<Classes, keras_style<>> {};
template <int Classes = 1000>
struct efficientnet_b3 : models::efficientnet_b3<Classes, keras_style<>> {};
template <int Classes = 1000>
struct efficientnet_b4 : models::efficientnet_b4<Classes, keras_style<>> {};
template <int Classes = 1000>
struct efficientnet_b5 : models::efficientnet_b5<Classes, keras_style<>> {};
template <int Classes = 1000>
struct efficientnet_b6 : models::efficientnet_b6<Classes, keras_style<>> {};
template <int Classes = 1000>
struct efficientnet_b7 : models::efficientnet_b7<Classes, keras_style<>> {};

/// EfficientNetV2 (Tan & Le 2021), for images of 224, 240, 260, 300, 384, 480 and 480 pixels.
template <int Classes = 1000>
using efficientnet_v2_b0 = models::efficientnet_v2_b0<Classes>;
template <int Classes = 1000>
using efficientnet_v2_b1 = models::efficientnet_v2_b1<Classes>;
template <int Classes = 1000>
using efficientnet_v2_b2 = models::efficientnet_v2_b2<Classes>;
template <int Classes = 1000>
using efficientnet_v2_b3 = models::efficientnet_v2_b3<Classes>;
template <int Classes = 1000>
struct efficientnet_v2_s : models::efficientnet_v2_s<Classes, keras_efficientnet_v2_style, 0.2> {};
template <int Classes = 1000>
struct efficientnet_v2_m : models::efficientnet_v2_m<Classes, keras_efficientnet_v2_style, 0.2> {};
template <int Classes = 1000>
struct efficientnet_v2_l : models::efficientnet_v2_l<Classes, keras_efficientnet_v2_style, 0.2> {};

/// ConvNeXt (Liu et al. 2022). Keras has no stochastic depth by default.
template <int Classes = 1000>
using convnext_tiny = models::convnext_tiny<Classes>;
template <int Classes = 1000>
using convnext_small = models::convnext_small<Classes>;
template <int Classes = 1000>
using convnext_base = models::convnext_base<Classes>;
template <int Classes = 1000>
using convnext_large = models::convnext_large<Classes>;
template <int Classes = 1000>
using convnext_xlarge = models::convnext_xlarge<Classes>;

}  // namespace dsl::models::keras
