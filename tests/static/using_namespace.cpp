// SPDX-License-Identifier: MIT
// Every word of the language without dsl::, beside the C library's functions at global scope.
#include <dsl/language.hpp>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#include <cmath>

using namespace dsl;
using namespace dsl::literals;

struct small_module : sequential<conv2d<4, 3, 3, 1, padding::same>, conv2d<4, kernel<3>, stride<1>, pad<1>, groups<2>>,
                                 batch_norm<>, relu> {};

// The C library has tanh() and no other word; that one is qualified.
static_assert(
    network<image<3, 8, 8>, small_module, concat<conv2d<2, 1>, conv_module<2, 3>>, tap<"x">, silu,
            add<identity, from<"x">>, layer_norm<>, multiply<identity, relu>, leaky_relu<>, elu<>, relu6, hard_sigmoid,
            hard_swish, gelu, gelu_tanh, mish, softplus, sigmoid, dsl::tanh, conv2d_transpose<4, 1>, channel_scale,
            constant_scale<0.5>, unscaled_batch_norm<>, stochastic_depth<0.1>, max_pool2d<2>, upsample2d<2>,
            zero_pad2d<0>, channel_split<identity, channel_slice<0, 1>>, channel_shuffle<1>, avg_pool2d<2>, class_token,
            position_embedding, transpose_tokens, token_slice<0>, pointwise_dense<3>, attention<1>, pointwise_dense<3>,
            causal_attention<1>, merge_pixels<1>, pointwise_dense<3>, window_attention<1, 1>, pointwise_dense<3>,
            grid_attention<1, 1>, pointwise_dense<3>, head_norm<1>, bounded_window_attention<1, 1, 0, conv2d<1, 1>>,
            global_avg_pool2d, dropout<0.5>, flatten, dense<10>, softmax>::output == shape{10});
static_assert(network<image<3, 32, 32>, minigooglenet<10>>::output == shape{10});
static_assert(network<image<3, 16, 16>, inception_module<4, 4>, downsample_module<4>>::output == shape{12, 7, 7});
static_assert(network<token_numbers<9>, embedding<20, 4>>::output == shape{4, 1, 9});
static_assert(network<sequence<2, 32>, lstm<4>, gru<4>, conv1d<4, 3, causal>, max_pool1d<2>, avg_pool1d<2>,
                      global_avg_pool1d>::output == shape{4});
static_assert(network<features<4>, dense<2>>::training_bytes(1) < 1_MiB);

// Or, in a user's namespace, a declaration hides the function.
namespace mine {
using dsl::tanh;
using model = network<image<3, 8, 8>, conv2d<4, 3>, tanh, flatten, dense<10>, softmax>;
static_assert(model::output == shape{10});
}  // namespace mine

// A declaration in a function does so, too.
constexpr auto outputs() {
  using dsl::tanh;
  return network<features<4>, dense<3>, tanh>::output.channels;
}
static_assert(outputs() == 3);
static_assert(sizeof(::tanh(0.5)) == sizeof(double));  // it is still available as ::tanh
