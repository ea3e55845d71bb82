// SPDX-License-Identifier: MIT
// EXPECT: dense: the input still has a height and a width; put flatten before it
// EXPECT-RE: dense_takes_a_flat_input<.*dsl::at<98>, (Layer=)?dsl::dense<10>, (Input=)?(dsl::)?shape{64, 16, 16}
// CHARACTERS: 3000
// Even for a network of a hundred layers, the compiler's whole output has at most 3,000 characters.
#include <dsl/language.hpp>

using namespace dsl;
#ifdef FIXED
using head = flatten;
#else
using head = identity;
#endif
// clang-format off
using model = network<image<3, 32, 32>,
    conv2d<64, 3>, batch_norm<>, relu, conv2d<64, 3>, batch_norm<>, relu, conv2d<64, 3>, batch_norm<>, relu,
    conv2d<64, 3>, batch_norm<>, relu, conv2d<64, 3>, batch_norm<>, relu, conv2d<64, 3>, batch_norm<>, relu,
    conv2d<64, 3>, batch_norm<>, relu, conv2d<64, 3>, batch_norm<>, relu, conv2d<64, 3>, batch_norm<>, relu,
    conv2d<64, 3>, batch_norm<>, relu, conv2d<64, 3>, batch_norm<>, relu, conv2d<64, 3>, batch_norm<>, relu,
    conv2d<64, 3>, batch_norm<>, relu, conv2d<64, 3>, batch_norm<>, relu, conv2d<64, 3>, batch_norm<>, relu,
    conv2d<64, 3>, batch_norm<>, relu, conv2d<64, 3>, batch_norm<>, relu, conv2d<64, 3>, batch_norm<>, relu,
    conv2d<64, 3>, batch_norm<>, relu, conv2d<64, 3>, batch_norm<>, relu, conv2d<64, 3>, batch_norm<>, relu,
    conv2d<64, 3>, batch_norm<>, relu, conv2d<64, 3>, batch_norm<>, relu, conv2d<64, 3>, batch_norm<>, relu,
    conv2d<64, 3>, batch_norm<>, relu, conv2d<64, 3>, batch_norm<>, relu, conv2d<64, 3>, batch_norm<>, relu,
    conv2d<64, 3>, batch_norm<>, relu, conv2d<64, 3>, batch_norm<>, relu, conv2d<64, 3>, batch_norm<>, relu,
    conv2d<64, 3>, batch_norm<>, relu, conv2d<64, 3>, batch_norm<>, relu, max_pool2d<2>, head, dense<10>, softmax>;
// clang-format on
static_assert(model::gives<shape{10}>);
