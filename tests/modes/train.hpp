// SPDX-License-Identifier: MIT
// Included by two files of one program, of which one uses the headers alone and the other the compiled library.
#include <dsl/dsl.hpp>
#include <dsl/executors/native.hpp>
#include <dsl/towers.hpp>

#include <string>
#include <vector>

using model = dsl::network<dsl::image<3, 32, 32>, dsl::conv_module<8, 3, 3>, dsl::inception_module<4, 4>,
                           dsl::global_avg_pool2d, dsl::dense<10>, dsl::softmax>;

/// What trainings came to, and what a mistake is said to be: equal bits and words are expected of both files.
struct outcome {
  std::vector<float> predictions;
  std::vector<double> losses;
  std::string refusal;
  friend bool operator==(outcome const&, outcome const&) = default;
};

namespace {

void train(dsl::trainer trainer, outcome& all) {
  auto const data = dsl::synthetic_pictures(48, 16, /*seed=*/1);
  auto const past =
      trainer.fit(data.train, {.epochs = 2,
                               .batch_size = 16,
                               .validation = &data.test,
                               .augment = dsl::shift_and_flip{},
                               .callbacks = {dsl::learning_rate_schedule{dsl::poly_decay{5e-3, 2, 1.0}}}});
  for (dsl::epoch_record const& e : past.epochs)
    all.losses.push_back(e.train.loss), all.losses.push_back(e.validation.loss);
  auto const outputs = trainer.predict(data.test);
  all.predictions.insert(all.predictions.end(), outputs.begin(), outputs.end());
}

outcome train_all() {
  outcome all;
  dsl::sgd const optimizer{.learning_rate = 5e-3, .momentum = 0.9};
  train(dsl::compile<model>(dsl::reference{}, optimizer), all);
  train(dsl::compile<model>(dsl::native{.threads = 1}, optimizer), all);
  train(dsl::compile<model>(dsl::reference{}, optimizer, dsl::towers{.count = 2}), all);
  try {
    dsl::compile<model>(dsl::reference{}, optimizer).set_learning_rate(-1);
  } catch (dsl::option_error const& e) {
    all.refusal = e.what();
  }
  return all;
}

}  // namespace
