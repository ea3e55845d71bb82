// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/math.hpp>
#include <dsl/dsl.hpp>
#include <dsl/models/gpt.hpp>
#include <dsl/placement.hpp>

#include "operations/all.hpp"
#include "support/all_functions.hpp"
#include "support/drawn.hpp"

// A network for each layer, and each variant of it, that an ONNX file has to represent.

namespace dsl::test {

struct own_softplus {
  static constexpr char const* name = "softplus";
  template <class T>
  static T value(T x) {
    return x + detail::log(1 + detail::exp(-x));
  }
  template <class T>
  static T derivative(T x) {
    return 1 / (1 + detail::exp(-x));
  }
};

/// A custom layer that adds a value to itself, followed by a convolution.
struct doubled {
  static constexpr value lower(builder& b, value in) {
    value const both[] = {in, in};
    return conv2d<2, 2>::lower(b, b.append({.kind = op::add}, both, 2, in.shape));
  }
};

/// Calls f.operator()<Network>(name) for each network.
template <class F>
void for_each_onnx_type(F f) {
  using picture = image<3, 9, 8>;
  f.template operator()<network<picture, conv2d<4, 3>>>("conv2d_same");
  f.template operator()<network<picture, conv2d<4, 3, 2>, conv2d<3, 2, 5>>>("conv2d_even");
  f.template operator()<network<picture, conv2d<4, 3, 3, 2>, conv2d<4, 2, 2, 2>>>("conv2d_strided");
  f.template operator()<network<picture, conv2d<4, 3, 3, 3>, conv2d<5, 1, 1, 2>>>("conv2d_unreached");
  f.template operator()<network<picture, conv2d<4, 3, 2, 2, padding::valid>>>("conv2d_valid");
  f.template operator()<network<picture, conv2d<4, 2, 3, 4, padding::valid>>>("conv2d_valid_unreached");
  f.template operator()<network<picture, conv2d<4, 3, stride<2>, pad<1>>, conv2d<3, 3, pad<2, 0, 0, 1>>>>(
      "conv2d_padded");
  f.template operator()<network<picture, conv2d<4, 3, stride<2, 1>>, conv2d<3, 2, stride<1, 3>, pad<1, 0>>>>(
      "conv2d_two_strides");
  f.template operator()<network<picture, conv2d<4, 3, dilation<2>>, conv2d<3, 3, 2, 2, dilation<1, 3>, pad<1>>>>(
      "conv2d_dilated");
  f.template operator()<network<picture, conv2d<4, 3, bias<false>>, relu, conv2d<3, 1, bias<false>>>>(
      "conv2d_unbiased");
  f.template operator()<network<picture, conv2d<4, 3, bias<false>>, batch_norm<>, relu>>("conv2d_unbiased_normed");
  f.template operator()<network<features<5>, conv2d<4, 1>, flatten, dense<3>, conv2d<2, 1>>>("conv2d_of_flat");
  f.template operator()<network<picture, conv2d<4, 1>, conv2d<6, 3, 3, 2, padding::same, 2>>>("conv2d_groups");
  f.template operator()<network<picture, conv2d<6, 2, 3, 1, padding::same, 3>>>("conv2d_depthwise");
  using series = sequence<3, 20>;
  f.template operator()<network<series, conv1d<4, 3, causal, dilation<2>>, conv1d<6, 5, 2, padding::valid>>>("conv1d");
  f.template operator()<network<series, conv1d<6, 4, groups<3>>, max_pool1d<3, 2, pad<1>>, avg_pool1d<2>>>("pool1d");
  f.template operator()<network<picture, conv2d_transpose<4, 2, stride<2>>>>("conv2d_transpose");
  f.template operator()<network<picture, conv2d_transpose<4, 3, 4, stride<3>, pad<1, 2, 0, 0>, bias<false>>>>(
      "conv2d_transpose_padded");
  f.template operator()<network<picture, conv2d<4, 1>, conv2d_transpose<6, 3, pad<0, 0, 1, 1>, groups<2>>>>(
      "conv2d_transpose_groups");
  f.template operator()<network<picture, conv2d_transpose<4, 2, 3, stride<2, 1>, dilation<3, 2>, pad<1, 0, 0, 0>>>>(
      "conv2d_transpose_dilated");
  f.template operator()<network<picture, batch_norm<>>>("batch_norm");
  f.template operator()<network<picture, batch_norm<0.9, 1e-5>, flatten, batch_norm<0.5, 0.1>>>("batch_norm_flat");

  f.template operator()<network<picture, layer_norm<>>>("layer_norm");
  f.template operator()<network<picture, conv2d<6, 1>, group_norm<3>, relu, group_norm<1, 0.1>>>("group_norm");
  f.template operator()<network<picture, flatten, group_norm<4>, dense<6>, group_norm<2>>>("group_norm_flat");
  f.template operator()<network<picture, conv2d<6, 1>, local_response_norm<5, 0.5>>>("local_response_norm");
  f.template operator()<network<features<6>, local_response_norm<3, 0.3, 0.6, 2.0>, dense<2>>>(
      "local_response_norm_flat");
  f.template operator()<network<picture, layer_norm<1e-3>, flatten, layer_norm<0.1>, dense<3>>>("layer_norm_flat");

  for_each_body<4>([&]<op Kind, class Body>(int number) {
    [&]<class... Layers>(types<Layers...>) {
      if constexpr (fixture<Kind>::in_onnx != in_file::refused)
        f.template operator()<network<image<3, 4, 6>, conv2d<4, 1>, Layers...>>(
            (operations::table[static_cast<int>(Kind)].name + std::to_string(number)).c_str());
    }(Body{});
  });
  for_each_function([&]<int Number>() {
    f.template operator()<network<picture, activation_layer<Number>, flatten, activation_layer<Number>>>(
        operations::activations[Number].name);
  });
  f.template operator()<network<picture, leaky_relu<>, elu<>>>("default_alpha");
  f.template operator()<network<picture, elementwise<own_softplus>>>("elementwise");

  f.template operator()<network<picture, max_pool2d<2>>>("max_pool2d");
  f.template operator()<network<picture, max_pool2d<3, 2>, max_pool2d<2, 1>>>("max_pool2d_strided");
  f.template operator()<network<picture, max_pool2d<3, stride<2, 1>, pad<1>>, avg_pool2d<kernel<1, 2>>>>(
      "pools_with_two_strides");
  f.template operator()<network<picture, avg_pool2d<2>>>("avg_pool2d");
  f.template operator()<network<picture, avg_pool2d<3, 2>, avg_pool2d<2, 1>>>("avg_pool2d_strided");
  f.template operator()<network<picture, max_pool2d<3, 2, pad<1>>, max_pool2d<3, 2, ceil_mode>>>("max_pool2d_padded");
  f.template operator()<network<picture, avg_pool2d<3, 1, pad<1, 0, 0, 1>>>>("avg_pool2d_padded");
  f.template operator()<network<picture, avg_pool2d<3, 2, pad<1>, count_padding<false>, ceil_mode>>>(
      "avg_pool2d_padding_uncounted");
  f.template operator()<network<image<3, 4, 4>, avg_pool2d<4, 1, pad<0, 0, 1, 1>>, flatten, dense<2>>>(
      "avg_pool2d_as_large_as_the_picture");
  f.template operator()<network<picture, global_avg_pool2d>>("global_avg_pool2d");
  f.template operator()<network<picture, global_avg_pool2d, dense<4>, softmax>>("global_avg_pool2d_dense");

  f.template operator()<network<picture, upsample2d<2>, upsample2d<3>>>("upsample2d");
  f.template operator()<network<picture, zero_pad2d<1, 2, 3, 0>, max_pool2d<3, 2>>>("zero_pad2d");
  f.template operator()<network<features<5>, zero_pad2d<1>, max_pool2d<2, 1>>>("zero_pad2d_flat");
  f.template operator()<network<picture, zero_pad2d<1>, conv2d<4, 3, pad<0>>, zero_pad2d<1, 0, 0, 0>,
                                avg_pool2d<3, 1, pad<1>>, zero_pad2d<0>, relu, zero_pad2d<0>, conv2d<2, 3>>>(
      "zero_pad2d_before_windows");
  f.template operator()<network<picture, upsample2d<2, interpolation::bilinear>>>("upsample2d_bilinear");
  f.template operator()<network<features<5>, upsample2d<3, interpolation::bilinear>, conv2d<2, 3>>>("upsample2d_flat");

  f.template operator()<network<picture, conv2d<5, 1>, channel_slice<1, 3>>>("channel_slice");
  f.template operator()<network<features<6>, dense<6>, channel_slice<2, 4>, channel_shuffle<2>>>("channels_flat");
  f.template operator()<network<picture, conv2d<6, 1>, channel_shuffle<3>>>("channel_shuffle");
  f.template operator()<network<picture, conv2d<4, 1>, channel_split<identity, conv2d<3, 1>>>>("channel_split");

  f.template operator()<network<picture, concat<identity, conv2d<2, 3>, max_pool2d<1>>>>("concat");
  f.template operator()<network<image<3, 2, 2>, concat<flatten, global_avg_pool2d, sequential<flatten, dense<2>>>>>(
      "concat_flat");
  f.template operator()<network<picture, add<identity, conv2d<3, 3>>>>("add");
  f.template operator()<network<picture, add<identity, conv2d<3, 3>, relu>>>("add_three");
  f.template operator()<network<picture, global_avg_pool2d, add<identity, dense<3>>, dense<2>>>("add_flat");
  f.template operator()<network<picture, multiply<identity, conv2d<3, 3>>>>("multiply");
  f.template
  operator()<network<picture, multiply<sequential<global_avg_pool2d, flatten, dense<3>, sigmoid>, identity>>>(
      "multiply_gates");
  f.template operator()<network<picture, multiply<conv2d<1, 3>, sequential<global_avg_pool2d, conv2d<4, 1>>>>>(
      "multiply_both");
  f.template operator()<network<features<7>, multiply<dense<5>, sequential<dense<1>, sigmoid>>>>("multiply_flat");
  f.template operator()<network<picture, flatten>>("flatten");
  f.template operator()<network<picture, flatten, flatten, dense<4>>>("dense");
  f.template operator()<network<features<7>, dense<5>, relu, dense<3>, softmax>>("dense_of_features");
  f.template operator()<network<features<7>, softmax>>("softmax");
  f.template operator()<network<picture, conv2d<5, 1>, softmax2d>>("softmax2d");
  f.template operator()<network<picture, dropout<0.5>, relu, dropout<0.2>>>("dropout");
  f.template operator()<network<picture, pointwise_dense<4>, relu, flatten, pointwise_dense<3>>>("pointwise_dense");
  f.template operator()<network<token_numbers<6>, embedding<9, 4>, flatten, dense<3>>>("embedding");
  f.template operator()<network<image<1, 2, 3>, embedding<5, 3>, conv2d<2, 1>>>("embedding_in_rows");
  f.template operator()<network<picture, position_embedding, token_slice<2, 5>, relu>>("positions");
  f.template operator()<network<features<7>, position_embedding, dense<3>>>("positions_flat");
  f.template operator()<network<picture, class_token, relu, class_token, token_slice<0>, dense<2>>>("class_token");
  f.template operator()<network<picture, conv2d<12, 1>, attention<2>>>("attention");
  f.template operator()<network<picture, conv2d<9, 1>, concat<causal_attention<1>, causal_attention<3>>>>("causal");
  f.template operator()<network<token_numbers<7>, models::gpt<11, 2, 8, 2>>>("gpt");
  f.template operator()<network<picture, channel_scale, flatten, channel_scale, dense<2>>>("channel_scale");
  f.template operator()<network<picture, constant_scale<0.25>, conv2d<3, 1>, unscaled_batch_norm<>>>("constants");
  f.template operator()<network<picture, residual<conv2d<3, 1>, stochastic_depth<0.5>>>>("stochastic_depth");
  f.template operator()<network<picture, dropout<0.5>>>("dropout_alone");
  f.template operator()<network<picture, conv2d<2, 1>, doubled>>("own_layer");
  f.template operator()<network<picture, on<device<1>, conv_module<4, 3>>,
                                concat<on<device<2>, conv2d<2, 3>>, on<device<1>, relu>>, flatten, dense<3>, softmax>>(
      "placed");
  f.template operator()<
      network<picture, conv2d<4, 3>, tap<"x">, relu, tap<"y">, conv2d<4, 3>, add<identity, from<"x">>,
              channel_split<sequential<conv2d<2, 3>, tap<"z">>, sequential<add<identity, from<"z">>, conv2d<2, 1>>>,
              concat<identity, from<"y">>>>("taps");
  // The layers run in another order than the branches of the concat.
  f.template operator()<network<picture, tap<"in">, conv2d<2, 3>, tap<"first">, from<"in">, conv2d<2, 1>, tap<"second">,
                                concat<identity, from<"first">>, add<identity, concat<from<"first">, from<"second">>>>>(
      "taps_in_turn");
  f.template operator()<mixed_network>("mixed");
  f.template operator()<odd_network>("odd");
}

/// Calls f(name, graph) for each network. What f does is compiled only once.
template <class F>
void for_each_onnx_network(F f) {
  for_each_onnx_type([&]<class Network>(char const* name) { f(name, Network::view()); });
}

/// Returns a trainer on plain loops, with random weights and running statistics that keep values near 1.
inline trainer drawn_trainer(graph_view const& network, std::uint64_t seed = 1) {
  trainer t(reference<float>{}.make_engine(network, {.loss = loss::mean_squared_error}), 0.01);
  graph_view const& g = t.graph();
  detail::random_stream random(seed, detail::purpose::user, 1);
  for (int k = 0; k < g.size.parameters; ++k) {
    parameter const& p = g.parameters[k];
    if (p.constant) continue;
    std::vector<float> values(static_cast<std::size_t>(p.count()));
    float const size = p.role == role::kernel ? 1.7F / detail::sqrt(static_cast<float>(p.fan_in)) : 0.5F;
    for (float& v : values) v = random.uniform(-size, size);
    if (p.role == role::gamma || p.role == role::moving_variance)
      for (float& v : values) v += 1;
    t.engine().write_parameter(k, values.data());
  }
  return t;
}
template <class Network>
trainer drawn_trainer(std::uint64_t seed = 1) {
  return drawn_trainer(Network::view(), seed);
}

inline std::vector<float> predicted(trainer& t, drawn_batch const& batch) {
  std::vector<float> y(static_cast<std::size_t>(batch.size * t.graph().shape_of(t.graph().result()).size()));
  t.predict_on_batch(batch.images.data(), batch.size, y.data());
  return y;
}

}  // namespace dsl::test
