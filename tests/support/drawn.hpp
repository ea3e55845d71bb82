// SPDX-License-Identifier: MIT
#pragma once

#include "support/one_batch.hpp"

#include <dsl/dsl.hpp>

#include <vector>

// Random inputs on which engines are compared: three networks, two sets of options, batches and data sets.

namespace dsl::test {

using mixed_network = network<image<3, 9, 9>, conv_module<8, 3, 3>, inception_module<4, 4>, downsample_module<4>,
                              inception_module<8, 8>, avg_pool2d<4>, dropout<0.3>, flatten, dense<5>, softmax>;
using odd_network = network<image<3, 8, 7>, conv2d<5, 3>, leaky_relu<>, concat<identity, conv2d<3, 3>, max_pool2d<1>>,
                            add<conv2d<6, 1>, sequential<conv2d<6, 3>, dsl::tanh>>, max_pool2d<2, 2>,
                            conv2d<7, 3, 3, 2>, silu, flatten, dense<9>, sigmoid, dense<4>, softmax>;

// Four dense layers are large enough for a library: two of them add to one gradient, one reads rows of 151 numbers.
using wide_network = network<image<5, 4, 4>, flatten, dense<96>, leaky_relu<>, concat<dense<64>, dense<7>, dense<80>>,
                             dsl::tanh, dense<64>, dense<4>, softmax>;

inline engine_options const keras_rules{.seed = 11, .update = {.momentum = 0.9}, .verify = &verify};
inline engine_options const torch_rules{.seed = 12,
                                        .update = {.momentum = 0.9, .weight_decay = 0.01, .rate_in_velocity = false},
                                        .loss = loss::mean_squared_error,
                                        .batch_norm_momentum = 0.8,
                                        .unbiased_running_variance = true,
                                        .verify = &verify};

/// Random pictures and labels of a batch.
struct drawn_batch {
  std::vector<float> images;
  std::vector<std::int32_t> labels;
  int size;

  drawn_batch(graph_view const& g, int n, std::uint64_t seed) : size(n) {
    dsl::detail::random_stream random(seed, dsl::detail::purpose::user, 0);
    images.resize(static_cast<std::size_t>(n * g.shape_of(g.nodes[0].output).size()));
    auto const vocabulary = static_cast<std::uint32_t>(vocabulary_of(g, 0));
    for (float& x : images) x = vocabulary > 0 ? static_cast<float>(random.below(vocabulary)) : random.uniform(-1, 1);
    auto const classes = static_cast<std::uint32_t>(g.shape_of(g.result()).size());
    for (int i = 0; i < n; ++i) labels.push_back(static_cast<std::int32_t>(random.below(classes)));
  }
  one_batch view(std::uint64_t step, double rate) const { return {images.data(), {labels.data()}, size, step, rate}; }
};

/// Returns `count` random pictures whose brightness tells the class.
inline dataset drawn_data(shape const& picture, int classes, int count) {
  dsl::detail::random_stream random(4, dsl::detail::purpose::user, 0);
  std::vector<std::uint8_t> pixels;
  std::vector<std::int32_t> labels;
  for (int n = 0; n < count; ++n) {
    labels.push_back(static_cast<std::int32_t>(random.below(static_cast<std::uint32_t>(classes))));
    std::uint32_t const base = 200U * static_cast<std::uint32_t>(labels.back()) / static_cast<std::uint32_t>(classes);
    for (long long i = 0; i < picture.size(); ++i) pixels.push_back(static_cast<std::uint8_t>(base + random.below(56)));
  }
  dataset all = in_memory_dataset(picture, classes, std::move(pixels), std::move(labels));
  all.mean = mean_picture(all);
  return all;
}

inline std::vector<float> parameter_of(engine& e, int k) {
  std::vector<float> values(static_cast<std::size_t>(e.graph().parameters[k].count()));
  e.read_parameter(k, values.data());
  return values;
}
inline std::vector<float> result_of(engine& e, int program, int batch) {
  std::vector<float> y(static_cast<std::size_t>(batch * e.graph().shape_of(e.graph().result()).size()));
  e.read_result(program, y.data());
  return y;
}

}  // namespace dsl::test
