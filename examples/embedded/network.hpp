// SPDX-License-Identifier: MIT
#pragma once

// The network of embedded_train.cpp and embedded.cpp. Each of these files includes its own part of typenet before this
// header.
using model = dsl::network<dsl::image<3, 32, 32>, dsl::conv_module<16, 3, 3>, dsl::inception_module<16, 24>,
                           dsl::downsample_module<24>, dsl::conv2d<64, 3, 3, 1, dsl::padding::same, dsl::groups<64>>,
                           dsl::batch_norm<>, dsl::relu, dsl::residual<dsl::conv_module<64, 1, 1>>, dsl::dropout<0.25>,
                           dsl::global_avg_pool2d, dsl::dense<10>, dsl::softmax>;
