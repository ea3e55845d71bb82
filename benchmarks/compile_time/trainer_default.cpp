// SPDX-License-Identifier: MIT
// A user's translation unit without a library: MiniGoogLeNet planned and verified, the native executor with its kernels
// for all instruction sets, a training loop.
#include <dsl/dsl.hpp>

using model = dsl::network<dsl::image<3, 32, 32>, dsl::minigooglenet<10>>;

dsl::history train(dsl::dataset const& data) {
  auto trainer = dsl::compile<model>(dsl::sgd{.learning_rate = 5e-3, .momentum = 0.9});
  return trainer.fit(data, {.epochs = 1, .batch_size = 64});
}
