// SPDX-License-Identifier: MIT
// EXPECT: callback: the metric to watch is a template argument; write early_stopping<val_loss>({.patience = 3}) or model_checkpoint<val_accuracy>(file)
#include <dsl/callbacks.hpp>
#include <dsl/dsl.hpp>

#ifdef FIXED
void train(dsl::trainer& t, dsl::dataset const& data) {
  t.fit(data, {.epochs = 3, .callbacks = {dsl::early_stopping<dsl::train_loss>({.patience = 3})}});
}
#else
void train(dsl::trainer& t, dsl::dataset const& data) {
  t.fit(data, {.epochs = 3, .callbacks = {dsl::early_stopping("loss", {.patience = 3})}});
}
#endif
