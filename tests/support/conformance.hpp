// SPDX-License-Identifier: MIT
#pragma once

#include "operations/all.hpp"
#include "support/all_functions.hpp"
#include "support/one_batch.hpp"
#include "support/catch.hpp"
#include "support/compare_engines.hpp"
#include "support/extent.hpp"
#include "support/random_network.hpp"
#include "support/running_moments.hpp"

#include <dsl/dsl.hpp>
#include <dsl/models/time_series.hpp>
#include <dsl/training/initialize.hpp>

#include <cmath>
#include <cstring>
#include <map>
#include <memory>

// Compares every step of an executor with `reference`, as compare_engines.hpp does, on networks chosen for likely
// mistakes: odd channel counts, slices, copies, accumulated gradients, one pixel. A test file includes this and defines
// make_checked() and checked_blocks().
namespace dsl::test {

/// Returns the channel blocks to check the executor with; each network is run with all of them.
std::vector<int> checked_blocks();

inline int compared = 0;
inline int compared_again = 0;

/// Requires that two engines agree. A ReLU whose input is zero up to rounding may have the other sign, which changes a
/// gradient completely. That is rare: with other numbers the two must then agree twice.
inline void agree(graph_view const& g, int batch, engine_options const& o, setup const& c, double bound) {
  INFO("batch " << batch << ", blocks of " << c.block << (c.winograd ? ", Winograd" : ", direct") << ", threads "
                << c.threads);
  ++compared;
  difference const d = compare(g, batch, o, c, 1);
  if (d.size < bound) {
    SUCCEED("agrees");
    return;
  }
  ++compared_again;
  for (std::uint64_t seed : {2, 3}) {
    difference const again = compare(g, batch, o, c, seed);
    INFO("first " << d.size << " in " << d.where << "; then " << again.size << " in " << again.where);
    CHECK(again.size < bound);
  }
}
inline void agree(graph_view const& g, int batch, engine_options const& o, setup const& c) {
  agree(g, batch, o, c, tolerance(g, batch, c));
}

inline engine_options const plain_sgd{.seed = 11, .verify = &verify};
inline engine_options const keras{.seed = 11, .update = {.momentum = 0.9}, .verify = &verify};
inline engine_options const torch{.seed = 12,
                                  .update = {.momentum = 0.9, .weight_decay = 0.01, .rate_in_velocity = false},
                                  .loss = loss::mean_squared_error,
                                  .batch_norm_momentum = 0.8,
                                  .unbiased_running_variance = true,
                                  .verify = &verify};

/// How many of five cases are compared. Networks have 6 or 9 cases each, so that every batch, block and option has its
/// turn.
inline int const of_five = only_a_sample() ? 1 : everything() ? 5 : 2;
inline int cases = 0;

template <class... Layers>
void agree_for(std::initializer_list<int> batches = {1, 2, 3, 7}) {
  constexpr detail::name text = detail::signature<types<Layers...>>();
  INFO(std::string(text.data, static_cast<std::size_t>(text.size)));
  bool even = false;
  for (int batch : batches) {
    for (int block : checked_blocks()) {
      if (cases++ % 5 < of_five) agree(network<Layers...>::view(), batch, even ? torch : keras, {block, even, 1});
      even = !even;
    }
    even = !even;
  }
}
/// Appends a classifier.
template <class... Layers>
void agree_on() {
  agree_for<Layers..., flatten, dense<5>, softmax>();
}
/// Precedes the layers by a convolution to C channels, so that they see channel blocks and propagate a gradient.
template <int C, class... Layers>
void agree_behind() {
  agree_for<image<3, 7, 6>, conv2d<C, 3>, Layers..., flatten, dense<5>, softmax>({2, 3});
  agree_for<image<3, 7, 6>, conv2d<C, 3>, Layers..., global_avg_pool2d, flatten, dense<5>, softmax>({1});
}

template <int C>
void check_convolutions() {
  using enum padding;
  agree_behind<C>();
  agree_behind<C, conv2d<C, 1>, conv2d<C + 1, 3>>();
  agree_behind<C, conv2d<7, 5>>();
  agree_behind<C, conv2d<9, 1, 7>, conv2d<3, 7, 1>>();
  agree_behind<C, conv2d<12, 2, 2>>();
  agree_behind<C, conv2d<18, 3, 3, 2>>();
  agree_behind<C, conv2d<18, 3, 3, 2, valid>>();
  agree_behind<C, conv2d<18, 3, 3, 1, valid>, dsl::tanh, conv2d<C, 1, 1, 2>>();
  agree_behind<C, conv2d<6, 7, 6, 1, valid>, dsl::tanh>();  // to one pixel
  agree_behind<C, conv2d<C, 3, stride<2>, pad<1>>, conv2d<18, 3, pad<2, 0, 0, 1>>>();
  agree_behind<C, conv2d<C, 3, bias<false>>, batch_norm<>, relu, conv2d<18, 1, bias<false>>, relu>();
  agree_behind<C, add<conv2d<6, 3, stride<2>, bias<false>>, conv2d<6, 1, 1, 2, bias<false>>>, batch_norm<>>();
  agree_behind<C, conv2d<C, 3, stride<2, 1>>, batch_norm<>, relu, conv2d<18, 2, stride<1, 3>, pad<1, 0>>>();
  agree_behind<C, conv2d<C, 3, dilation<2>>, batch_norm<>, relu, conv2d<18, 3, valid, dilation<3, 1>>>();
  agree_behind<C, add<conv2d<C, 3, dilation<2>>, conv2d<C, 3, pad<8>, dilation<8>>, identity>, conv2d<5, 1>>();
  agree_behind<C, conv2d<C, 2, 3, 2, valid, dilation<2>>, dsl::tanh, conv2d<3, 2, stride<2, 1>, dilation<1, 2>>>();
  agree_for<image<3, 7, 6>, conv2d<C, 3, dilation<2>>, relu, flatten, dense<5>, softmax>({2});
}
/// C is even.
template <int C>
void check_groups() {
  using enum padding;
  agree_behind<C, conv2d<C, 3, 3, 1, same, C>>();
  agree_behind<C, conv2d<2 * C, 3, 2, 2, valid, C>, relu, conv2d<C, 5, 5, 1, same, 2>, batch_norm<>, relu>();
  agree_behind<C, concat<conv2d<16, 1, 1, 1, same, 2>, conv_module<16, 1, 1>>, conv2d<4, 3>>();
  agree_behind<C, conv2d<C, 5, 5, 2, same, C>, batch_norm<>, relu, conv2d<3 * C, 3, 3, 2, same, C>>();  // one pixel
  agree_behind<C, conv2d<40, 1>, conv2d<60, 3, 3, 1, same, 5>, batch_norm<>, conv2d<20, 3, 3, 2, same, 20>>();
  agree_behind<C, conv2d<C, 3, groups<C>, dilation<2>>, conv2d<2 * C, 3, groups<2>, dilation<3, 2>, stride<1, 2>>>();
}
template <int C>
void check_elementwise() {
  for_each_function([]<int Number>() {
    constexpr int next = (Number + 1) % static_cast<int>(std::size(operations::activations));
    if constexpr (Number % 2 == 0)
      agree_behind<C, activation_layer<Number>, conv2d<C, 1>, activation_layer<next>, conv2d<3, 1>>();
  });
  agree_behind<C, add<silu, dsl::tanh, identity>, conv2d<4, 3>>();
  agree_behind<C, elementwise<bump>, conv2d<4, 3>>();
  agree_behind<C, dropout<0.3>, conv2d<C, 3>, dropout<0.5>>();
  agree_behind<C, channel_scale, conv2d<C, 1>, stochastic_depth<0.4>, conv2d<4, 1>>();
  agree_behind<C, constant_scale<0.3>, conv2d<C, 1>, unscaled_batch_norm<>, relu, conv2d<4, 1>>();
  agree_behind<C, residual<conv2d<C, 1>, channel_scale, stochastic_depth<0.5>>, conv2d<4, 1>>();
  agree_behind<C, concat<channel_scale, stochastic_depth<0.3>>, conv2d<4, 1>>();
  agree_behind<C, concat<dropout<0.3>, sequential<dropout<0.6>, conv2d<C, 1>>>, conv2d<4, 1>>();
}
template <int C>
void check_batch_norm() {
  agree_behind<C, batch_norm<>, conv2d<3, 3>>();
  agree_behind<C, batch_norm<>, relu, conv2d<3, 1>>();
  agree_behind<C, add<batch_norm<>, identity>, batch_norm<0.9, 1e-2>, conv2d<3, 1>>();  // its bias is used
  agree_behind<C, dsl::tanh, batch_norm<>, dsl::tanh, batch_norm<>, relu, dropout<0.2>>();
  agree_behind<C, conv_module<C, 1, 1>, conv_module<C + 3, 3, 3>>();
}
struct wide_max {  // a window that is no square: 2 high, 4 wide
  static constexpr value lower(builder& b, value in) {
    return b.append({.kind = op::max_pool2d, .window = {2, 4, 1, 0, 0}}, in,
                    {in.shape.channels, in.shape.height - 1, in.shape.width - 3});
  }
};
template <int C>
void check_layer_norm() {
  agree_behind<C, layer_norm<0.1>, conv2d<3, 3>>();
  agree_behind<C, conv2d<C, 1>, frozen<layer_norm<>>, conv2d<3, 3>>();
  agree_behind<C, concat<sequential<conv2d<C, 1>, layer_norm<>>, add<layer_norm<>, identity>>, conv2d<4, 1>>();
}
/// C is even. The inputs of a group vary, since a group has several pixels.
template <int C>
void check_group_norm() {
  agree_behind<C, group_norm<2, 0.1>, conv2d<3, 3>>();
  agree_behind<C, group_norm<1>, relu, group_norm<C, 1e-3>, conv2d<3, 1>>();
  agree_behind<C, conv2d<C, 1>, frozen<group_norm<2>>, conv2d<3, 3>>();
  agree_behind<C, concat<sequential<conv2d<C, 1>, group_norm<2>>, add<group_norm<1>, identity>>, conv2d<4, 1>>();
  agree_behind<C, local_response_norm<5>, conv2d<3, 3>>();
  agree_behind<C, concat<local_response_norm<3, 0.5, 0.9, 2.0>, add<local_response_norm<1, 2.0>, identity>>,
               conv2d<4, 1>>();
  agree_behind<C, local_response_norm<9, 0.7, 0.6, 1.5>, conv2d<3, 1>>();
  agree_behind<C, local_response_norm<15, 0.7>, conv2d<3, 1>>();  // neighbours beyond those of the next block
}
template <int C>
void check_pools() {
  agree_behind<C, dsl::tanh, wide_max, conv2d<3, 1>>();
  agree_behind<C, max_pool2d<2>, conv2d<3, 1>>();
  agree_behind<C, max_pool2d<3, stride<2, 1>, pad<1>>, avg_pool2d<kernel<1, 2>>, conv2d<3, 1>>();
  agree_behind<C, max_pool2d<3, 2>, batch_norm<>, conv2d<3, 1>>();
  agree_behind<C, dsl::tanh, max_pool2d<3, 1>, avg_pool2d<2, 1>>();
  agree_behind<C, avg_pool2d<3, 2>, conv2d<C, 1>, max_pool2d<2, 1>>();
  agree_behind<C, max_pool2d<6>, conv2d<C, 1>>();  // to one pixel
  agree_behind<C, avg_pool2d<6>, max_pool2d<1>, dsl::tanh, conv2d<C, 1>>();
  agree_behind<C, max_pool2d<3, 2, pad<1>>, avg_pool2d<3, 1, pad<1>>, conv2d<3, 1>>();
  agree_behind<C, dsl::tanh, max_pool2d<3, 2, ceil_mode>, avg_pool2d<2, 1, pad<1, 0, 0, 1>, count_padding<false>>>();
  agree_behind<C, add<max_pool2d<3, 1, pad<1>>, avg_pool2d<3, 1, pad<1>, count_padding<false>>, identity>>();
  agree_behind<C, add<max_pool2d<3, 1>, avg_pool2d<3, 1>, conv2d<C, 3, 3, 1, padding::valid>>, batch_norm<>>();
}
template <int C>
void check_upsampling() {
  using enum interpolation;
  agree_behind<C, upsample2d<2>, conv2d<3, 3>>();
  agree_behind<C, max_pool2d<2>, conv2d<C, 1>, upsample2d<3, bilinear>, batch_norm<>, relu, conv2d<4, 1>>();
  agree_behind<C, max_pool2d<2>, conv2d_transpose<7, 2, stride<2>>, batch_norm<>, relu, conv2d<4, 1>>();
  agree_behind<C, conv2d_transpose<C, 3, stride<2>, pad<1, 1, 0, 0>, bias<false>>, conv2d<3, 3>>();
  agree_behind<C, concat<conv2d_transpose<C, 3, pad<1>, groups<C>>, identity>, conv2d<4, 1>>();
  agree_behind<C, conv2d_transpose<C, 3, 2, stride<2, 1>, dilation<2, 3>>, conv2d<3, 3>>();
  agree_behind<C, concat<upsample2d<2>, upsample2d<2, bilinear>>, conv2d<4, 1>>();
  agree_behind<C, upsample2d<8, bilinear>, softmax2d>();  // several bands of rows
  agree_behind<C, zero_pad2d<1, 2, 3, 0>, max_pool2d<3, 2>, conv2d<4, 1>>();
  agree_behind<C, concat<zero_pad2d<2>, zero_pad2d<0, 3, 4, 1>>, zero_pad2d<0>, conv2d<4, 1>>();
  agree_behind<C, global_avg_pool2d, zero_pad2d<1, 2, 0, 3>, conv2d<4, 1>>();  // from one pixel
  agree_behind<C, conv2d_transpose<C, 3, pad<1>>, batch_norm<>, relu, conv2d_transpose<20, 3, stride<3>, pad<0>>>();
  agree_behind<C, global_avg_pool2d, conv2d_transpose<C, 3>, frozen<conv2d_transpose<C, 1>>, conv2d_transpose<7, 1>>();
  agree_behind<C, add<upsample2d<1>, upsample2d<1, bilinear>, identity>, global_avg_pool2d, upsample2d<4, bilinear>>();
}
/// C is even.
template <int C>
void check_channels() {
  agree_behind<C, channel_slice<1, C - 1>, conv2d<3, 3>>();
  agree_behind<C, add<channel_slice<0, C / 2>, channel_slice<C / 2, C / 2>>, batch_norm<>, relu>();
  agree_behind<C, channel_shuffle<2>, conv2d<C, 3, groups<2>>, channel_shuffle<C / 2>>();
  agree_behind<C, channel_split<identity, conv_module<C / 2, 3, 3>>, channel_shuffle<2>, conv2d<4, 1>>();
  agree_behind<C, concat<channel_slice<0, 1>, relu, channel_slice<C - 1, 1>>, conv2d<4, 1>>();
  agree_behind<C, concat<conv2d<C + 1, 1>, sigmoid>, softplus, channel_shuffle<1>, hard_sigmoid, conv2d<5, 1>,
               softmax2d>();
  agree_behind<C, frozen<channel_scale>, concat<conv2d<C + 1, 3>, identity>, add<identity, conv2d<2 * C + 1, 1>>>();
}
template <int C>
void check_tokens() {
  agree_behind<C, class_token, conv2d<C, 1>, position_embedding, token_slice<3, 9>, conv2d<4, 1>>();
  agree_behind<C, position_embedding, pointwise_dense<C + 3>, batch_norm<>, relu, pointwise_dense<4>>();
  agree_behind<C, concat<class_token, sequential<class_token, relu, position_embedding>>, token_slice<0>>();
  agree_behind<C, add<token_slice<1, 2>, token_slice<0, 2>>, conv2d<4, 1>, token_slice<1>>();
  agree_on<token_numbers<9>, embedding<5, C>, position_embedding, pointwise_dense<4>>();
  agree_on<image<1, 3, 4>, concat<embedding<C, 7>, sequential<embedding<3, C>, dsl::tanh>>, conv2d<4, 1>>();
  agree_on<token_numbers<6>, frozen<embedding<4, C>>, add<identity, conv2d<C, 1>>, conv2d<4, 1>>();
}
template <int C>
void check_sequences() {
  agree_on<sequence<3, 23>, conv1d<C, 5>, batch_norm<>, relu, max_pool1d<3, 2>, conv1d<C + 3, 3, 2>>();
  agree_on<sequence<C, 19>, conv1d<C, 2, causal, dilation<3>>, dsl::tanh, conv1d<6, kernel<4>, stride<3>, pad<2>>,
           avg_pool1d<2, 1, pad<1>>>();
  agree_on<sequence<C, 18>, conv1d<C, 3, groups<C>>, conv1d<C, 1, bias<false>>, relu, global_avg_pool1d>();
  agree_on<sequence<2, 40>, models::time_series_module<C, 8>, add<identity, conv1d<C, 3, causal>>, conv1d<4, 1>>();
}
template <int C>
void check_recurrent() {
  agree_on<sequence<3, 6>, lstm<C>, conv1d<4, 1>>();
  agree_on<sequence<C, 5>, gru<C + 1>, dsl::tanh, gru<6, last_step>>();
  agree_on<sequence<4, 7>, conv1d<C, 3>, concat<lstm<C>, gru<3>, identity>, lstm<5, last_step>>();  // three gradients
  agree_on<token_numbers<6>, embedding<4, C>, frozen<lstm<C>>, lstm<3>, conv1d<4, 1>>();
  agree_on<sequence<C, 1>, lstm<4>, frozen<gru<C>>, conv1d<2, 1>>();
}
/// C is a multiple of 4.
template <int C>
void check_attention() {
  agree_behind<C, conv2d<3 * C, 1>, attention<1>, conv2d<4, 1>>();
  agree_behind<C, conv2d<3 * C, 1>, causal_attention<4>, conv2d<4, 1>>();
  agree_behind<C, conv2d<15, 1>, concat<attention<5>, causal_attention<1>, identity>, conv2d<4, 1>>();  // one gradient
  agree_behind<C, residual<layer_norm<0.1>, conv2d<3 * C, 1>, attention<2>>, token_slice<0>>();
}
/// C is a multiple of 4.
template <int C>
void check_windows() {
  using rows_and_columns = image<C, 8, 6>;
  agree_on<rows_and_columns, conv2d<3 * C, 1>, window_attention<2, 2>, conv2d<4, 1>>();
  agree_on<rows_and_columns, conv2d<3 * C, 1>, window_attention<4, 2, 1>, conv2d<12, 1>, grid_attention<1, 2, 7>>();
  agree_on<image<C, 7, 7>, conv2d<24, 1>, concat<window_attention<8, 7>, grid_attention<1, 7>, attention<2>>>();
  agree_on<image<C, 6, 9>, pointwise_dense<3 * C, bias<false>>, window_attention<4, 3, 2>, conv2d<4, 1>>();
  // three blocks of keys, of which some queries see none of the first
  agree_for<image<4, 48, 24>, conv2d<12, 1>, window_attention<1, 24, 12>, conv2d<1, 1>, global_avg_pool2d, flatten,
            dense<5>, softmax>({1});
  agree_on<rows_and_columns, conv2d<3 * C, 1>,
           bounded_window_attention<2, 2, 1, pointwise_dense<5>, relu, pointwise_dense<2, bias<false>>>>();
  agree_on<image<C, 4, 4>, conv2d<24, 1>, concat<identity, identity, bounded_window_attention<4, 4, 0, conv2d<4, 1>>>,
           conv2d<4, 1>>();
}
template <int C>
void check_joins() {
  using enum padding;
  agree_behind<C, concat<conv2d<C, 1>, conv2d<7, 3>>, conv2d<4, 1>>();
  agree_behind<C, concat<conv_module<C, 1, 1>, conv_module<16, 3, 3>, conv_module<C, 3, 3>>, conv2d<4, 1>>();
  agree_behind<C, inception_module<16, C>, inception_module<C, 16>, downsample_module<C>, batch_norm<>>();
  agree_behind<C, concat<concat<conv_module<C, 1, 1>, dsl::tanh>, concat<max_pool2d<1>, identity>>, conv2d<4, 3>>();
  agree_behind<C, concat<identity, conv2d<8, 3>>, concat<identity, conv2d<8, 3>>,
               concat<conv_module<8, 1, 1>, identity>, conv2d<4, 1>>();
  agree_behind<C, concat<identity, identity, avg_pool2d<1>>, batch_norm<>, relu, conv2d<C, 1>>();
  agree_behind<C, conv2d<16, 3>, concat<batch_norm<>, batch_norm<>>,
               conv2d<4, 1>>();  // two of one convolution's moments
  agree_behind<C, concat<conv2d<4, 3, 3, 2, valid>, max_pool2d<3, 2>, avg_pool2d<3, 2>>, conv2d<C, 1>>();
  agree_behind<C, add<identity, conv2d<C, 3>>, add<conv2d<C, 1>, conv2d<C, 3>, identity>>();
  agree_behind<C, add<conv2d<20, 3, 3, 2>, conv2d<20, 1, 1, 2>, conv2d<20, 2, 2, 2>>, batch_norm<>>();
  agree_behind<C, add<sequential<conv_module<6, 1, 1>, conv2d<C, 3>, batch_norm<>>, identity>, relu, conv2d<3, 1>>();
  agree_behind<C, add<concat<conv2d<C - 4, 1>, conv2d<4, 1>>, identity, identity>, conv2d<3, 3>>();
  agree_behind<C, multiply<identity, sequential<global_avg_pool2d, conv2d<C, 1>, sigmoid>>, conv2d<4, 3>>();
  agree_behind<C, concat<multiply<conv2d<1, 1>, identity>, multiply<dsl::tanh, conv2d<C, 3>>>, conv2d<4, 1>>();
}
/// Checks the operations that have a fixture.
template <int C>
void check_operations() {
  for_each_body<C>(
      []<op, class Body>(int) { []<class... Layers>(types<Layers...>) { agree_behind<C, Layers...>(); }(Body{}); });
}
template <int C>
void check_on_pictures() {
  using picture = image<C, 6, 5>;
  agree_on<picture>();
  agree_on<picture, batch_norm<>, conv2d<4, 3>>();
  agree_on<picture, batch_norm<>, relu, max_pool2d<2>>();
  agree_on<picture, max_pool2d<3, 2>, conv2d<4, 3>, max_pool2d<1>>();
  agree_on<picture, avg_pool2d<2>, batch_norm<>, relu>();
  agree_on<picture, global_avg_pool2d>();
  agree_on<picture, relu, conv2d<4, 1>>();
  agree_on<picture, zero_pad2d<1, 0, 2, 3>, conv2d<4, 3>>();
  agree_on<picture, conv2d<C, 3>, softmax2d, conv2d<4, 1>>();
  agree_on<picture, silu, dropout<0.4>>();
  agree_on<picture, dropout<0.4>, conv2d<4, 3>>();
  agree_on<picture, frozen<dropout<0.4>, conv2d<C, 3>>, conv2d<4, 3>>();  // inference reads the picture
  agree_on<picture, elementwise<bump>, conv2d<4, 3>>();
  agree_on<picture, concat<identity, conv_module<16, 1, 1>, max_pool2d<1>>, conv2d<4, 1>>();
  agree_on<picture, add<identity, conv2d<C, 3>>, conv2d<4, 1>>();
  agree_on<image<C, 1, 1>, conv2d<17, 1>, relu, conv2d<C, 3>, batch_norm<>, add<identity, conv2d<C, 1>>,
           max_pool2d<1>>();
  agree_for<features<C>, dense<20>, dsl::tanh, dense<7>, batch_norm<>, relu, dropout<0.3>, dense<6>, softmax>();
  agree_for<features<C>, dense<9>, concat<softmax, identity, dense<4>>, add<identity, dense<22>>, dense<6>, sigmoid>();
}

inline void check_ends() {
  agree_for<image<3, 4, 5>, conv2d<17, 3>>();
  agree_for<image<3, 4, 5>, conv2d<17, 3>, batch_norm<>, relu>();
  agree_for<image<3, 4, 5>, concat<conv2d<17, 3>, conv_module<16, 1, 1>>, sigmoid>();
  agree(network<image<3, 4, 5>, conv2d<4, 3>, flatten, dense<5>>::view(), 3, torch, {checked_blocks()[0]});
}

/// Checks random networks, drawn from seeds.
inline void check_random_networks(int count) {
  std::vector<int> const blocks = checked_blocks();
  count = count * of_five / 5;
  for (std::uint64_t seed = 0; seed < static_cast<std::uint64_t>(count); ++seed) {
    dice d(seed);
    int const block = blocks[d.percent(50) ? 0 : blocks.size() - 1];
    random_network const g(d, block, seed % 2 == 0);
    engine_options o = d.percent(50) ? keras : plain_sgd;
    o.loss = g.ends_in_softmax() ? loss::categorical_crossentropy : loss::mean_squared_error;
    INFO("random network " << seed);
    agree(g.view(), d.between(1, 4), o, {block, d.percent(50), d.percent(20) ? 2 : 1});
  }
}

/// One training step of MiniGoogLeNet on a fixed batch, and what reference in double makes of it.
struct minigooglenet_step {
  using model = network<image<3, 32, 32>, minigooglenet<10>>;
  static constexpr int batch = 4;
  std::vector<float> x = std::vector<float>(batch * 3 * 32 * 32);
  std::vector<std::int32_t> labels{3, 1, 4, 1};
  values state, outcome;

  minigooglenet_step() {
    dice d(5);
    for (float& v : x) v = static_cast<float>(d.below(256)) / 64 - 2;
    run<double>(reference<double>{}.make_engine(model::view(), keras), state, outcome);
  }
  template <class T>
  void run(std::unique_ptr<dsl::engine> engine, values& state_after, values& outcome_after) const {
    side<T> it(std::move(engine), batch);
    initialize(it.engine(), 5);
    dsl::test::one_batch const pictures{x.data(), {labels.data()}, batch, 0, 0.01};
    it.run(mode::training, pictures);
    state_after = it.state();
    outcome_after = it.outcome(pictures);
  }
};

/// Compares one training step of MiniGoogLeNet. A ReLU whose input is within float's error of zero, about 1e-5 of the
/// deviation, may have the other sign: then a share of 1e-5 of all gradients differs, and their norm by the square root
/// of that, 3e-3. Transforms that round four times as much flip four times as many, which doubles it; so does a single
/// flip among few gradients.
inline void check_minigooglenet(std::unique_ptr<dsl::engine> checked, double bound = 5e-3) {
  static minigooglenet_step const expected;  // seconds of computing that every executor is compared with
  values b, outcome;
  expected.run<float>(std::move(checked), b, outcome);
  values const& a = expected.state;
  CHECK(a.of.at({4, 0})[0] == approx(b.of.at({4, 0})[0]).epsilon(1e-4));
  for (auto const& [key, v] : a.of) {
    numbers const& w = b.of.at(key);
    double squares = 0, error = 0;
    for (std::size_t i = 0; i < v.size(); ++i) squares += v[i] * v[i], error += (v[i] - w[i]) * (v[i] - w[i]);
    INFO("kind " << key.first << ", parameter " << key.second << ": error " << std::sqrt(error) << " of "
                 << std::sqrt(squares));
    CHECK(std::sqrt(error) <= bound * std::sqrt(squares) + 1e-6);
  }
  difference worst;
  char const* const outcomes[] = {"evaluated loss", "evaluated right answers", "result"};
  expected.outcome.compare(outcome, outcomes, worst);
  INFO(worst.where);
  CHECK(worst.size < 1e-3);
}

/// Returns parameters, slots and gradients after some steps, for comparing their bits.
inline std::vector<float> trained(graph_view const& g, int batch, setup const& c) {
  auto const e = make_checked(g, keras, c);
  initialize(*e, 21);
  dice d(22);
  std::vector<float> x(static_cast<std::size_t>(batch * g.shape_of(0).size()));
  for (float& v : x) v = static_cast<float>(d.below(256)) / 64 - 2;
  std::vector<std::int32_t> labels;
  for (int n = 0; n < batch; ++n) labels.push_back(d.below(static_cast<int>(g.shape_of(g.result()).size())));
  int const program = e->prepare(mode::training, batch);
  for (std::uint64_t step = 0; step < 3; ++step)
    e->run(program, dsl::test::one_batch{x.data(), {labels.data()}, batch, step, 0.05});
  std::vector<float> all;
  for (int k = 0; k < g.size.parameters; ++k) {
    auto const count = static_cast<std::size_t>(g.parameters[k].count());
    all.resize(all.size() + count);
    e->read_parameter(k, all.data() + all.size() - count);
  }
  all.push_back(static_cast<float>(e->metrics(program).loss));
  return all;
}
inline bool same_bits(std::vector<float> const& a, std::vector<float> const& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

}  // namespace dsl::test
