// SPDX-License-Identifier: MIT
// A user's translation unit: every header, MiniGoogLeNet planned and verified, the oneDNN executor, a training loop.
#include <dsl/dsl.hpp>
#include <dsl/executors/onednn.hpp>

using model = dsl::network<dsl::image<3, 32, 32>, dsl::minigooglenet<10>>;

dsl::history train(dsl::dataset const& data) {
  auto trainer = dsl::compile<model>(dsl::onednn{}, dsl::sgd{.learning_rate = 5e-3, .momentum = 0.9});
  return trainer.fit(data, {.epochs = 1, .batch_size = 64});
}
