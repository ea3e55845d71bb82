// SPDX-License-Identifier: MIT
// Names the shape of a wave: each sample is 128 noisy measurements of a sine, a square wave, a triangle or a sawtooth,
// of any period and phase. The network slides its kernels along the measurements.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <random>
#include <vector>

#include <dsl/dsl.hpp>

namespace {

constexpr int length = 128;
using model = dsl::network<dsl::sequence<1, length>,                                              // 1x128
                           dsl::conv1d<16, 7>, dsl::batch_norm<>, dsl::relu, dsl::max_pool1d<2>,  // 16x64
                           dsl::conv1d<32, 5>, dsl::batch_norm<>, dsl::relu, dsl::max_pool1d<2>,  // 32x32
                           dsl::conv1d<32, 3, dsl::dilation<2>>, dsl::batch_norm<>, dsl::relu,    // 32x32
                           dsl::global_avg_pool1d, dsl::flatten, dsl::dense<4>, dsl::softmax>;

/// Returns the wave's height at `turns`, from -1 to 1.
double height(int shape, double turns) {
  double const part = turns - std::floor(turns);
  if (shape == 0) return std::sin(2 * 3.14159265358979 * turns);
  if (shape == 1) return part < 0.5 ? 1 : -1;
  return shape == 2 ? 1 - 4 * std::abs(part - 0.5) : 2 * part - 1;
}

dsl::dataset measure(int count, unsigned seed) {
  std::mt19937 random(seed);
  auto const uniform = [&](double low, double high) { return std::uniform_real_distribution<>(low, high)(random); };
  std::normal_distribution<> noise(0, 0.3);
  std::vector<float> numbers;
  std::vector<std::int32_t> shapes;
  for (int i = 0; i < count; ++i) {
    shapes.push_back(i % 4);
    double const period = uniform(12, 40), phase = uniform(0, 1), loud = uniform(0.8, 1.2);
    double const direction = uniform(0, 1) < 0.5 ? 1 : -1;  // a sawtooth rises or falls
    for (int t = 0; t < length; ++t)
      numbers.push_back(static_cast<float>(loud * height(i % 4, direction * t / period + phase) + noise(random)));
  }
  return dsl::in_memory_classes({1, 1, length}, std::move(numbers), 4, std::move(shapes),
                                {"sine", "square", "triangle", "sawtooth"});
}

}  // namespace

int main() try {
  dsl::dataset const train = measure(3000, 1), test = measure(1000, 2);
  dsl::trainer trainer = dsl::compile<model>(dsl::native{}, dsl::adam{}, {.batch_norm_momentum = 0.9});
  trainer.fit(
      train,
      {.epochs = 15, .batch_size = 32, .callbacks = {dsl::learning_rate_schedule{dsl::poly_decay{5e-3, 15, 1.0}}}});
  double const right = trainer.evaluate(test).acc;
  std::printf("%.1f %% of %lld waves classified correctly\n", 100 * right, static_cast<long long>(test.size));
  return right > 0.9 ? 0 : 1;
} catch (dsl::error const& e) {
  std::fprintf(stderr, "error: %s\n", e.what());
  return 1;
}
