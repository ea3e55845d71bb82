// SPDX-License-Identifier: MIT
// Answers a question about an image: does it show the figure that the question names? Neither the image nor the
// question is enough by itself.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <random>
#include <utility>
#include <vector>

#include <dsl/data/with_input.hpp>
#include <dsl/dsl.hpp>

namespace {

using model = dsl::network<
    dsl::image<3, 32, 32>,
    dsl::concat<dsl::sequential<dsl::conv_module<16, 3, 3>, dsl::max_pool2d<2>, dsl::conv_module<32, 3, 3>,
                                dsl::max_pool2d<2>, dsl::conv_module<64, 3, 3>, dsl::global_avg_pool2d, dsl::flatten>,
                dsl::named_input<"question", dsl::features<10>>>,
    dsl::dense<64>, dsl::relu, dsl::dense<2>, dsl::softmax>;

/// Returns images, each with a question. The answer is yes for half of them.
dsl::dataset ask(dsl::dataset const& pictures, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<float> numbers, questions;
  std::vector<std::int32_t> answers;
  for (std::int64_t i = 0; i < pictures.size; ++i) {
    std::transform(pictures.pixels(i), pictures.pixels(i) + pictures.sample.size(), std::back_inserter(numbers),
                   [](std::uint8_t byte) { return static_cast<float>(byte) / 128 - 1; });
    answers.push_back(static_cast<std::int32_t>(random() % 2));
    unsigned const other = 1 + static_cast<unsigned>(random() % 9), figure = static_cast<unsigned>(pictures.label(i));
    unsigned const asked = (figure + (answers.back() == 1 ? 0 : other)) % 10;
    for (unsigned c = 0; c < 10; ++c) questions.push_back(c == asked ? 1.0F : 0.0F);
  }
  return dsl::with_input(
      dsl::in_memory_classes(pictures.sample, std::move(numbers), 2, std::move(answers), {"no", "yes"}), "question",
      {10}, std::move(questions));
}

}  // namespace

int main() try {
  dsl::synthetic const pictures = dsl::synthetic_pictures(4000, 1000, 1);
  dsl::dataset const train = ask(pictures.train, 1), test = ask(pictures.test, 2);
  dsl::trainer trainer =
      dsl::compile<model>(dsl::native{}, dsl::adam{.learning_rate = 3e-3}, {.batch_norm_momentum = 0.9});
  trainer.fit(
      train,
      {.epochs = 18, .batch_size = 32, .callbacks = {dsl::learning_rate_schedule{dsl::poly_decay{4e-3, 18, 1.0}}}});
  double const right = trainer.evaluate(test).acc;
  std::printf("%.1f %% of %lld questions answered correctly\n", 100 * right, static_cast<long long>(test.size));
  return right > 0.9 ? 0 : 1;
} catch (dsl::error const& e) {
  std::fprintf(stderr, "error: %s\n", e.what());
  return 1;
}
