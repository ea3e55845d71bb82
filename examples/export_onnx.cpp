// SPDX-License-Identifier: MIT
// Writes a MiniGoogLeNet that minigooglenet_cifar trained as an .onnx file, which runtimes of other languages and
// devices read.
//   minigooglenet_cifar --output plot.png --weights final.weights
//   export_onnx final.weights minigooglenet.onnx
// Weights may also be --best's, or the PLOT.checkpoint of a run that did not end.
#include <dsl/dsl.hpp>
#include <dsl/io/checkpoint.hpp>
#include <dsl/io/onnx.hpp>

#include <cstdio>

using model = dsl::network<dsl::image<3, 32, 32>, dsl::minigooglenet<10>>;

int main(int count, char** word) {
  if (count != 3) {
    std::fprintf(stderr, "usage: %s WEIGHTS OUTPUT.onnx\n", word[0]);
    return 2;
  }
  try {
    dsl::trainer trainer = dsl::compile<model>(dsl::reference{}, dsl::sgd{});
    dsl::load_weights(trainer, word[1]);
    dsl::save_onnx(trainer.engine(), word[2],
                   {.doc = "MiniGoogLeNet: CIFAR-10 pictures minus their mean -> probabilities of ten classes"});
    std::printf("wrote %s\n", word[2]);
  } catch (dsl::error const& e) {
    std::fprintf(stderr, "error: %s\n", e.what());
    return 1;
  }
}
