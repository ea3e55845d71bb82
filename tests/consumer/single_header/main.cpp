// SPDX-License-Identifier: MIT
// A user's program with typenet as one header in both of its files; the trainer comes from the other one.
#include "typenet.hpp"

#include "model.hpp"

#include <cmath>
#include <cstdio>
#include <vector>

int main() {
  auto const data = dsl::synthetic_pictures(32, 16, /*seed=*/1);
  dsl::trainer trainer = make_trainer();
  dsl::early_stopping stopping({.patience = 3});
  auto const history =
      trainer.fit(data.train, {.epochs = 2, .batch_size = 16, .validation = &data.test, .callbacks = {stopping}});
  for (dsl::epoch_record const& epoch : history.epochs)
    std::printf("loss %a, val_loss %a\n", epoch.train.loss, epoch.validation.loss);
  auto predictor = dsl::make_predictor<model>(dsl::native{}, trainer);
  std::vector<float> const outputs = predictor.predict(data.test);
  std::printf("first output %a of %d\n", static_cast<double>(outputs[0]), static_cast<int>(outputs.size()));
  return history.epochs.size() == 2 && std::isfinite(history.epochs[1].train.loss) && outputs.size() == 160 ? 0 : 1;
}
