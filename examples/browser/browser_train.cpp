// SPDX-License-Identifier: MIT
// Trains the network of ../embedded for the page, on synthetic images or on CIFAR-10, and writes to OUTPUT_FOLDER:
//   model.bin      the weights, as classify.cpp reads them, and the mean image
//   classes.txt    the names of the classes, one per line
//   samples.bin    one test image of each class, as bytes: red, green and blue of each pixel
//   expected.bin   the probabilities that `native` computes for these images with 128-bit vectors
//   browser_train OUTPUT_FOLDER PICTURES EPOCHS [CIFAR10_FOLDER] [--force]
#include <dsl/dsl.hpp>
#include <dsl/io/embedded_weights.hpp>
#include <dsl/training/predictor.hpp>

#include "../embedded/network.hpp"
#include "../refuse_existing.hpp"

#include <cstddef>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>
#include <vector>

namespace {

void write(std::string const& path, void const* data, std::size_t bytes, std::ios::openmode how = std::ios::binary) {
  std::ofstream file(path, how);
  file.write(static_cast<char const*>(data), static_cast<std::streamsize>(bytes));
  if (!file.flush()) throw dsl::file_error("cannot write " + path + ": " + std::generic_category().message(errno));
}

void train(std::string const& folder, int pictures, int epochs, char const* cifar) {
  dsl::dataset training, test;
  if (cifar) {
    auto const data = dsl::cifar10::load(cifar);
    training = data.train, test = data.test;
  } else {
    auto const data = dsl::synthetic_pictures(pictures, /*test=*/200, /*seed=*/1);
    training = data.train, test = data.test;
  }
  auto trainer = dsl::compile<model>(dsl::sgd{.learning_rate = 0.02, .momentum = 0.9}, {.batch_norm_momentum = 0.9});
  trainer.fit(training, {.epochs = epochs, .batch_size = 32});
  std::printf("accuracy %.3f on %d test images\n", trainer.evaluate(test).acc, static_cast<int>(test.size));

  dsl::save_embedded_weights(trainer, folder + "/model.bin");
  write(folder + "/model.bin", test.mean->data(), test.mean->size() * sizeof(float), std::ios::binary | std::ios::app);
  std::string names;
  for (std::string const& name : test.storage->class_names) names += name + "\n";
  write(folder + "/classes.txt", names.data(), names.size());

  auto predictor = dsl::make_predictor<model>(dsl::native{.instructions = dsl::instructions::baseline}, trainer);
  std::vector<float> const outputs = predictor.predict(test);
  std::vector<std::uint8_t> samples;
  std::vector<float> expected;
  for (int c = 0; c < test.classes; ++c)
    for (std::int64_t i = 0; i < test.size; ++i)
      if (test.label(i) == c) {
        auto const area = static_cast<std::size_t>(test.sample.area());
        for (std::size_t p = 0; p < area; ++p)
          for (std::size_t channel = 0; channel < 3; ++channel) samples.push_back(test.pixels(i)[channel * area + p]);
        auto const begin = outputs.begin() + i * test.classes;
        expected.insert(expected.end(), begin, begin + test.classes);
        break;
      }
  write(folder + "/samples.bin", samples.data(), samples.size());
  write(folder + "/expected.bin", expected.data(), expected.size() * sizeof(float));
}

}  // namespace

int main(int arguments, char** argument) {
  bool const force = arguments > 4 && std::string(argument[arguments - 1]) == "--force";
  if (force) --arguments;
  if (arguments != 4 && arguments != 5) {
    std::fputs(
        "usage: browser_train OUTPUT_FOLDER PICTURES EPOCHS [CIFAR10_FOLDER] [--force]\n"
        "Existing files are replaced only with --force.\n",
        stderr);
    return 2;
  }
  try {
    for (char const* name : {"model.bin", "classes.txt", "samples.bin", "expected.bin"})
      if (!force) refuse_existing(std::string(argument[1]) + "/" + name);
    train(argument[1], std::atoi(argument[2]), std::atoi(argument[3]), arguments > 4 ? argument[4] : nullptr);
  } catch (std::exception const& e) {
    std::fprintf(stderr, "browser_train: %s\n", e.what());
    return 1;
  }
}
