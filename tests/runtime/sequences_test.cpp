// SPDX-License-Identifier: MIT
// Tests layers over sequences: convolutions and pools against loops written out here, bits against the same layers over
// images of one row, and the shapes of weights in files.
#include "support/catch.hpp"
#include "support/random_graph.hpp"

#include <dsl/dsl.hpp>
#include <dsl/io/weight_layout.hpp>
#include <dsl/models.hpp>
#include <dsl/training/weights.hpp>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

using namespace dsl;
using dsl::test::dice;

namespace {

using numbers = std::vector<float>;
using dims = std::vector<std::uint64_t>;
using names = std::vector<std::string>;

numbers random_numbers(std::size_t count, std::uint64_t seed) {
  dice d(seed);
  numbers all(count);
  for (float& x : all) x = static_cast<float>(d.below(2001) - 1000) / 1000;
  return all;
}

/// Returns what a network of one layer gives for a sample, with these weights one parameter after the other.
template <class Network>
numbers given(numbers const& x, numbers const& weights) {
  trainer t = compile<Network>(reference{}, sgd{}, {.loss = loss::mean_squared_error});
  std::size_t at = 0;
  for (int k = 0; k < Network::view().size.parameters; ++k) {
    t.engine().write_parameter(k, weights.data() + at);
    at += static_cast<std::size_t>(Network::view().parameters[k].count());
  }
  REQUIRE(at == weights.size());
  numbers y(static_cast<std::size_t>(Network::output.size()));
  t.predict_on_batch(x, y);
  return y;
}

/// A convolution along a sequence, by its definition.
struct by_hand {
  int channels, length, filters, kernel, stride, dilation, before, out, groups;

  numbers operator()(numbers const& x, numbers const& w) const {
    numbers y;
    int const each = channels / groups;
    for (int f = 0; f < filters; ++f)
      for (int i = 0; i < out; ++i) {
        double sum = static_cast<double>(w[static_cast<std::size_t>(filters * each * kernel + f)]);
        for (int c = 0; c < each; ++c)
          for (int k = 0; k < kernel; ++k) {
            int const from = i * stride - before + k * dilation;
            int const channel = f / (filters / groups) * each + c;
            if (from >= 0 && from < length)
              sum += static_cast<double>(w[static_cast<std::size_t>((f * each + c) * kernel + k)]) *
                     static_cast<double>(x[static_cast<std::size_t>(channel * length + from)]);
          }
        y.push_back(static_cast<float>(sum));
      }
    return y;
  }
};

template <class Layer>
void agrees(by_hand const& loop) {
  using net = network<sequence<4, 11>, Layer>;
  REQUIRE(net::output == shape{loop.filters, 1, loop.out});
  REQUIRE(loop.channels == 4);
  REQUIRE(loop.length == 11);
  numbers const x = random_numbers(44, 1), w = random_numbers(net::parameter_count, 2);
  numbers const ours = given<net>(x, w), theirs = loop(x, w);
  REQUIRE(ours.size() == theirs.size());
  // At most 4 * 5 products of numbers below 1, and a bias.
  for (std::size_t i = 0; i < ours.size(); ++i) CHECK(std::abs(ours[i] - theirs[i]) <= 21 * 21 * 1.2e-7F);
}

/// Trains both networks for three steps, and compares the bits of all weights.
template <class One, class Other>
void same_bits() {
  auto const trained = [](auto net) {
    using model = decltype(net);
    trainer t = compile<model>(native{.threads = 2}, adam{.learning_rate = 1e-2}, {.seed = 5});
    for (std::uint64_t step = 0; step < 3; ++step)
      t.train_on_batch(random_numbers(static_cast<std::size_t>(4 * model::input.size()), step),
                       std::vector{0, 1, 2, 1});
    return detail::read_weights(t.engine());
  };
  numbers const one = trained(One{}), other = trained(Other{});
  REQUIRE(one.size() == other.size());
  CHECK(std::memcmp(one.data(), other.data(), one.size() * sizeof(float)) == 0);
}

}  // namespace

TEST_CASE("sequences: a convolution is what its definition says") {
  agrees<conv1d<3, 3>>({4, 11, 3, 3, 1, 1, 1, 11, 1});
  agrees<conv1d<3, 4>>({4, 11, 3, 4, 1, 1, 1, 11, 1});  // same: the odd zero comes behind
  agrees<conv1d<3, 3, 2, padding::valid>>({4, 11, 3, 3, 2, 1, 0, 5, 1});
  agrees<conv1d<3, kernel<5>, stride<3>, pad<2>>>({4, 11, 3, 5, 3, 1, 2, 4, 1});
  agrees<conv1d<3, 2, pad<0, 1, 0, 0>>>({4, 11, 3, 2, 1, 1, 1, 11, 1});
  agrees<conv1d<3, 3, dilation<4>, padding::valid>>({4, 11, 3, 3, 1, 4, 0, 3, 1});
  agrees<conv1d<3, 3, causal>>({4, 11, 3, 3, 1, 1, 2, 11, 1});
  agrees<conv1d<3, 3, causal, dilation<3>, stride<2>>>({4, 11, 3, 3, 2, 3, 6, 6, 1});
  agrees<conv1d<6, 3, groups<2>>>({4, 11, 6, 3, 1, 1, 1, 11, 2});
  agrees<conv1d<8, 5, groups<4>, causal>>({4, 11, 8, 5, 1, 1, 4, 11, 4});
}

TEST_CASE("sequences: pools") {
  numbers const x{3, 1, 2, 5, -1, -2, /* second channel */ 0, -3, -1, -2, -4, -5};
  CHECK(given<network<sequence<2, 6>, max_pool1d<2>>>(x, {}) == numbers{3, 5, -1, 0, -1, -4});
  CHECK(given<network<sequence<2, 6>, max_pool1d<3, 2, pad<1>>>>(x, {}) == numbers{3, 5, 5, 0, -1, -2});
  CHECK(given<network<sequence<2, 6>, max_pool1d<4, 3, ceil_mode>>>(x, {}) == numbers{5, 5, 0, -2});
  CHECK(given<network<sequence<2, 6>, avg_pool1d<2, 4>>>(x, {}) == numbers{2, -1.5F, -1.5F, -4.5F});
  CHECK(given<network<sequence<2, 6>, avg_pool1d<2, 5, pad<1>>>>(x, {}) == numbers{1.5F, -1.5F, 0, -4.5F});
  CHECK(given<network<sequence<2, 6>, avg_pool1d<2, 5, pad<1>, count_padding<false>>>>(x, {}) ==
        numbers{3, -1.5F, 0, -4.5F});
  CHECK(given<network<sequence<1, 4>, global_avg_pool1d>>({1, 2, 3, 6}, {}) == numbers{3});
}

TEST_CASE("sequences: layers have the bits of the same layers over images of one row") {
  same_bits<
      network<sequence<3, 40>, conv1d<16, 5>, batch_norm<>, relu, max_pool1d<2>, conv1d<32, 3, 2>, relu,
              conv1d<32, 3, groups<32>>, avg_pool1d<3, 2>, flatten, dense<3>, softmax>,
      network<image<3, 1, 40>, conv2d<16, 1, 5>, batch_norm<>, relu, max_pool2d<kernel<1, 2>>, conv2d<32, 1, 3, 2>,
              relu, conv2d<32, 1, 3, groups<32>>, avg_pool2d<kernel<1, 3>, stride<2>>, flatten, dense<3>, softmax>>();
}

TEST_CASE("sequences: weights have the shapes of Conv1d in files") {
  using net = network<sequence<4, 9>, conv1d<6, 3>, conv1d<12, 2, groups<6>>, flatten, dense<2>>;
  CHECK(weight_names(net::view()) == names{"0.weight", "0.bias", "1.weight", "1.bias", "3.weight", "3.bias"});
  CHECK(weight_names(net::view(), {.convention = weight_convention::keras}) ==
        names{"conv1d/kernel", "conv1d/bias", "depthwise_conv1d/kernel", "depthwise_conv1d/bias", "dense/kernel",
              "dense/bias"});
  weight_layout const torch(net::view(), weight_convention::torch), keras(net::view(), weight_convention::keras);
  CHECK(torch.shape(0) == dims{6, 4, 3});
  CHECK(torch.shape(2) == dims{12, 1, 2});
  CHECK(keras.shape(0) == dims{3, 4, 6});
  CHECK(keras.shape(2) == dims{2, 6, 2});
  numbers ours(72), theirs(72);
  for (std::size_t i = 0; i < 72; ++i) ours[i] = static_cast<float>(i);
  torch.from_ours(0, ours.data(), theirs.data());
  CHECK(theirs == ours);
  keras.from_ours(0, ours.data(), theirs.data());
  for (std::size_t f = 0; f < 6; ++f)
    for (std::size_t c = 0; c < 4; ++c)
      for (std::size_t k = 0; k < 3; ++k) CHECK(theirs[(k * 4 + c) * 6 + f] == ours[(f * 4 + c) * 3 + k]);
}

TEST_CASE("sequences: models have the layers of their papers") {
  using net = network<sequence<1, 128>, models::time_series_fcn<10>>;
  static_assert(net::output == shape{10});
  static_assert(net::trainable_parameter_count ==
                8 * 128 + 5 * 128 * 256 + 3 * 256 * 128 + (128 + 256 + 128) * 3 + 128 * 10 + 10);
  static_assert(network<sequence<3, 50>, models::time_series_fcn<2, 8>>::output == shape{2});
  CHECK(weight_layout(net::view(), weight_convention::torch).shape(0) == dims{128, 1, 8});
  using recurrent = network<sequence<2, 30>, models::time_series_lstm<3, 16>>;
  static_assert(recurrent::output == shape{3} && recurrent::parameter_count == 4 * 16 * (2 + 16 + 2) + 17 * 3);
  CHECK(weight_names(recurrent::view()) ==
        names{"lstm.weight_ih_l0", "lstm.weight_hh_l0", "lstm.bias_ih_l0", "lstm.bias_hh_l0", "fc.weight", "fc.bias"});
}
