// SPDX-License-Identifier: MIT
// ONNX files that typenet wrote, read again: the same graph with the same predictions.
#include <dsl/io/onnx.hpp>
#include <dsl/io/onnx/library.hpp>
#include <dsl/io/onnx_import.hpp>

#include <dsl/operations/table.hpp>
#include <dsl/training/fingerprint.hpp>
#include <dsl/training/predictor.hpp>

#include "support/catch.hpp"
#include "support/onnx_networks.hpp"
#include "support/temporary_directory.hpp"

#include <unistd.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
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
  // Files do not have what does nothing in inference, two flattens, a custom operation, or devices. Constants of layers
  // are read as weights.
  std::set<std::string> others{
      "dropout", "stochastic_depth", "dropout_alone", "dense", "elementwise", "placed", "mixed", "odd", "constants"};
  dsl::test::for_each_body<4>([&]<dsl::op Kind, class>(int number) {
    if (dsl::test::fixture<Kind>::in_onnx == dsl::test::in_file::others)
      others.insert(dsl::operations::table[static_cast<int>(Kind)].name + std::to_string(number));
  });
  std::set<dsl::op> written;
  dsl::test::for_each_onnx_network([&](char const* name, dsl::graph_view const& network) {
    INFO(name);
    for (int n = 0; n < network.size.nodes; ++n) written.insert(network.nodes[n].kind);
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
  // No operation is left out but those that save_onnx refuses by name.
  std::set<dsl::op> refused{dsl::op::window_attention, dsl::op::bounded_window_attention, dsl::op::window_offsets,

                            dsl::op::lstm, dsl::op::gru};
  dsl::test::for_each_fixture([&]<dsl::op Kind>() {
    if (dsl::test::fixture<Kind>::in_onnx == dsl::test::in_file::refused) refused.insert(Kind);
  });
  for (std::size_t i = 0; i < std::size(dsl::operations::table); ++i) {
    INFO(dsl::operations::table[i].name);
    auto const kind = static_cast<dsl::op>(i);
    CHECK(written.count(kind) + refused.count(kind) == 1);
  }
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
                      "result 3x8x8; found conv2d with the result 3x8x8, the same operation with other attributes "
                      "(such as the stride) or other operands"));
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

TEST_CASE("onnx import: a network with taps and several outputs comes back", "[onnx]") {
  using namespace dsl;
  using model =
      network<image<3, 9, 8>, conv2d<4, 3>, tap<"x">, conv2d<4, 3>,
              named_output<"aux", from<"x">, flatten, tap<"flat">, dense<3>, tap<"logits">,
                           named_output<"inner", softmax>, from<"flat">, dense<3>, add<identity, from<"logits">>>,
              relu, named_output<"late", add<identity, from<"x">>, conv2d<2, 1>>, conv2d<4, 1>,
              add<identity, from<"x">>>;
  trainer t = drawn_trainer<model>(), u = drawn_trainer<model>(2);
  imported_network const back(serialize_onnx(t.engine(), {}), "x.onnx", "");
  INFO(back.header("x"));
  CHECK(detail::fingerprint_of(back.view()) == detail::fingerprint_of(model::view()));
  CHECK(output_count(back.view()) == 4);
  written const file(t, static_cast<model*>(nullptr));
  load_onnx(u, file.path);
  CHECK(detail::fingerprint_of(u.engine()) == detail::fingerprint_of(t.engine()));
}

TEST_CASE("onnx import: constants of a network have the file's numbers, and are named in every file", "[onnx]") {
  using namespace dsl;
  using picture = image<3, 4, 4>;
  using model = network<picture, constant_scale<0.25>, conv2d<2, 1>, unscaled_batch_norm<>>;
  trainer t = drawn_trainer<model>(), u = drawn_trainer<model>(2);
  written const file(t, static_cast<model*>(nullptr));
  load_onnx(u, file.path);
  CHECK(detail::fingerprint_of(u.engine()) == detail::fingerprint_of(t.engine()));
  CHECK_THAT((complaint<network<picture, constant_scale<0.5>, conv2d<2, 1>, unscaled_batch_norm<>>>(file.path)),
             Catch::Contains("must have the constant 0.5 of the network's layer 0 (constant_scale); found 0.25"));
  using trained = network<picture, constant_scale<0.25>, conv2d<2, 1>, batch_norm<>>;
  trainer other = drawn_trainer<trained>();
  load_onnx(other, file.path);
  CHECK(complaint<model>(file.path).empty());
  trainer drawn = drawn_trainer<trained>();
  written const learnt(drawn, static_cast<trained*>(nullptr));
  CHECK_THAT(complaint<model>(learnt.path), Catch::Contains("must have the constant 1 of the network's layer 2"));
  std::string const bytes = serialize_onnx(t.engine(), {.convention = weight_convention::keras});
  CHECK(imported_network(bytes, "x.onnx", "").view().size.parameters == model::view().size.parameters);
}

TEST_CASE("onnx import: a file that normalises its inputs has the network's structure and its normalisation",
          "[onnx]") {
  using namespace dsl;
  using model = network<
      image<2, 2, 3>,
      concat<sequential<conv2d<3, 3>, relu, flatten, dense<3>>, sequential<named_input<"row", features<4>>, dense<2>>,
             sequential<named_input<"one", features<1>>, dense<1>>>,
      dsl::tanh, dense<2>>;
  auto const numbers = [](int count, float from) {
    auto all = std::make_shared<std::vector<float>>();
    for (int i = 0; i < count; ++i) all->push_back(from + static_cast<float>(i) / 4);
    return all;
  };
  trainer t = drawn_trainer<model>();
  t.set_normalization({.inputs = {{.input = "", .mean = numbers(12, -1), .deviation = numbers(12, 0.5F)},
                                  {.input = "row", .mean = nullptr, .deviation = numbers(4, 2)},
                                  {.input = "one", .mean = numbers(1, 3), .deviation = nullptr}}});
  std::string const bytes = serialize_onnx(t.engine(), {.normalize = true});
  imported_network const back(bytes, "x.onnx", "");
  CHECK(detail::fingerprint_of(back.view()) == detail::fingerprint_of(model::view()));
  CHECK(back.normalization() == t.normalization());
  CHECK_THAT(back.header("x"), Catch::Contains("normalises its inputs"));

  // Inputs of other names: their order counts.
  using other = network<
      image<2, 2, 3>,
      concat<sequential<conv2d<3, 3>, relu, flatten, dense<3>>, sequential<named_input<"a", features<4>>, dense<2>>,
             sequential<named_input<"b", features<1>>, dense<1>>>,
      dsl::tanh, dense<2>>;
  test::temporary_directory const here;
  save_onnx(t.engine(), here / "normalized.onnx", {.normalize = true});
  predictor p = make_predictor<other>(reference{});
  load_onnx(p, here / "normalized.onnx");
  dsl::normalization const loaded = p.normalization();
  REQUIRE(loaded.inputs.size() == 3);
  CHECK(*loaded.find("")->mean == *numbers(12, -1));
  CHECK(*loaded.find("")->deviation == *numbers(12, 0.5F));
  CHECK_FALSE(loaded.find("a")->mean);
  CHECK(*loaded.find("a")->deviation == *numbers(4, 2));
  CHECK(*loaded.find("b")->mean == *numbers(1, 3));

  // A file without one leaves the network's own.
  trainer u = drawn_trainer<model>(2), plain = drawn_trainer<model>(3);
  u.set_normalization({.inputs = {{.input = "one", .mean = numbers(1, 5), .deviation = nullptr}}});
  save_onnx(plain.engine(), here / "plain.onnx", {});
  load_onnx(u, here / "plain.onnx");
  CHECK(*u.normalization().find("one")->mean == *numbers(1, 5));

  // What typenet does not write is refused.
  auto const complaint_about = [&](auto const& change) {
    detail::onnx_messages::ModelProto m;
    REQUIRE(m.ParseFromString(bytes));
    change(*m.mutable_graph());
    try {
      imported_network const broken(m.SerializeAsString(), "x.onnx", "");
    } catch (onnx_error const& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  auto const set_first = [](char const* name, float to) {
    return [name, to](detail::onnx_messages::GraphProto& g) {
      for (auto& tensor : *g.mutable_initializer())
        if (tensor.name() == name) std::memcpy(tensor.mutable_raw_data()->data(), &to, sizeof to);
    };
  };
  CHECK_THAT(complaint_about(set_first("deviation", 0)), Catch::Contains("(Div) must have finite numbers"));
  CHECK_THAT(complaint_about(set_first("mean", INFINITY)), Catch::Contains("(Sub) must have finite numbers"));
  CHECK_THAT(complaint_about([](auto& g) { g.mutable_node(1)->set_op_type("Sub"); }), Catch::Contains("a second one"));
}
