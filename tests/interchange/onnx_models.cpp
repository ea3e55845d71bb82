// SPDX-License-Identifier: MIT
// What onnx_test.py asks: a file of every kind of network, inputs, and what typenet predicts from them.
//   onnx_models FOLDER
// NAME.onnx; NAME.B.input and NAME.B.EXECUTOR for batches of B, floats row by row. Prints "NAME B EXECUTOR" for each.
#include <dsl/io/onnx.hpp>
#include <dsl/training/predictor.hpp>

#include "support/onnx_networks.hpp"
#ifdef TYPENET_HAS_ONEDNN
#include <dsl/executors/onednn.hpp>
#endif

#include <cstddef>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

namespace {

using minigooglenet = dsl::network<dsl::image<3, 32, 32>, dsl::minigooglenet<10>>;

class writer {
 public:
  explicit writer(std::string folder) : folder_(std::move(folder)) {}

  void predictions(dsl::trainer& t, std::string const& name, int batch, char const* executor, float scale = 1) {
    dsl::test::drawn_batch drawn(t.graph(), batch, static_cast<std::uint64_t>(batch));
    for (float& x : drawn.images) x *= scale;
    std::string const stem = name + "." + std::to_string(batch);
    write(stem + ".input", drawn.images);
    write(stem + "." + executor, dsl::test::predicted(t, drawn));
    std::printf("%s %d %s\n", name.c_str(), batch, executor);
  }
  /// Writes the predictions of samples that are not normalised yet.
  void predictions(dsl::predictor& p, std::string const& name, int batch) {
    std::vector<float> raw(static_cast<std::size_t>(batch * p.graph().output_shape(p.graph().nodes[0]).size()));
    for (std::size_t i = 0; i < raw.size(); ++i) raw[i] = static_cast<float>(i * 7 % 11) - 5;
    std::vector<float> outputs(static_cast<std::size_t>(batch * p.graph().shape_of(p.graph().result()).size()));
    p.predict(raw, outputs);
    std::string const stem = name + "." + std::to_string(batch);
    write(stem + ".input", raw);
    write(stem + ".reference", outputs);
    std::printf("%s %d reference\n", name.c_str(), batch);
  }
  std::string path(std::string const& name) const { return folder_ + "/" + name; }

 private:
  void write(std::string const& name, std::vector<float> const& values) {
    dsl::atomic_file to(path(name), "predictions");
    to.write({reinterpret_cast<char const*>(values.data()), values.size() * sizeof(float)});
    to.commit();
  }
  std::string folder_;
};

[[maybe_unused]] void copy_parameters(dsl::engine& from, dsl::engine& to) {
  for (int k = 0; k < from.graph().size.parameters; ++k) to.write_parameter(k, dsl::test::parameter_of(from, k).data());
}

/// A file that normalises its input, and the predictions of a predictor that does so, too.
void write_normalized(writer& w) {
  using network = dsl::network<dsl::image<2, 3, 4>, dsl::conv2d<4, 3>, dsl::relu, dsl::flatten, dsl::dense<3>>;
  dsl::trainer t = dsl::test::drawn_trainer<network>();
  auto mean = std::make_shared<std::vector<float>>(), deviation = std::make_shared<std::vector<float>>();
  for (int i = 0; i < 24; ++i) {
    mean->push_back(static_cast<float>(i % 7) - 3);
    deviation->push_back(1 + static_cast<float>(i % 5) / 2);
  }
  t.set_normalization({.inputs = {{.input = "", .mean = mean, .deviation = deviation}}});
  dsl::save_onnx(t, w.path("normalized.onnx"), {.normalize = true});
  dsl::predictor p = dsl::make_predictor<network>(dsl::reference{}, t);
  for (int batch : {1, 2, 7}) w.predictions(p, "normalized", batch);
}

/// Trained for some steps, on every executor there is.
void write_minigooglenet(writer& w) {
  dsl::sgd const optimizer{.learning_rate = 0.01, .momentum = 0.9};
  dsl::trainer reference = dsl::compile<minigooglenet>(dsl::reference{}, optimizer);
  auto const data = dsl::synthetic_pictures(64, 8, 1);
#ifdef TYPENET_HAS_ONEDNN
  dsl::trainer direct = dsl::compile<minigooglenet>(dsl::onednn{.threads = 1, .winograd = false}, optimizer);
  dsl::trainer winograd = dsl::compile<minigooglenet>(dsl::onednn{.threads = 1}, optimizer);
  direct.fit(data.train, {.epochs = 2, .batch_size = 8});
  copy_parameters(direct.engine(), reference.engine());
  copy_parameters(direct.engine(), winograd.engine());
  dsl::save_onnx(direct, w.path("minigooglenet.onnx"));
#else
  reference.fit(data.train.first(8), {.epochs = 2, .batch_size = 4});
  dsl::save_onnx(reference, w.path("minigooglenet.onnx"));
#endif
  for (int batch : {1, 2, 5}) {  // of bytes about their mean
    w.predictions(reference, "minigooglenet", batch, "reference", 100);
#ifdef TYPENET_HAS_ONEDNN
    w.predictions(direct, "minigooglenet", batch, "direct", 100);
    w.predictions(winograd, "minigooglenet", batch, "winograd", 100);
#endif
  }
}

}  // namespace

int main(int count, char** word) {
  if (count != 2) {
    std::fprintf(stderr, "usage: onnx_models FOLDER\n");
    return 2;
  }
  try {
    writer w(word[1]);
    dsl::test::for_each_onnx_network([&](char const* name, dsl::graph_view const& network) {
      dsl::trainer t = dsl::test::drawn_trainer(network);
      dsl::save_onnx(t, w.path(name) + ".onnx", {.operators = {{"softplus", "Softplus"}}});
      for (int batch : {1, 2, 7}) w.predictions(t, name, batch, "reference");
    });
    write_normalized(w);
    write_minigooglenet(w);
  } catch (dsl::error const& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
}
