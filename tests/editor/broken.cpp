// SPDX-License-Identifier: MIT
// Opened by clangd: the network is broken, and the only use of it is a compile<model>().
#include <dsl/dsl.hpp>

using model = dsl::network<dsl::image<3, 9, 9>, dsl::conv2d<4, 3>, dsl::dense<10>, dsl::softmax>;

int main() {
  // MARKED: dense: the input still has a height and a width; put flatten before it
  auto trainer = dsl::compile<model>(dsl::reference{}, dsl::sgd{.learning_rate = 5e-3});
}
