// SPDX-License-Identifier: MIT
// examples/first_training.cpp
#include <dsl/dsl.hpp>
#include <dsl/text.hpp>

int main() {
  using model = dsl::network<dsl::image<3, 32, 32>, dsl::minigooglenet<10>>;
  dsl::check_plot("plot.png");  // fail now if gnuplot or the directory is missing, not after the training
  auto const data = dsl::synthetic_pictures(/*train=*/960, /*test=*/200, /*seed=*/1);  // or dsl::cifar10::load()
  auto trainer = dsl::compile<model>(dsl::sgd{.learning_rate = 0.02, .momentum = 0.9}, {.batch_norm_momentum = 0.9});
  auto const history = trainer.fit(
      data.train, {.epochs = 4,
                   .batch_size = 32,
                   .validation = &data.test,
                   .augment = dsl::shift_and_flip{.width = 0.1, .height = 0.1, .horizontal_flip = true},
                   .callbacks = {dsl::learning_rate_schedule{dsl::poly_decay{0.02, 4, 1.0}}, dsl::progress_bar{}}});
  dsl::plot(history, "plot.png");
}
