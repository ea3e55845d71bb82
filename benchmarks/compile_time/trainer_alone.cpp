// SPDX-License-Identifier: MIT
// The program of trainer.cpp, but the executor is made in another file, as docs/executors.md shows. This part is
// compiled again when the network changes.
#include <dsl/dsl.hpp>

using model = dsl::network<dsl::image<3, 32, 32>, dsl::minigooglenet<10>>;

struct made_elsewhere {
  std::unique_ptr<dsl::engine> make_engine(dsl::graph_view const& g, dsl::engine_options const& o) const;
};

dsl::history train(dsl::dataset const& data) {
  auto trainer = dsl::compile<model>(made_elsewhere{}, dsl::sgd{.learning_rate = 5e-3, .momentum = 0.9});
  return trainer.fit(data, {.epochs = 1, .batch_size = 64});
}
