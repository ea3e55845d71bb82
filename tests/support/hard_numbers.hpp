// SPDX-License-Identifier: MIT
#pragma once

#include "support/one_batch.hpp"
#include "support/catch.hpp"

#include <dsl/dsl.hpp>
#include <dsl/towers.hpp>

#include <cmath>
#include <limits>
#include <vector>

// Checks with numbers that are hard for sums and comparisons, for every executor.
namespace dsl::test {

/// Checks the batch variance, from a batch_norm with momentum 0, for numbers near `offset`, against that of the same
/// floats in double. The result is a float, so only its own rounding is allowed. Planes of 45 x 45 pixels are odd. The
/// relu lets an executor choose the layout and, since all numbers are positive, changes none; neither does a
/// convolution in its place that multiplies by 1, whose results an executor may sum while it writes them.
template <int Channels, class First = relu, class Executor>
void check_variance_near(float offset, Executor const& on, int towers = 1) {
  using model = network<image<Channels, 45, 45>, First, batch_norm<0.0>, global_avg_pool2d, dense<2>, softmax>;
  int const batch = 6;
  detail::random_stream random(1, detail::purpose::user, 0);
  std::vector<float> x(static_cast<std::size_t>(batch * model::input.size()));
  for (float& v : x) v = offset + random.uniform(-1.0F, 1.0F);
  std::vector<std::int32_t> const labels(batch);
  trainer t = [&] {
    if (towers == 1) return compile<model>(on, sgd{.learning_rate = 0});
    return compile<replicate<2, model, dsl::synchronized(dsl::all_reduce)>>(on, sgd{.learning_rate = 0});
  }();
  if (t.graph().parameters[0].count() == Channels * Channels) {
    std::vector<float> ones(Channels * Channels);
    for (std::size_t i = 0; i < ones.size(); i += Channels + 1) ones[i] = 1;
    t.engine().write_parameter(0, ones.data());
  }
  t.train_on_batch(x.data(), labels.data(), batch);
  std::vector<float> found(Channels);
  for (int k = 0; k < t.graph().size.parameters; ++k)
    if (t.graph().parameters[k].role == role::moving_variance) t.engine().read_parameter(k, found.data());
  for (int c = 0; c < Channels; ++c) {
    double sum = 0, squares = 0;
    auto const for_each = [&](auto f) {
      for (int n = 0; n < batch; ++n)
        for (int i = 0; i < 45 * 45; ++i)
          f(static_cast<double>(x[static_cast<std::size_t>((n * Channels + c) * 45 * 45 + i)]));
    };
    for_each([&](double v) { sum += v; });
    double const mean = sum / (batch * 45 * 45);
    for_each([&](double v) { squares += (v - mean) * (v - mean); });
    double const variance = squares / (batch * 45 * 45);
    INFO(Channels << " channels, number " << c << ", offset " << offset);
    CHECK(std::fabs(static_cast<double>(found[static_cast<std::size_t>(c)]) - variance) <= 0x1p-24 * 1.001 * variance);
  }
}

/// Checks inference with a NaN as the second of four numbers in one window: a convolution fused with batch_norm and
/// relu, then a max pool, must propagate it to that window's result in every channel, and to no other.
template <int Filters, class Executor>
void check_nan_is_kept(Executor const& on) {
  using model = network<image<16, 8, 8>, conv_module<Filters, 1, 1>, max_pool2d<2>>;
  trainer t = compile<model>(on, sgd{}, {.loss = loss::mean_squared_error});
  int const batch = 2;
  std::vector<float> x(static_cast<std::size_t>(batch * model::input.size()), 0.5F);
  x[static_cast<std::size_t>(model::input.size()) + 3 * 64 + 8 * 2 + 5] = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> y(static_cast<std::size_t>(batch * model::output.size()));
  int const program = t.engine().prepare(mode::inference, batch);
  t.engine().run(program, dsl::test::one_batch{x.data(), {}, batch});
  t.engine().read_result(program, y.data());
  for (int n = 0; n < batch; ++n)
    for (int c = 0; c < Filters; ++c)
      for (int i = 0; i < 16; ++i) {
        INFO("sample " << n << ", channel " << c << ", pixel " << i);
        CHECK(std::isnan(y[static_cast<std::size_t>((n * Filters + c) * 16 + i)]) == (n == 1 && i == 4 + 2));
      }
}

/// Checks the same for an unfused relu and max pool.
template <class Executor>
void check_nan_is_kept_unfused(Executor const& on) {
  using model = network<image<16, 4, 4>, relu, max_pool2d<4>>;
  trainer t = compile<model>(on, sgd{}, {.loss = loss::mean_squared_error});
  for (int place = 0; place < 16; ++place) {
    std::vector<float> x(static_cast<std::size_t>(model::input.size()), 0.5F);
    for (int c = 0; c < 16; c += 2)
      x[static_cast<std::size_t>(16 * c + place)] = -std::numeric_limits<float>::quiet_NaN();
    float y[16];
    int const program = t.engine().prepare(mode::inference, 1);
    t.engine().run(program, dsl::test::one_batch{x.data(), {}, 1});
    t.engine().read_result(program, y);
    for (int c = 0; c < 16; ++c) {
      INFO("place " << place << ", channel " << c);
      CHECK(std::isnan(y[c]) == (c % 2 == 0));
    }
  }
}

}  // namespace dsl::test
