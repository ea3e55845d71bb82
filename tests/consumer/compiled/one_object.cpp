// SPDX-License-Identifier: MIT
// What the library says reaches the function that the program put there, and what it throws is caught, though the
// program's own symbols are hidden.
#include <dsl/dsl.hpp>
#include <dsl/warning.hpp>

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

using model = dsl::network<dsl::image<3, 32, 32>, dsl::flatten, dsl::dense<10>, dsl::softmax>;

int warnings = 0;

int main() {
  dsl::on_warning = [](char const* sentence) {
    ++warnings;
    std::printf("%s\n", sentence);
  };
  auto data = dsl::synthetic_pictures(16, 16, /*seed=*/1);
  dsl::trainer trainer = dsl::compile<model>(dsl::reference{}, dsl::sgd{});
  trainer.fit(data.train, {.batch_size = 16});
  data.test.mean = std::make_shared<std::vector<float>>(data.test.sample.size(), 0.0F);  // another one than fit's
  static_cast<void>(trainer.evaluate(data.test));
  bool caught = false;
  try {
    trainer.set_learning_rate(-1);
  } catch (dsl::error const& e) {
    caught = std::string(e.what()).find("set_learning_rate") == 0;
  }
  return warnings == 1 && caught ? 0 : 1;
}
