// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/layers/dense.hpp>
#include <dsl/layers/dropout.hpp>
#include <dsl/layers/flatten.hpp>
#include <dsl/layers/softmax.hpp>
#include <dsl/modules/downsample_module.hpp>
#include <dsl/modules/inception_module.hpp>

namespace dsl {

/// The small GoogLeNet for 32x32 images (Zhang et al. 2017, "Understanding deep learning requires rethinking
/// generalization", appendix A). With ten classes it has 1,656,250 parameters. Norm is the type of every batch_norm.
template <int Classes, class Norm = batch_norm<>>
struct minigooglenet : sequential<conv_module<96, 3, 3, 1, padding::same, Norm>,                   //
                                  inception_module<32, 32, Norm>, inception_module<32, 48, Norm>,  //
                                  downsample_module<80, Norm>,                                     //
                                  inception_module<112, 48, Norm>, inception_module<96, 64, Norm>,
                                  inception_module<80, 80, Norm>, inception_module<48, 96, Norm>,      //
                                  downsample_module<96, Norm>,                                         //
                                  inception_module<176, 160, Norm>, inception_module<176, 160, Norm>,  //
                                  avg_pool2d<7>, dropout<0.5>, flatten, dense<Classes>, softmax> {};

}  // namespace dsl
