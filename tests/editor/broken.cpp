// SPDX-License-Identifier: MIT
// Opened by clangd: the network is broken, and the only use of it is the compile<model>() in line 9.
#include <dsl/dsl.hpp>

using model = dsl::network<dsl::image<3, 9, 9>, dsl::conv2d<4, 3>, dsl::dense<10>, dsl::softmax>;

int main() {
  // The line below is what an editor has to mark.
  auto trainer = dsl::compile<model>(dsl::reference{}, dsl::sgd{.learning_rate = 5e-3});
}
