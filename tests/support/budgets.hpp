// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/dsl.hpp>

#include <cstdint>
#include <cstring>
#include <vector>

#include "support/random_graph.hpp"

// Trainings with and without a memory budget, to compare their bits.

namespace dsl::test {

/// Every kind of operation whose value may be computed again.
using varied = network<image<3, 16, 16>, conv_module<16, 3, 3>, inception_module<16, 32>, downsample_module<16>,
                       dsl::tanh, residual<conv2d<64, 3, 3>, batch_norm<>, gelu>, conv2d<32, 3, 3>, layer_norm<>,
                       dropout<0.3>, add<conv2d<32, 1, 1>, sequential<conv_module<32, 3, 3>, stochastic_depth<0.5>>>,
                       max_pool2d<3, 2>, flatten, dense<24>, relu, dropout<0.2>, dense<10>, softmax>;

/// A memory_budget that only the engine checks, so that the compiler need not search.
template <int Batch, long long Bytes, class Network>
struct within : Network {
  static constexpr memory_limit limit{Bytes, Batch};
};

/// A batch that is the same on every machine.
struct samples {
  std::vector<float> images;
  std::vector<std::int32_t> labels;

  samples(shape const& s, int size) {
    dice d(7);
    for (long long i = 0; i < size * s.size(); ++i) images.push_back(static_cast<float>(d.below(2001) - 1000) / 500.0F);
    for (int i = 0; i < size; ++i) labels.push_back(d.below(10));
  }
};

/// Trains a few steps and returns all parameters and running statistics, and the losses' bits.
template <class Network, class Executor>
std::vector<float> trained(Executor const& on, int size, int steps, compile_options const& o = {.seed = 3}) {
  samples const batch(Network::view().shape_of(0), size);
  trainer t = compile<Network>(on, sgd{.learning_rate = 0.01, .momentum = 0.9}, o);
  std::vector<float> all;
  for (int i = 0; i < steps; ++i) all.push_back(static_cast<float>(t.train_on_batch(batch.images, batch.labels).loss));
  for (int k = 0; k < Network::view().size.parameters; ++k) {
    std::vector<float> v(static_cast<std::size_t>(Network::view().parameters[k].count()));
    t.engine().read_parameter(k, v.data());
    all.insert(all.end(), v.begin(), v.end());
  }
  return all;
}

inline bool same_bits(std::vector<float> const& a, std::vector<float> const& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

}  // namespace dsl::test
