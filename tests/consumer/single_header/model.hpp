// SPDX-License-Identifier: MIT
#pragma once

using model = dsl::network<dsl::image<3, 32, 32>, dsl::conv_module<8, 3, 3>, dsl::inception_module<4, 4>,
                           dsl::global_avg_pool2d, dsl::dense<10>, dsl::softmax>;
static_assert(model::gives<dsl::shape{10}>);

dsl::trainer make_trainer();
