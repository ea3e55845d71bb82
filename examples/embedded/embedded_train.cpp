// SPDX-License-Identifier: MIT
// Trains the network of embedded.cpp on synthetic images and writes its weights, and four test images with the
// probabilities that the executor `native` computes for them with each instruction set of this processor.
//   embedded_train FOLDER [--force]
#include <dsl/dsl.hpp>
#include <dsl/io/embedded_weights.hpp>

#include "../refuse_existing.hpp"
#include "network.hpp"

#include <cerrno>
#include <cstdio>
#include <exception>
#include <fstream>
#include <string>
#include <system_error>
#include <vector>

namespace {

void write(std::string const& path, std::vector<float> const& numbers) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<char const*>(numbers.data()),
             static_cast<std::streamsize>(numbers.size() * sizeof(float)));
  if (!file.flush()) throw dsl::file_error("cannot write " + path + ": " + std::generic_category().message(errno));
}

}  // namespace

int main(int arguments, char** argument) {
  bool const force = arguments == 3 && std::string(argument[2]) == "--force";
  if (arguments != 2 && !force) {
    std::fputs("usage: embedded_train FOLDER [--force]\nExisting files are replaced only with --force.\n", stderr);
    return 2;
  }
  try {
    std::string const folder = argument[1];
    for (char const* name : {"weights.bin", "pictures.bin", "expected_4.bin", "expected_8.bin", "expected_16.bin"})
      if (!force) refuse_existing(folder + "/" + name);
    auto const data = dsl::synthetic_pictures(/*train=*/320, /*test=*/4, /*seed=*/1);
    auto trainer = dsl::compile<model>(dsl::sgd{.learning_rate = 0.02, .momentum = 0.9}, {.batch_norm_momentum = 0.9});
    trainer.fit(data.train, {.epochs = 2, .batch_size = 32});
    dsl::save_embedded_weights(trainer, folder + "/weights.bin");

    std::vector<float> pictures(4 * dsl::shape{model::input}.size());
    for (std::size_t i = 0; i < pictures.size(); ++i) pictures[i] = static_cast<float>(i * 37 % 251) / 251;
    write(folder + "/pictures.bin", pictures);
    for (auto set : {dsl::instructions::baseline, dsl::instructions::avx2, dsl::instructions::avx512}) {
      if (!dsl::host::has(set)) continue;
      auto predictor = dsl::compile<model>(dsl::native{.instructions = set}, dsl::sgd{});
      for (int k = 0; k < trainer.graph().size.parameters; ++k) {
        std::vector<float> numbers(static_cast<std::size_t>(trainer.graph().parameters[k].count()));
        trainer.engine().read_parameter(k, numbers.data());
        predictor.engine().write_parameter(k, numbers.data());
      }
      std::vector<float> probabilities(4 * 10);
      predictor.predict_on_batch(pictures, probabilities);
      write(folder + "/expected_" + std::to_string(dsl::host::lanes_of(set)) + ".bin", probabilities);
    }
  } catch (std::exception const& e) {
    std::fprintf(stderr, "embedded_train: %s\n", e.what());
    return 1;
  }
}
