// SPDX-License-Identifier: MIT
// Writes a MiniGoogLeNet that minigooglenet_cifar has trained as an .onnx file, for runtimes in other languages and on
// other devices:
//   minigooglenet_cifar --output plot.png --weights final.weights
//   export_onnx final.weights minigooglenet.onnx
// The weights may also be a file that --best has written, the PLOT.checkpoint of an unfinished run, or a .safetensors
// file from PyTorch.
#include <dsl/dsl.hpp>
#include <dsl/io/checkpoint.hpp>
#include <dsl/io/onnx.hpp>
#ifdef TYPENET_HAS_SAFETENSORS
#include <dsl/io/safetensors.hpp>
#endif

#include "refuse_existing.hpp"

#include <cstdio>
#include <exception>
#include <filesystem>
#include <string>
#include <system_error>

using model = dsl::network<dsl::image<3, 32, 32>, dsl::minigooglenet<10>>;

void load(dsl::trainer& trainer, std::string const& weights) {
  if (!weights.ends_with(".safetensors")) return dsl::load_weights(trainer, weights);
#ifdef TYPENET_HAS_SAFETENSORS
  dsl::load_safetensors(trainer, weights);
#else
  throw dsl::option_error("this program was built without safetensors; install nlohmann_json and build again");
#endif
}

int main(int count, char** word) {
  bool const force = count == 4 && std::string(word[3]) == "--force";
  if (count != 3 && !force) {
    std::fprintf(
        stderr,
        "usage: %s WEIGHTS OUTPUT.onnx [--force]\n"
        "Writes MiniGoogLeNet, with weights that minigooglenet_cifar wrote, as an ONNX file. An existing file\n"
        "is replaced only with --force.\n",
        word[0]);
    return 2;
  }
  try {
    std::error_code unknown;  // for a file that does not exist
    if (std::filesystem::equivalent(word[1], word[2], unknown))
      throw dsl::option_error(std::string("OUTPUT: it must not be the file WEIGHTS, which it would replace; found ") +
                              word[2] + " for both; give another name");
    if (!force) refuse_existing(word[2]);
    dsl::trainer trainer = dsl::compile<model>(dsl::reference{}, dsl::sgd{});
    load(trainer, word[1]);
    dsl::save_onnx(trainer.engine(), word[2],
                   {.doc = "MiniGoogLeNet: CIFAR-10 images minus their mean -> probabilities of ten classes"});
    std::printf("wrote %s\n", word[2]);
  } catch (std::exception const& e) {
    std::fprintf(stderr, "error: %s\n", e.what());
    return 1;
  }
}
