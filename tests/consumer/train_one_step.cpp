// SPDX-License-Identifier: MIT
// A user's whole program, built by every consumer in this folder and by Conan's test_package: one training step on each
// executor that the linked targets bring.
#include <dsl/dsl.hpp>

#include <cmath>
#include <cstdio>

#if defined(TYPENET_HAS_TEXT) && __has_include(<dsl/text.hpp>)
#include <dsl/text.hpp>
#define SUMMARY 1
#endif
#if defined(TYPENET_HAS_SAFETENSORS) && __has_include(<dsl/io/safetensors.hpp>)
#include <dsl/io/safetensors.hpp>
#define SAFETENSORS 1
#endif
#if defined(TYPENET_HAS_KERAS_H5) && __has_include(<dsl/io/keras_h5.hpp>)
#include <dsl/io/keras_h5.hpp>
#define KERAS_H5 1
#endif
#if defined(TYPENET_HAS_ONNX) && __has_include(<dsl/io/onnx.hpp>)
#include <dsl/io/onnx.hpp>
#define ONNX 1
#endif
#if defined(TYPENET_HAS_ONEDNN) && __has_include(<dsl/executors/onednn.hpp>)
#include <dsl/executors/onednn.hpp>
#define ONEDNN 1
#endif
#if defined(TYPENET_HAS_MPI) && __has_include(<dsl/towers/mpi.hpp>)
#include <dsl/towers.hpp>
#include <dsl/towers/mpi.hpp>
#define PROCESSES 1
#endif

using model = dsl::network<dsl::image<3, 32, 32>, dsl::conv_module<8, 3, 3>, dsl::inception_module<4, 4>,
                           dsl::global_avg_pool2d, dsl::dense<10>, dsl::softmax>;
static_assert(model::output == dsl::shape{10});

bool trains(char const* name, dsl::trainer trainer) {
  auto const data = dsl::synthetic_pictures(16, 16, /*seed=*/1);
  auto const history = trainer.fit(data.train, {.epochs = 1, .batch_size = 16, .validation = &data.test});
  dsl::epoch_record const& epoch = history.epochs.back();
  std::printf("%s: loss %.4f, val_loss %.4f after one step\n", name, epoch.train.loss, epoch.validation.loss);
  return std::isfinite(epoch.train.loss) && std::isfinite(epoch.validation.loss) && epoch.train.loss > 0;
}

int main() {
  dsl::sgd const optimizer{.learning_rate = 5e-3, .momentum = 0.9};
  bool good = trains("reference", dsl::compile<model>(dsl::reference{}, optimizer));
#ifdef ONEDNN
  good = trains("onednn", dsl::compile<model>(dsl::onednn{}, optimizer)) && good;
#endif
#ifdef PROCESSES
  dsl::mpi world;  // of one process, where nobody starts more
  dsl::towers const towers{.count = 2, .processes = &world};
  good = trains("processes", dsl::compile<model>(dsl::reference{}, optimizer, towers)) && good;
#endif
#ifdef SAFETENSORS
  std::string const file = dsl::safetensors::serialize({}, {{"format", "pt"}});
  good = dsl::safetensors::read_contents(file, "weights").metadata.size() == 1 && good;
  std::printf("safetensors: %d bytes\n", static_cast<int>(file.size()));
#endif
#ifdef KERAS_H5
  try {
    dsl::keras_h5::file const none("no.weights.h5");
    good = false;
  } catch (dsl::file_error const& e) {
    std::printf("%s\n", e.what());
  }
#endif
#ifdef ONNX
  dsl::trainer exported = dsl::compile<model>(dsl::reference{}, optimizer);
  std::size_t const weights = 4 * static_cast<std::size_t>(model::parameter_count);
  std::size_t const bytes = dsl::serialize_onnx(exported.engine()).size();
  good = bytes > weights && bytes < weights + 10'000 && good;
  std::printf("onnx: %d bytes\n", static_cast<int>(bytes));
#endif
#ifdef SUMMARY
  model::summary();
#endif
  return good ? 0 : 1;
}
