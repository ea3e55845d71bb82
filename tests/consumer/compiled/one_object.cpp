// SPDX-License-Identifier: MIT
// What the library says reaches the function that the program put there, and what it throws is caught, though the
// program's own symbols are hidden.
#include <dsl/dsl.hpp>
#include <dsl/placement.hpp>
#include <dsl/warning.hpp>

#include <cstdio>
#include <string>

using layers = dsl::network<dsl::image<3, 32, 32>, dsl::flatten, dsl::batch_norm<>, dsl::dense<10>, dsl::softmax>;
using model = dsl::pipeline<2, layers>;

int warnings = 0;

int main() {
  dsl::on_warning = [](char const* sentence) {
    ++warnings;
    std::printf("%s\n", sentence);
  };
  auto const data = dsl::synthetic_pictures(16, 16, /*seed=*/1);
  dsl::trainer trainer = dsl::compile<model>(dsl::reference{}, dsl::sgd{});
  trainer.fit(data.train, {.batch_size = 2});  // warns that micro-batches have a single sample
  bool caught = false;
  try {
    trainer.set_learning_rate(-1);
  } catch (dsl::error const& e) {
    caught = std::string(e.what()).find("set_learning_rate") == 0;
  }
  return warnings == 1 && caught ? 0 : 1;
}
