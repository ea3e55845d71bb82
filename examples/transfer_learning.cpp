// SPDX-License-Identifier: MIT
// Learns new classes from few images: a body that was trained on many images of seven figures is frozen, and a new head
// learns to distinguish three others. For comparison, the same network learns them from scratch: transfer_learning
// [SEED]. The weights pass through the file transfer_learning.safetensors, which is removed at the end.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <vector>

#include <dsl/dsl.hpp>
#include <dsl/io/safetensors.hpp>

#include "refuse_existing.hpp"

namespace {
struct body : dsl::sequential<dsl::conv_module<24, 3, 3>, dsl::max_pool2d<2>, dsl::conv_module<32, 3, 3>,
                              dsl::max_pool2d<2>, dsl::conv_module<64, 3, 3>, dsl::max_pool2d<2>,
                              dsl::conv_module<128, 3, 3>, dsl::global_avg_pool2d> {};

using image = dsl::image<3, 32, 32>;
using before = dsl::network<image, body, dsl::flatten, dsl::dense<7>, dsl::softmax>;
using scratch = dsl::network<image, body, dsl::flatten, dsl::dense<3>, dsl::softmax>;
using transfer = dsl::network<image, dsl::frozen<body>, dsl::flatten, dsl::dense<3>, dsl::softmax>;

/// Returns the first `most` images of figures first, first + 1, ..., which become classes 0, 1, ...
dsl::dataset figures(dsl::dataset const& all, int first, int classes, std::size_t most) {
  std::vector<float> numbers;
  std::vector<std::int32_t> labels;
  for (std::int64_t i = 0; i < all.size && labels.size() < most; ++i) {
    if (all.label(i) < first || all.label(i) >= first + classes) continue;
    labels.push_back(all.label(i) - first);
    std::transform(all.pixels(i), all.pixels(i) + all.sample.size(), std::back_inserter(numbers),
                   [](std::uint8_t byte) { return static_cast<float>(byte) / 128 - 1; });
  }
  return dsl::in_memory_classes(all.sample, std::move(numbers), classes, std::move(labels));
}

template <class Model>
double learn_three(dsl::synthetic const& data, unsigned seed, char const* weights) {
  auto trainer = dsl::compile<Model>(dsl::adam{.learning_rate = 1e-2}, {.seed = seed, .batch_norm_momentum = 0.9});
  if (weights) dsl::load_safetensors(trainer, weights, {.skip_mismatch = true});  // all but the head
  trainer.fit(figures(data.train, 7, 3, 15), {.epochs = 20, .batch_size = 5});
  return 100 * trainer.evaluate(figures(data.test, 7, 3, 500)).acc;
}
}  // namespace

int main(int argc, char** argv) try {
  unsigned const seed = argc > 1 ? static_cast<unsigned>(std::strtoul(argv[1], nullptr, 10)) : 1;
  char const* const weights = "transfer_learning.safetensors";
  refuse_existing(weights, "move it away");
  dsl::synthetic const data = dsl::synthetic_pictures(1500, 1500, seed);
  auto trainer = dsl::compile<before>(dsl::adam{.learning_rate = 2e-3}, {.seed = seed, .batch_norm_momentum = 0.9});
  trainer.fit(figures(data.train, 0, 7, 1500), {.epochs = 6, .batch_size = 16});
  dsl::save_safetensors(trainer, weights);
  double const from_scratch = learn_three<scratch>(data, seed, nullptr);
  double const transferred = learn_three<transfer>(data, seed, weights);
  std::filesystem::remove(weights);
  std::printf("15 images of 3 new classes: %.1f %% accuracy with the frozen body, %.1f %% from scratch\n", transferred,
              from_scratch);
  return transferred >= from_scratch + 10 ? 0 : 1;
} catch (dsl::error const& e) {
  std::fprintf(stderr, "error: %s\n", e.what());
  return 1;
}
