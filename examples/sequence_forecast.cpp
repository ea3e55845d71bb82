// SPDX-License-Identifier: MIT
// Forecasts a time series: from 40 noisy measurements of an oscillation, whose period, phase and height nobody states,
// an LSTM predicts the value six measurements later.
#include <cmath>
#include <cstdio>
#include <random>
#include <vector>

#include <dsl/dsl.hpp>
#include <dsl/models/time_series.hpp>
#include <dsl/training/regression_scores.hpp>

namespace {

constexpr int length = 40, ahead = 6;
using model = dsl::network<dsl::sequence<1, length>, dsl::models::time_series_lstm<1, /*units=*/32>>;

dsl::dataset measure(int count, unsigned seed) {
  std::mt19937 random(seed);
  auto const uniform = [&](double low, double high) { return std::uniform_real_distribution<>(low, high)(random); };
  std::normal_distribution<> noise(0, 0.05);
  std::vector<float> numbers, later;
  for (int i = 0; i < count; ++i) {
    double const period = uniform(9, 20), phase = uniform(0, 6.2831853), height = uniform(0.5, 1.5);
    auto const value = [&](int t) { return height * std::sin(6.2831853 * t / period + phase); };
    for (int t = 0; t < length; ++t) numbers.push_back(static_cast<float>(value(t) + noise(random)));
    later.push_back(static_cast<float>(value(length - 1 + ahead)));
  }
  return dsl::in_memory_values({1, 1, length}, std::move(numbers), 1, std::move(later));
}

/// Returns the R2 of a forecast that the value stays as it is.
double r2_of_the_last_value(dsl::dataset const& data) {
  double errors = 0, squares = 0;
  for (std::int64_t i = 0; i < data.size; ++i) {
    double const wanted = data.wanted(i)[0], last = data.reals(i)[length - 1];
    errors += (wanted - last) * (wanted - last), squares += wanted * wanted;  // their mean is nearly 0
  }
  return 1 - errors / squares;
}

}  // namespace

int main() try {
  dsl::dataset const train = measure(3000, 1), test = measure(1000, 2);
  dsl::trainer trainer = dsl::compile<model>(dsl::native{}, dsl::adam{}, {.loss = dsl::loss::mean_squared_error});
  trainer.fit(
      train,
      {.epochs = 25, .batch_size = 32, .callbacks = {dsl::learning_rate_schedule{dsl::poly_decay{1e-2, 25, 1.0}}}});
  dsl::regression_scores scores;
  trainer.evaluate(test, 64, &scores);
  std::printf("R2 of the LSTM: %.4f, of repeating the last value: %.4f\n", scores.r2(), r2_of_the_last_value(test));
  return scores.r2() > 0.95 ? 0 : 1;
} catch (dsl::error const& e) {
  std::fprintf(stderr, "error: %s\n", e.what());
  return 1;
}
