// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/models/parts.hpp>

namespace dsl::models {

/// The one-column variant of AlexNet (Krizhevsky 2014).
template <int Classes = 1000>
struct alexnet : sequential<named<"features",                                                             //
                                  conv2d<64, 11, stride<4>, pad<2>>, relu, max_pool2d<3, 2>,              // 64x27x27
                                  conv2d<192, 5, pad<2>>, relu, max_pool2d<3, 2>,                         // 192x13x13
                                  conv2d<384, 3, pad<1>>, relu, repeat<2, conv2d<256, 3, pad<1>>, relu>,  //
                                  max_pool2d<3, 2>>,                                                      // 256x6x6
                            flatten,                                                                      //
                            named<"classifier", repeat<2, dropout<0.5>, dense<4096>, relu>, dense<Classes>>, softmax> {
};

}  // namespace dsl::models
