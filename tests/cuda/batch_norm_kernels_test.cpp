// SPDX-License-Identifier: MIT
// Compares the batch_norm kernels, compiled as C++, with the plain loops in double.
#include "support/catch.hpp"

#include "cuda/batch_norm_layers.hpp"

#include <deque>

using namespace dsl_test;

namespace {

template <class T>
void train(group const& g, bool unbiased) {
  constexpr auto storage = storage_of<T>;
  long long const pixels = 1LL * g.batch * g.height * g.width;
  INFO(g.layers.size() << " layers, " << pixels << " pixels, first " << g.layers[0].channels << " channels");
  std::deque<layer<T>> all;
  kernels::batch_norm_forwards forwards{};
  kernels::batch_norm_gradients_of backwards{};
  kernels::batch_norm_gradients_of in_place{};
  for (std::size_t k = 0; k < g.layers.size(); ++k) {
    all.emplace_back(g.batch, dsl::shape{g.layers[k].channels, g.height, g.width}, g.layers[k], k % 2 == 0);
    forwards.layer[k] = all[k].forward();
    backwards.layer[k] = all[k].backward(false);
    in_place.layer[k] = all[k].backward(true);
  }

  auto const statistics = kernels::batch_norm_statistics(storage, pixels, g.layers, unbiased);
  meeting_place m(statistics);
  run(statistics, forwards, m.floats(), m.counters());
  run(kernels::batch_norm_apply(storage, pixels, g.layers), forwards);
  for (auto& l : all) {
    dsl::plain::batch_norm_forward<double>(l.x.read(), l.parameters(), l.statistics.wanted(), l.y.wanted(),
                                           l.spec.epsilon, l.spec.momentum, unbiased, l.spec.relu);
    l.statistics.check();
    l.moving_mean.check();
    l.moving_variance.check();
    l.y.check();
    l.avoid_edge();
  }

  auto const gradients = kernels::batch_norm_gradients(storage, pixels, g.layers);
  meeting_place n(gradients);
  run(gradients, backwards, n.floats(), n.counters());
  run(kernels::batch_norm_backward(storage, pixels, g.layers), backwards);
  for (auto& l : all) {
    l.plain_backward(l.dx.wanted(), l.spec.accumulate);
    l.dgamma.check();
    l.dbeta.check();
    // For a batch of one pixel 1 / sigma is large, and the terms that it multiplies cancel.
    if (pixels > 1) l.dx.check(2e-5);
  }

  // dx replaces x, as in plans.
  auto layers = g.layers;
  for (auto& l : layers) l.dx = l.x, l.accumulate = false;
  run(kernels::batch_norm_backward(storage, pixels, layers), in_place);
  for (auto& l : all) {
    l.plain_backward(l.x.wanted(), false);
    if (pixels > 1) l.x.check(2e-5);
  }
}

}  // namespace

TEMPLATE_TEST_CASE("batch_norm in training, alone and in groups", "[kernels]", float, bf16) {
  for (auto const& g : groups)
    for (bool const unbiased : {false, true}) train<TestType>(g, unbiased);
}

TEMPLATE_TEST_CASE("batch_norm with the running moments", "[kernels]", float, bf16) {
  for (auto const& g : groups) {
    std::deque<layer<TestType>> all;
    kernels::batch_norm_forwards forwards{};
    for (std::size_t k = 0; k < g.layers.size(); ++k) {
      all.emplace_back(g.batch, dsl::shape{g.layers[k].channels, g.height, g.width}, g.layers[k], false);
      forwards.layer[k] = all[k].forward();
    }
    run(kernels::batch_norm_inference(storage_of<TestType>, all[0].x.pixels(), g.layers), forwards);
    for (auto& l : all) {
      dsl::plain::batch_norm_forward<double>(l.x.read(), l.parameters(), nullptr, l.y.wanted(), l.spec.epsilon, 0,
                                             false, l.spec.relu);
      l.y.check();
      l.moving_mean.check(0);
    }
  }
}

TEST_CASE("a far mean and a wild first value don't spoil the variance", "[kernels]") {
  kernels::batch_norm_layer const how{4, {4}, {4}, {4}, false, false, 1e-9, 0.9};
  layer<float> l(2, {4, 60, 60}, how, false);
  // Channel 0: mean 1000, deviation 0.01. 1: the first pixel is an outlier. 2: all values are equal. 3: mean -1e6.
  l.x.fill([](int n, int c, long long i) {
    double const r = uniform(-1, 1);
    return c == 0 ? 1000 + 0.01 * r : c == 1 ? (n == 0 && i == 0 ? 1e4 : r) : c == 2 ? 3.0 : -1e6 + 100 * r;
  });
  kernels::batch_norm_forwards forwards{{l.forward()}};
  auto const spec = kernels::batch_norm_statistics(dsl::cu::storage::f32, l.x.pixels(), {&how, 1}, false);
  CHECK(spec.blocks_x > 1);
  meeting_place m(spec);
  run(spec, forwards, m.floats(), m.counters());
  dsl::plain::batch_norm_forward<double>(l.x.read(), l.parameters(), l.statistics.wanted(), l.y.wanted(), how.epsilon,
                                         how.momentum, false, false);
  for (std::size_t c = 0; c < 4; ++c) {
    INFO("channel " << c);
    double const deviation = 1 / l.statistics.expected[4 + c];
    double const mean = l.statistics.expected[c];
    CHECK(std::fabs(static_cast<double>(l.statistics.values[c]) - mean) < 1e-5 * deviation + 1e-7 * std::fabs(mean));
    CHECK(static_cast<double>(l.statistics.values[4 + c]) == approx(1 / deviation).epsilon(1e-4));
  }
}

TEST_CASE("a NaN in a batch stays one", "[kernels]") {
  kernels::batch_norm_layer const how{8, {8}, {8}, {8}, true, false, 1e-3, 0.9};
  layer<float> l(2, {8, 7, 7}, how, false);
  l.x.values[8 * 20 + 3] = std::nanf("");
  kernels::batch_norm_forwards forwards{{l.forward()}};
  auto const spec = kernels::batch_norm_statistics(dsl::cu::storage::f32, l.x.pixels(), {&how, 1}, false);
  meeting_place m(spec);
  run(spec, forwards, m.floats(), m.counters());
  run(kernels::batch_norm_apply(dsl::cu::storage::f32, l.x.pixels(), {&how, 1}), forwards);
  for (std::size_t c = 0; c < 8; ++c) {
    CHECK(std::isnan(l.statistics.values[c]) == (c == 3));
    CHECK(std::isnan(l.y.values[c]) == (c == 3));
  }
}

TEST_CASE("a launch normalises 1 to 4 tensors", "[kernels]") {
  std::vector<kernels::batch_norm_layer> const five(5, kernels::batch_norm_layer{4, {4}, {4}, {4}});
  CHECK_THROWS_AS(kernels::batch_norm_apply(dsl::cu::storage::f32, 9, five), dsl::executor_error);
  CHECK_THROWS_AS(kernels::batch_norm_apply(dsl::cu::storage::f32, 9, {}), dsl::executor_error);
  CHECK_THROWS_AS(kernels::batch_norm_apply(dsl::cu::storage::f32, 3'000'000'000, {five.data(), 1}),
                  dsl::executor_error);
}

TEMPLATE_TEST_CASE("the gradient of a frozen batch_norm", "[kernels]", float, bf16) {
  struct geometry {
    int batch;
    dsl::shape shape;
    dsl::cu::slice y, x;
  };
  geometry const geometries[] = {{2, {16, 4, 5}, {48, 16}, {16}},
                                 {3, {40, 1, 1}, {40}, {64, 24}},
                                 {1, {3, 5, 7}, {8, 5}, {3}},
                                 {2, {12, 3, 3}, {12}, {20, 8}}};
  for (auto const& [batch, shape, y, x] : geometries)
    for (bool const accumulate : {false, true})
      for (bool const in_place : {false, true}) {
        if (in_place && (accumulate || y.channels != x.channels)) continue;
        INFO(shape.channels << " channels of " << y.channels << ", to " << x.channels
                            << (in_place ? ", in place" : ""));
        layer<TestType> l(batch, shape, {.channels = shape.channels, .x = x, .y = y, .dx = x, .epsilon = 0.01}, false);
        tensor<TestType>& to = in_place ? l.dy : l.dx;
        run(kernels::frozen_batch_norm_backward(storage_of<TestType>, l.x.pixels(), shape.channels, 0.01, y, x,
                                                accumulate),
            static_cast<TestType const*>(l.dy.data()), static_cast<float const*>(l.gamma.data()),
            static_cast<float const*>(l.moving_variance.data()), to.data());
        dsl::plain::frozen_batch_norm_backward<double>(l.dy.read(), l.parameters(), to.wanted(), 0.01, accumulate);
        to.check();
      }
}
