// SPDX-License-Identifier: MIT
// ONNX files that typenet wrote, read again: the same graph with the same predictions.
#include <dsl/io/onnx.hpp>
#include <dsl/io/onnx_import.hpp>

#include <dsl/training/fingerprint.hpp>

#include "support/catch.hpp"
#include "support/onnx_networks.hpp"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace {

using dsl::test::drawn_trainer;

dsl::onnx_options const own_operators{.operators = {{"softplus", "Softplus"}}};

/// Returns the predictions of an imported network.
std::vector<float> predicted(dsl::imported_network const& net, dsl::test::drawn_batch const& batch) {
  dsl::trainer t(dsl::reference<float>{}.make_engine(net.view(), {.loss = dsl::loss::mean_squared_error}), 0.01);
  for (int k = 0; k < net.view().size.parameters; ++k) t.engine().write_parameter(k, net.weights(k).data());
  return dsl::test::predicted(t, batch);
}

}  // namespace

TEST_CASE("onnx import: what typenet writes comes back as the same graph with the same predictions", "[onnx]") {
  // Files do not have what does nothing in inference, two flattens, a custom operation, or devices.
  std::set<std::string> const others{"dropout",     "stochastic_depth", "dropout_alone", "dense",
                                     "elementwise", "placed",           "mixed",         "odd"};
  dsl::test::for_each_onnx_network([&](char const* name, dsl::graph_view const& network) {
    INFO(name);
    dsl::trainer t = drawn_trainer(network);
    std::string const bytes = dsl::serialize_onnx(t.engine(), own_operators);
    if (std::string_view(name) == "dropout_alone") {  // the file has no layer at all
      CHECK_THROWS_AS(dsl::imported_network(bytes, "x.onnx", ""), dsl::onnx_error);
      return;
    }
    dsl::imported_network const back(bytes, "x.onnx", "");
    INFO(back.header("x"));
    if (others.count(name) == 0) {
      CHECK(dsl::detail::fingerprint_of(back.view()) == dsl::detail::fingerprint_of(network));
      CHECK(dsl::detail::fingerprint_of_frozen(back.view()) == 0);  // all weights are trainable
    }
    dsl::test::drawn_batch const batch(t.graph(), 3, 5);
    std::vector<float> const ours = dsl::test::predicted(t, batch), theirs = predicted(back, batch);
    REQUIRE(ours.size() == theirs.size());
    for (std::size_t i = 0; i < ours.size(); ++i) CHECK(theirs[i] == approx(ours[i]).epsilon(1e-5).margin(1e-6));
  });
}

namespace {

/// A file in the temporary folder, with the network's weights.
struct written {
  template <class Network>
  explicit written(dsl::trainer& t, Network*)
      : path(
            (std::filesystem::temp_directory_path() / ("onnx_load_" + std::to_string(::getpid()) + ".onnx")).string()) {
    dsl::save_onnx(t.engine(), path, {});
  }
  written(written const&) = delete;
  written& operator=(written const&) = delete;
  ~written() { std::filesystem::remove(path); }
  std::string path;
};

/// Returns the error of loading a file into a network, and checks that nothing has changed.
std::string complaint(dsl::graph_view const& network, std::string const& path) {
  dsl::trainer t = drawn_trainer(network, 9);
  std::vector<float> before, after;
  auto const read = [&](std::vector<float>& all) {
    all.resize(static_cast<std::size_t>(t.graph().parameters[0].count()));
    t.engine().read_parameter(0, all.data());
  };
  read(before);
  try {
    dsl::load_onnx(t, path);
  } catch (dsl::onnx_error const& e) {
    CHECK(e.which == dsl::onnx_fault::other_network);
    read(after);
    CHECK(before == after);
    return e.what();
  }
  return "";
}
template <class Network>
std::string complaint(std::string const& path) {
  return complaint(Network::view(), path);
}

}  // namespace

TEST_CASE("onnx import: a network takes the weights of a file with its structure, or says where they part", "[onnx]") {
  using namespace dsl;
  using picture = image<3, 8, 8>;
  using block = add<sequential<conv2d<3, 3>, batch_norm<>, relu>, identity>;
  using model =
      network<picture, named<"stem", conv2d<3, 3>>, block, dropout<0.5>, global_avg_pool2d, flatten, dense<4>>;
  trainer t = drawn_trainer<model>();
  written const file(t, static_cast<model*>(nullptr));

  // Other names, another order of a sum, no dropout, and a softmax.
  using other = network<picture, conv2d<3, 3>, residual<conv2d<3, 3>, batch_norm<0.5>, relu>, global_avg_pool2d,
                        dense<4>, softmax>;
  trainer u = drawn_trainer<other>(2);
  load_onnx(u, file.path);
  for (int k = 0; k < t.graph().size.parameters; ++k) {
    std::vector<float> ours(static_cast<std::size_t>(t.graph().parameters[k].count())), theirs(ours);
    t.engine().read_parameter(k, ours.data()), u.engine().read_parameter(k, theirs.data());
    CHECK(ours == theirs);
  }
  CHECK_THAT(
      (complaint<
          network<picture, conv2d<3, 3>, residual<conv2d<3, 5>, batch_norm<>, relu>, global_avg_pool2d, dense<4>>>(
          file.path)),
      Catch::Contains("(Conv) must be the network's layer 1.1.0 (residual > sequential > conv2d), conv2d with the "
                      "result 3x8x8; found conv2d with the result 3x8x8, with other numbers or operands"));
  CHECK_THAT(
      (complaint<network<picture, conv2d<3, 3>, conv2d<3, 3>, batch_norm<>, sigmoid, global_avg_pool2d, dense<4>>>(
          file.path)),
      Catch::Contains("(Relu) must be the network's layer 3 (sigmoid)"));
  CHECK_THAT((complaint<network<picture, conv2d<3, 3>, sequential<conv2d<3, 3>, batch_norm<>, relu>, global_avg_pool2d,
                                dense<4>>>(file.path)),
             Catch::Contains("(Add) must be the network's layer 2 (global_avg_pool2d)"));
  CHECK_THAT((complaint<network<picture, conv2d<3, 3>, block, global_avg_pool2d, dense<5>>>(file.path)),
             Catch::Contains("(Gemm) must be the network's layer 3 (dense), dense with the result 5; found dense with "
                             "the result 4"));
  CHECK_THAT((complaint<network<picture, conv2d<3, 3>, block, global_avg_pool2d, dense<4>, dense<4>>>(file.path)),
             Catch::Contains("the network continues with layer 4 (dense)"));
  CHECK_THAT(
      (complaint<network<picture, conv2d<3, 3>, block>>(file.path)),
      Catch::Contains("(GlobalAveragePool) must be a layer of the network; found that the network ends before it"));
}
