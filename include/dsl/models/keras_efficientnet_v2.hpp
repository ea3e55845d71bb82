// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/models/efficientnet_v2.hpp>

namespace dsl::models {

/// The style of EfficientNetV2 in Keras.
using keras_efficientnet_v2_style = keras_style<batch_norm<0.9>>;

/// The small EfficientNetV2 (Tan & Le 2021) of keras.applications, for images of 224, 240, 260 and 300 pixels that are
/// already normalised: Keras's own layers for that have no weights.
template <int Classes = 1000>
struct efficientnet_v2_b0 : efficientnet_stages<Classes, 0.2, 32, 1280, keras_efficientnet_v2_style,  //
                                                fused_mbconv_stage<32, 16, 1, 1, 1>,                  //
                                                fused_mbconv_stage<16, 32, 2, 4, 2>,                  //
                                                fused_mbconv_stage<32, 48, 2, 4, 2>,                  //
                                                mbconv_stage<48, 96, 3, 2, 4, 3>,                     //
                                                mbconv_stage<96, 112, 3, 1, 6, 5>,                    //
                                                mbconv_stage<112, 192, 3, 2, 6, 8>> {};
template <int Classes = 1000>
struct efficientnet_v2_b1 : efficientnet_stages<Classes, 0.2, 32, 1280, keras_efficientnet_v2_style,  //
                                                fused_mbconv_stage<32, 16, 1, 1, 2>,                  //
                                                fused_mbconv_stage<16, 32, 2, 4, 3>,                  //
                                                fused_mbconv_stage<32, 48, 2, 4, 3>,                  //
                                                mbconv_stage<48, 96, 3, 2, 4, 4>,                     //
                                                mbconv_stage<96, 112, 3, 1, 6, 6>,                    //
                                                mbconv_stage<112, 192, 3, 2, 6, 9>> {};
template <int Classes = 1000>
struct efficientnet_v2_b2 : efficientnet_stages<Classes, 0.2, 32, 1408, keras_efficientnet_v2_style,  //
                                                fused_mbconv_stage<32, 16, 1, 1, 2>,                  //
                                                fused_mbconv_stage<16, 32, 2, 4, 3>,                  //
                                                fused_mbconv_stage<32, 56, 2, 4, 3>,                  //
                                                mbconv_stage<56, 104, 3, 2, 4, 4>,                    //
                                                mbconv_stage<104, 120, 3, 1, 6, 6>,                   //
                                                mbconv_stage<120, 208, 3, 2, 6, 10>> {};
template <int Classes = 1000>
struct efficientnet_v2_b3 : efficientnet_stages<Classes, 0.2, 40, 1536, keras_efficientnet_v2_style,  //
                                                fused_mbconv_stage<40, 16, 1, 1, 2>,                  //
                                                fused_mbconv_stage<16, 40, 2, 4, 3>,                  //
                                                fused_mbconv_stage<40, 56, 2, 4, 3>,                  //
                                                mbconv_stage<56, 112, 3, 2, 4, 5>,                    //
                                                mbconv_stage<112, 136, 3, 1, 6, 7>,                   //
                                                mbconv_stage<136, 232, 3, 2, 6, 12>> {};

}  // namespace dsl::models
