// SPDX-License-Identifier: MIT
// ONNX files as networks: files of other frameworks, built operator by operator, and damaged ones.
#include <dsl/io/onnx.hpp>
#include <dsl/io/onnx_import.hpp>

#include "support/catch.hpp"
#include "support/onnx_built.hpp"
#include "support/onnx_networks.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace pb = dsl::detail::onnx_messages;

namespace {

using dsl::test::drawn_trainer;

using dsl::test::complaint;
using dsl::test::layers_of;
using model = dsl::test::built_model;

/// Returns a file's header without its blanks.
std::string without_blanks(std::string const& bytes) {
  std::string all;
  for (char c : dsl::imported_network(bytes, "x.onnx", "").header("x"))
    if (c != ' ' && c != '\n') all += c;
  return all;
}

}  // namespace

TEST_CASE("onnx import: activations are recognised in whatever operators a framework writes them", "[onnx]") {
  auto const made = [](std::function<void(model&)> const& add) {
    model m({1, 3});
    add(m);
    return layers_of(m.bytes());
  };
  CHECK(made([](model& m) { m.add("Relu", {"x"}, "y"); }) == "network<features<3>, relu>;");
  CHECK(made([](model& m) {  // PyTorch's GELU before opset 20
          m.numbers("root", {1.41421354F}), m.numbers("one", {1}), m.numbers("half", {0.5F});
          m.add("Div", {"x", "root"}, "a"), m.add("Erf", {"a"}, "b"), m.add("Add", {"b", "one"}, "c");
          m.add("Mul", {"x", "c"}, "d"), m.add("Mul", {"d", "half"}, "y");
        }) == "network<features<3>, gelu>;");
  CHECK(made([](model& m) {
          m.numbers("half", {0.5F}), m.numbers("c", {0.044715F}), m.numbers("three", {3}), m.numbers("one", {1});
          m.numbers("s", {0.79788456F});
          m.add("Pow", {"x", "three"}, "a"), m.add("Mul", {"a", "c"}, "b"), m.add("Add", {"x", "b"}, "d");
          m.add("Mul", {"s", "d"}, "e"), m.add("Tanh", {"e"}, "f"), m.add("Add", {"f", "one"}, "g");
          m.add("Mul", {"x", "half"}, "h"), m.add("Mul", {"h", "g"}, "y");
        }) == "network<features<3>, gelu_tanh>;");
  CHECK(made([](model& m) {
          m.numbers("three", {3}), m.numbers("zero", {0}), m.numbers("six", {6});
          m.add("Add", {"x", "three"}, "a"), m.add("Clip", {"a", "zero", "six"}, "b"), m.add("Mul", {"x", "b"}, "c");
          m.add("Div", {"c", "six"}, "y");
        }) == "network<features<3>, hard_swish>;");
  CHECK(made([](model& m) {
          m.add("Neg", {"x"}, "a"), m.add("Exp", {"a"}, "b"), m.numbers("one", {1}), m.add("Add", {"b", "one"}, "c");
          m.add("Reciprocal", {"c"}, "y");
        }) == "network<features<3>, sigmoid>;");
  // One activation behind another is not taken for a third one, and what is joined stays joined.
  CHECK(made([](model& m) {
          m.add("Relu", {"x"}, "a"), m.add("Sigmoid", {"a"}, "b"), m.add("Mul", {"a", "b"}, "y");
        }) == "network<features<3>, relu, silu>;");
  CHECK(made([](model& m) { m.add("Relu", {"x"}, "a"), m.add("Relu", {"a"}, "y"); }) ==
        "network<features<3>, repeat<2, relu>>;");
  CHECK(made([](model& m) { m.add("Relu", {"x"}, "a"), m.add("Add", {"a", "x"}, "y"); }) ==
        "network<features<3>, residual<relu>>;");
  // A number times a value, and plus one, are layers, too.
  CHECK(made([](model& m) { m.numbers("n", {2}), m.add("Mul", {"n", "x"}, "a"), m.add("Relu", {"a"}, "y"); }) ==
        "network<features<3>, frozen<channel_scale>, relu>;");
  CHECK(made([](model& m) { m.numbers("n", {2}), m.add("Sub", {"x", "n"}, "y"); }) ==
        "network<features<3>, frozen<conv2d<3, 1, groups<3>>>>;");
}

TEST_CASE("onnx import: training does not change the constants of a file, only its weights", "[onnx]") {
  auto const constant = [](model& m, std::string const& name, std::vector<float> const& values) {
    pb::NodeProto& n = m.add("Constant", {}, name);
    pb::AttributeProto& a = *n.add_attribute();
    a.set_name("value"), a.set_type(pb::AttributeProto::TENSOR);
    pb::TensorProto& t = *a.mutable_t();
    t.set_data_type(pb::TensorProto::FLOAT), t.add_dims(static_cast<std::int64_t>(values.size()));
    t.set_raw_data(values.data(), values.size() * sizeof(float));
  };
  auto const made = [&](std::function<void(model&)> const& add) {
    model m({1, 3});
    add(m);
    return layers_of(m.bytes());
  };
  CHECK(made([&](model& m) { constant(m, "c", {2, 3, 4}), m.add("Mul", {"x", "c"}, "y"); }) ==
        "network<features<3>, frozen<channel_scale>>;");
  CHECK(made([&](model& m) { constant(m, "c", {2, 3, 4}), m.add("Sub", {"x", "c"}, "y"); }) ==
        "network<features<3>, frozen<conv2d<3, 1, groups<3>>>>;");
  CHECK(made([&](model& m) {  // a number that is spread over the channels
          m.numbers("n", {2}), m.wholes("three", {3}), m.add("Expand", {"n", "three"}, "c"),
              m.add("Mul", {"x", "c"}, "y");
        }) == "network<features<3>, frozen<channel_scale>>;");
  CHECK(made([&](model& m) { m.numbers("w", {2, 3, 4}), m.add("Mul", {"x", "w"}, "y"); }) ==
        "network<features<3>, channel_scale>;");
  CHECK(made([&](model& m) {  // as many weights as the file has
          m.numbers("w", {2, 3, 4}), m.add("Mul", {"x", "w"}, "a"), m.numbers("b", {5, 6, 7});
          m.add("Add", {"a", "b"}, "y");
        }) == "network<features<3>, conv2d<3, 1, groups<3>>>;");
  CHECK(made([&](model& m) {  // computed from a weight
          m.numbers("w", {2, 3, 4}), m.add("Neg", {"w"}, "c"), m.add("Mul", {"x", "c"}, "y");
        }) == "network<features<3>, channel_scale>;");
  CHECK(made([&](model& m) {
          m.tensor("w", {3, 3}, std::vector<float>(9, 1.0F)), m.add("MatMul", {"x", "w"}, "a");
          m.add("Tanh", {"x"}, "b"), m.add("Sub", {"a", "b"}, "y");
        }) == "network<features<3>, add<dense<3>, sequential<dsl::tanh, frozen<channel_scale>>>>;");
  model tokens({1, 2, 1, 3});
  constant(tokens, "c", {1, 2, 3}), tokens.add("Add", {"x", "c"}, "y");
  CHECK(layers_of(tokens.bytes()) == "network<image<2, 1, 3>, frozen<position_embedding>>;");
  model pads({1, 2, 3, 3});
  pads.wholes("sides", {0, 0, 1, 1, 0, 0, 0, 0}), pads.add("Pad", {"x", "sides"}, "a"), pads.add("Relu", {"a"}, "y");
  CHECK(layers_of(pads.bytes()) == "network<image<2, 3, 3>, zero_pad2d<1, 1, 0, 0>, relu>;");
  auto const norm = [](bool has_weights) {
    model m({1, 4, 2, 2});
    m.wholes("apart", {1, 2, 8}), m.wholes("back", {1, 4, 2, 2}), m.numbers("one", {1, 1}), m.numbers("zero", {0, 0});
    m.add("Reshape", {"x", "apart"}, "a"), m.add("InstanceNormalization", {"a", "one", "zero"}, "b");
    m.add("Reshape", {"b", "back"}, "c"), m.tensor("norm.weight", {4, 1, 1}, {1, 2, 3, 4});
    m.add(has_weights ? "Mul" : "Relu",
          has_weights ? std::vector<std::string>{"c", "norm.weight"} : std::vector<std::string>{"c"}, "y");
    return layers_of(m.bytes());
  };
  CHECK(norm(false) == "network<image<4, 2, 2>, frozen<group_norm<2>>, relu>;");
  CHECK(norm(true) == "network<image<4, 2, 2>, named<\"norm\", group_norm<2>>>;");

  // What training does: the weights change, the constant does not.
  model m({1, 3});
  m.tensor("fc.weight", {3, 3}, {1, 0, 0, 0, 1, 0, 0, 0, 1}), m.numbers("fc.bias", {0, 0, 0}), m.numbers("n", {2});
  model::set(m.add("Gemm", {"x", "fc.weight", "fc.bias"}, "a"), "transB", 1), m.add("Mul", {"a", "n"}, "y");
  dsl::imported_network const net(m.bytes(), "x.onnx", "");
  dsl::graph_view const g = net.view();
  CHECK_THAT(net.header("x"), Catch::Contains("frozen<channel_scale>"));
  dsl::trainer t(dsl::reference<float>{}.make_engine(g, {.loss = dsl::loss::mean_squared_error}), 0.1);
  for (int k = 0; k < g.size.parameters; ++k) t.engine().write_parameter(k, net.weights(k).data());
  std::vector<float> const x{1, 2, 3}, wanted{0, 0, 0};
  t.train_on_batch(x, wanted);
  REQUIRE(g.size.parameters == 3);
  std::vector<float> kernel(9), scale(3);
  t.engine().read_parameter(0, kernel.data()), t.engine().read_parameter(2, scale.data());
  CHECK(kernel != net.weights(0));
  CHECK(scale == std::vector<float>{2, 2, 2});
}

TEST_CASE("onnx import: reshapes and transposes are layers only where an operator needs one", "[onnx]") {
  model m({1, 6, 4, 2});
  m.wholes("five", {1, 2, 3, 4, 2}), m.wholes("four", {0, -1, 4, 2});
  m.add("Reshape", {"x", "five"}, "a");
  model::set(m.add("Transpose", {"a"}, "b"), "perm", {0, 2, 1, 3, 4});
  m.tensor("w", {1, 6, 1, 1}, {1, 2, 3, 4, 5, 6});
  m.add("Reshape", {"b", "four"}, "c"), m.add("Conv", {"c", "w"}, "y");
  CHECK(layers_of(m.bytes()) == "network<image<6, 4, 2>, channel_shuffle<2>, conv2d<1, 1, bias<false>>>;");

  // Keras flattens height, width, channels; the weights of the dense layer are put in typenet's order.
  model k({1, 2, 2, 3});
  model::set(k.add("Transpose", {"x"}, "a"), "perm", {0, 3, 1, 2});
  model::set(k.add("Transpose", {"a"}, "b"), "perm", {0, 2, 3, 1});
  std::vector<float> weights(12);
  for (std::size_t i = 0; i < 12; ++i) weights[i] = static_cast<float>(i);
  k.tensor("w", {12, 1}, weights);
  k.add("Flatten", {"b"}, "c"), k.add("MatMul", {"c", "w"}, "y");
  CHECK(layers_of(k.bytes()) == "network<image<3, 2, 2>, flatten, dense<1>>;");
  dsl::imported_network const net(k.bytes(), "x.onnx", "");
  CHECK(net.weights(0) == std::vector<float>{0, 3, 6, 9, 1, 4, 7, 10, 2, 5, 8, 11});
  CHECK(net.weights(1) == std::vector<float>{0});
}

TEST_CASE("onnx import: blocks are repeated and have the names of the file's paths", "[onnx]") {
  model m;
  std::string from = "x";
  for (std::string block : {"layer1.0", "layer1.1", "layer1.2"}) {
    m.tensor(block + ".conv1.weight", {2, 2, 1, 1}, {1, 0, 0, 1});
    m.tensor(block + ".conv2.weight", {2, 2, 1, 1}, {2, 0, 0, 2});
    m.tensor(block + ".conv2.bias", {2}, {1, 2});
    m.add("Conv", {from, block + ".conv1.weight"}, block + "a");
    m.add("Relu", {block + "a"}, block + "b");
    m.add("Conv", {block + "b", block + ".conv2.weight", block + ".conv2.bias"}, block + "c");
    m.add("Add", {from, block + "c"}, block);
    from = block;
  }
  m.tensor("fc.weight", {3, 32}, std::vector<float>(96, 0.5F)), m.numbers("fc.bias", {1, 2, 3});
  m.add("Flatten", {from}, "flat");
  model::set(m.add("Gemm", {"flat", "fc.weight", "fc.bias"}, "y"), "transB", 1);
  std::string const text = dsl::imported_network(m.bytes(), "some/net-1.onnx", "").header("net-1");
  CHECK(text ==
        "// Made by onnx_to_typenet from some/net-1.onnx, written by test.\n#pragma once\n\n"
        "#include <dsl/language.hpp>\n\nnamespace net_1 {\n\nusing namespace dsl;\n\n"
        "using layer1_block =\n"
        "    residual<named<\"conv1\", conv2d<2, 1, bias<false>>>, relu, named<\"conv2\", conv2d<2, 1>>>;\n"
        "using model = network<image<2, 4, 4>,\n"
        "    named<\"layer1\", repeat<3, layer1_block>>,  // 2x4x4\n"
        "    flatten,                                   // 32\n"
        "    named<\"fc\", dense<3>>>;                    // 3\n\n"
        "static_assert(model::gives<shape{3}>);\nstatic_assert(model::parameter_count == 129);\n\n"
        "}  // namespace net_1\n");
  dsl::imported_network const net(m.bytes(), "x.onnx", "");
  std::vector<std::string> const wanted{"layer1.0.conv1.weight",
                                        "layer1.0.conv2.weight",
                                        "layer1.0.conv2.bias",
                                        "layer1.1.conv1.weight",
                                        "layer1.1.conv2.weight",
                                        "layer1.1.conv2.bias",
                                        "layer1.2.conv1.weight",
                                        "layer1.2.conv2.weight",
                                        "layer1.2.conv2.bias",
                                        "fc.weight",
                                        "fc.bias"};
  CHECK(net.weight_names() == wanted);
  CHECK(net.weights(4) == std::vector<float>{2, 0, 0, 2});

  // A block with nothing but another module keeps its number.
  model nested;
  from = "x";
  for (std::string const name : {"blocks.0.layers.a", "blocks.0.layers.b", "blocks.1.layers.a", "blocks.1.layers.b"}) {
    nested.tensor(name + ".weight", {2, 2, 1, 1}, {1, 0, 0, 1});
    nested.add("Conv", {from, name + ".weight"}, name);
    from = name;
  }
  nested.add("Relu", {from}, "y");
  CHECK(dsl::imported_network(nested.bytes(), "x.onnx", "").weight_names() ==
        std::vector<std::string>{"blocks.0.layers.a.weight", "blocks.0.layers.b.weight", "blocks.1.layers.a.weight",
                                 "blocks.1.layers.b.weight"});
}

TEST_CASE("onnx import: a concat that an exporter has flattened gets its branches back", "[onnx]") {
  model m;
  m.add("Relu", {"x"}, "a"), m.add("Sigmoid", {"x"}, "s");
  model::set(m.add("MaxPool", {"s"}, "b"), "kernel_shape", {1, 1});
  model::set(m.add("AveragePool", {"s"}, "c"), "kernel_shape", {1, 1});
  model::set(m.add("Concat", {"a", "b", "c"}, "y"), "axis", 1);
  CHECK(layers_of(m.bytes()) ==
        "network<image<2, 4, 4>, concat<relu, sequential<sigmoid, concat<max_pool2d<1>, avg_pool2d<1>>>>>;");
  model chain({1, 2});  // a concat of all layers of a chain, as in VoVNet
  chain.tensor("w", {2, 2}, {1, 2, 3, 4}), chain.add("MatMul", {"x", "w"}, "a"), chain.add("MatMul", {"a", "w"}, "b");
  chain.add("MatMul", {"b", "w"}, "c"), model::set(chain.add("Concat", {"x", "a", "b", "c"}, "y"), "axis", 1);
  CHECK_THAT(without_blanks(chain.bytes()),
             Catch::Contains("concat<identity,sequential<dense<2>,concat<identity,sequential<dense<2>,concat<identity,"
                             "dense<2>>>>>>"));
  model tangled;  // a concat whose operands share layers in another order: the convolution's weights are moved
  tangled.tensor("w", {2, 2, 1, 1}, {1, 2, 3, 4}), tangled.tensor("v", {1, 6, 1, 1}, {1, 2, 3, 4, 5, 6});
  tangled.add("Conv", {"x", "w"}, "a"), tangled.add("Tanh", {"x"}, "b"), tangled.add("Conv", {"a", "w"}, "c");
  model::set(tangled.add("Concat", {"c", "b", "a"}, "d"), "axis", 1), tangled.add("Conv", {"d", "v"}, "y");
  CHECK_THAT(without_blanks(tangled.bytes()),
             Catch::Contains("concat<sequential<conv2d<2,1,bias<false>>,concat<identity,conv2d<2,1,bias<false>>>>,"
                             "dsl::tanh>"));
  dsl::imported_network const moved(tangled.bytes(), "x.onnx", "");
  CHECK(moved.weights(2) == std::vector<float>{5, 6, 1, 2, 3, 4});
  CHECK_THAT(moved.header("x"), Catch::Contains("// The input channels of node 4 (Conv) are in a different order"));
  model other;  // the same with names: the original weights of the convolution must not fit by name
  other.tensor("a.weight", {2, 2, 1, 1}, {1, 2, 3, 4}), other.tensor("b.weight", {2, 2, 1, 1}, {1, 2, 3, 4});
  other.tensor("c.weight", {1, 6, 1, 1}, {1, 2, 3, 4, 5, 6});
  other.add("Conv", {"x", "a.weight"}, "a"), other.add("Tanh", {"x"}, "b"), other.add("Conv", {"a", "b.weight"}, "c");
  model::set(other.add("Concat", {"c", "b", "a"}, "d"), "axis", 1), other.add("Conv", {"d", "c.weight"}, "y");
  CHECK(dsl::imported_network(other.bytes(), "x.onnx", "").weight_names()[2] == "c_reordered.weight");
  CHECK_THAT(dsl::imported_network(m.bytes(), "x.onnx", "").header("x"), !Catch::Contains("different order"));
  model bridge;  // a pool that two branches read
  model::set(bridge.add("MaxPool", {"x"}, "pool"), "kernel_shape", {1, 1});
  bridge.add("Tanh", {"x"}, "a"), bridge.add("Sigmoid", {"pool"}, "b"), bridge.add("Add", {"a", "b"}, "c");
  model::set(bridge.add("Concat", {"c", "pool"}, "y"), "axis", 1);
  CHECK_THAT(without_blanks(bridge.bytes()),
             Catch::Contains("concat<sequential<max_pool2d<1>,tap<\"skip2\">,from<\"skip1\">,dsl::tanh,tap<\"skip1\">,"
                             "from<\"skip2\">,sigmoid,add<from<\"skip1\">,identity>>,from<\"skip2\">>"));
}

TEST_CASE("onnx import: further inputs and outputs keep their names", "[onnx]") {
  model m({1, 3});
  model::describe("row", {1, 2}, *m.graph().add_input());
  m.tensor("w", {5, 4}, std::vector<float>(20, 0.5F));
  model::set(m.add("Concat", {"x", "row"}, "both"), "axis", 1);
  m.add("MatMul", {"both", "w"}, "a"), m.add("Relu", {"a"}, "b"), m.add("Sigmoid", {"b"}, "early");
  m.add("Tanh", {"b"}, "y");
  pb::ModelProto file = m.file;
  file.mutable_graph()->add_output()->set_name("y"), file.mutable_graph()->add_output()->set_name("early");
  CHECK(layers_of(file.SerializeAsString()) ==
        "network<features<3>, concat<identity, named_input<\"row\", features<2>>>, dense<4>, relu, "
        "named_output<\"early\", sigmoid>, dsl::tanh>;");
  pb::NodeProto& copy = *file.mutable_graph()->add_node();
  copy.set_op_type("Identity"), copy.add_input("early"), copy.add_output("copy");
  file.mutable_graph()->add_output()->set_name("copy");
  CHECK_THAT(complaint(file.SerializeAsString(), dsl::onnx_fault::other_connection),
             Catch::Contains("(Sigmoid) must compute one output"));

  // An output may be an operand of another one. The layers of the first are then not those of the second.
  model both;
  both.add("Relu", {"x"}, "a"), both.add("Sigmoid", {"a"}, "b"), both.add("Softplus", {"b"}, "c");
  both.add("Tanh", {"a"}, "y");
  file = both.file;
  for (char const* output : {"y", "c", "b"}) file.mutable_graph()->add_output()->set_name(output);
  CHECK_THAT(without_blanks(file.SerializeAsString()),
             Catch::Contains("named_output<\"b\",sigmoid,tap<\"skip1\">>,named_output<\"c\",from<\"skip1\">,"
                             "softplus>,dsl::tanh>"));
}

TEST_CASE("onnx import: the names of inputs and outputs are those of the file, whatever their characters", "[onnx]") {
  auto const made = [](std::vector<std::string> const& outputs, std::string const& input) {
    model m({1, 3});
    model::describe(input, {1, 2}, *m.graph().add_input());
    model::set(m.add("Concat", {"x", input}, "both"), "axis", 1);
    m.add("Relu", {"both"}, "y");
    pb::ModelProto file = m.file;
    file.mutable_graph()->add_output()->set_name("y");
    for (std::string const& name : outputs) {
      pb::NodeProto& n = *file.mutable_graph()->add_node();
      n.set_op_type("Sigmoid"), n.add_input("both"), n.add_output(name);
      file.mutable_graph()->add_output()->set_name(name);
    }
    return file.SerializeAsString();
  };
  std::string const bytes = made({"\xc3\xa9", "\xc3\xa8", "a?", "a\\", "\"",
                                  std::string("a\0"
                                              "1",
                                              3),
                                  "\xff", "\n"},
                                 "row\x01");
  std::string const header = without_blanks(bytes);
  for (char const* name :
       {"\"\xc3\xa9\"", "\"\xc3\xa8\"", R"("a\?")", R"("a\\")", R"("\"")", R"("a\0001")", R"("\377")", R"("\012")"})
    CHECK_THAT(header, Catch::Contains(std::string("named_output<") + name + ",sigmoid>"));
  CHECK_THAT(header, Catch::Contains(R"(named_input<"row\001",features<2>>)"));
  model empty({1, 0});
  empty.add("Relu", {"x"}, "y");
  CHECK_THAT(
      complaint(empty.bytes(), dsl::onnx_fault::unsupported),
      Catch::Contains("input \"x\" must have a known shape without a size of 0; found axis 1 of size 0; give the "
                      "shape, as in --input 3x224x224"));
  for (std::string const& name : {std::string(), std::string(1001, 'a')})
    CHECK_THAT(complaint(made({}, name), dsl::onnx_fault::damaged),
               Catch::Contains("must have a name of 1 to 1,000 bytes, since it becomes part of a type; found " +
                               std::to_string(name.size())));
  CHECK_THAT(complaint(made({std::string(1001, 'a')}, "row"), dsl::onnx_fault::damaged),
             Catch::Contains("must have a name of 1 to 1,000 bytes"));
}

TEST_CASE("onnx import: a network nested deeper than types may be is flat, with taps", "[onnx]") {
  auto const header = [](int count) {  // a concat of values that build on one another
    model m({1, 3});
    std::vector<std::string> all;
    for (int i = 0; i < count; ++i) {
      std::string const n = std::to_string(i), from = i == 0 ? "x" : "c" + std::to_string(i - 1);
      model::set_real(m.add("LeakyRelu", {from}, "c" + n), "alpha", 0.001F * static_cast<float>(i + 1));
      m.add("Tanh", {"c" + n}, "t" + n), all.push_back("t" + n);
    }
    model::set(m.add("Concat", all, "y"), "axis", 1);
    return without_blanks(m.bytes());
  };
  CHECK_THAT(header(20), !Catch::Contains("tap<"));
  CHECK_THAT(header(130), Catch::Contains(",leaky_relu<0.119>,//3tap<\"skip115\">,dsl::tanh,"));
  CHECK_THAT(header(130), Catch::Contains("concat<from<\"skip1\">,from<\"skip2\">,"));
}

TEST_CASE("onnx import: what typenet has no layer for is one error with node, operator and place", "[onnx]") {
  using dsl::onnx_fault;
  model m;
  m.add("Relu", {"x"}, "a"), m.add("LSTM", {"a"}, "y").set_name("/encoder/lstm/LSTM");
  CHECK(complaint(m.bytes(), onnx_fault::unsupported) ==
        "onnx: x.onnx: node 1, \"/encoder/lstm/LSTM\" (LSTM) must be an operator that typenet has a layer for; found "
        "\"LSTM\"; change the network and export it again, or write it in C++ and load its weights with "
        "load_safetensors");
  model dilated;
  pb::NodeProto& pool = dilated.add("MaxPool", {"x"}, "y");
  model::set(pool, "kernel_shape", {2, 2}), model::set(pool, "dilations", {2, 2});
  CHECK_THAT(complaint(dilated.bytes(), onnx_fault::unsupported),
             Catch::StartsWith("onnx: x.onnx: node 0 (MaxPool) must have no dilation; found 2x2; change the network"));
  model even;
  model::set(even.add("LRN", {"x"}, "y"), "size", 4);
  CHECK_THAT(complaint(even.bytes(), onnx_fault::unsupported),
             Catch::StartsWith("onnx: x.onnx: node 0 (LRN) must have an odd size; found 4; change the network"));
  model odd;
  model::set(odd.add("LRN", {"x"}, "y"), "size", 5);
  CHECK_THAT(layers_of(odd.bytes()), Catch::Contains("local_response_norm<5, 1e-04, 0.75, 1.0>"));
  model own;
  own.add("Relu", {"x"}, "y").set_domain("com.example");
  CHECK_THAT(complaint(own.bytes(), onnx_fault::unsupported), Catch::Contains("an operator of ONNX itself"));
  model batch({8, 2, 4, 4});
  batch.add("Relu", {"x"}, "y");
  CHECK_THAT(complaint(batch.bytes(), onnx_fault::unsupported), Catch::Contains("a batch of 8"));
}

TEST_CASE("onnx import: values that branches share are taps", "[onnx]") {
  // Each of a and b is read on both sides of a join.
  model crossed;
  crossed.tensor("w", {2, 2, 1, 1}, {1, 2, 3, 4});
  crossed.add("Conv", {"x", "w"}, "a"), crossed.add("Tanh", {"x"}, "b"), crossed.add("Add", {"a", "b"}, "c");
  crossed.add("Conv", {"c", "w"}, "d"), crossed.add("Add", {"a", "d"}, "e");
  crossed.add("Mul", {"e", "b"}, "y");
  CHECK_THAT(without_blanks(crossed.bytes()),
             Catch::Contains("multiply<sequential<conv2d<2,1,bias<false>>,tap<\"skip2\">,from<\"skip1\">,dsl::tanh,"
                             "tap<\"skip1\">,add<from<\"skip2\">,identity>,conv2d<2,1,bias<false>>,"
                             "add<from<\"skip2\">,identity>>,from<\"skip1\">>"));
  // A ladder: each value is the sum of the two values before it.
  model ladder;
  ladder.add("Relu", {"x"}, "v0"), ladder.add("Tanh", {"v0"}, "v1");
  for (int i = 2; i < 100; ++i) {
    std::string const k = std::to_string(i);
    ladder.add("Add", {"v" + std::to_string(i - 1), "v" + std::to_string(i - 2)}, "s" + k);
    ladder.add("Sigmoid", {"s" + k}, i == 99 ? "y" : "v" + k);
  }
  CHECK_THAT(without_blanks(ladder.bytes()),
             Catch::Contains("repeat<49,tap<\"skip2\">,add<identity,from<\"skip1\">>,sigmoid,tap<\"skip1\">,"
                             "add<identity,from<\"skip2\">>,sigmoid>") ||
                 Catch::Contains("repeat<48,tap<\"skip2\">,add<identity,from<\"skip1\">>,sigmoid,tap<\"skip1\">,"
                                 "add<identity,from<\"skip2\">>,sigmoid>"));
  // The input is read again, and a further input is read twice.
  model inputs({1, 3});
  model::describe("row", {1, 3}, *inputs.graph().add_input());
  inputs.add("Relu", {"x"}, "a"), inputs.add("Tanh", {"row"}, "r"), inputs.add("Add", {"a", "r"}, "b");
  inputs.add("Sigmoid", {"b"}, "c"), inputs.add("Add", {"c", "r"}, "d"), inputs.add("Add", {"d", "x"}, "e");
  inputs.add("Mul", {"e", "row"}, "y");
  CHECK(layers_of(inputs.bytes()) ==
        "network<features<3>, tap<\"skip1\">, named_input<\"row\", features<3>>, tap<\"skip2\">, from<\"skip1\">, "
        "relu, tap<\"skip3\">, from<\"skip2\">, dsl::tanh, tap<\"skip4\">, add<from<\"skip3\">, identity>, sigmoid, "
        "add<identity, from<\"skip4\">>, add<identity, from<\"skip1\">>, multiply<identity, from<\"skip2\">>>;");
  // A block of Res2Net: each part of the channels is added to the result of the part before it.
  model res2({1, 4, 2, 2});
  res2.tensor("w", {2, 2, 1, 1}, {1, 2, 3, 4});
  for (int i = 0; i < 3; ++i) res2.wholes("i" + std::to_string(2 * i), {2 * i});
  res2.wholes("axes", {1});
  res2.add("Slice", {"x", "i0", "i2", "axes"}, "a"), res2.add("Slice", {"x", "i2", "i4", "axes"}, "b");
  res2.add("Conv", {"a", "w"}, "c"), res2.add("Add", {"c", "b"}, "d"), res2.add("Conv", {"d", "w"}, "e");
  model::set(res2.add("Concat", {"c", "e"}, "y"), "axis", 1);
  CHECK_THAT(without_blanks(res2.bytes()),
             Catch::Contains("concat<sequential<channel_slice<0,2>,conv2d<2,1,bias<false>>,tap<\"skip1\">>,"
                             "sequential<add<from<\"skip1\">,channel_slice<2,2>>,conv2d<2,1,bias<false>>>>"));
  // Weights that are normalised before they are used.
  model standard({1, 1, 2, 2});
  standard.tensor("w", {1, 2, 2}, {1, 3, 10, 30}), standard.tensor("g", {2}, {1, 2}), standard.tensor("b", {2}, {0, 1});
  standard.tensor("m", {2}, {0, 0}), standard.tensor("v", {2}, {1, 1}), standard.wholes("dims", {4, 1, 1, 1});
  pb::NodeProto& norm = standard.add("BatchNormalization", {"w", "g", "b", "m", "v"}, "n");
  model::set(norm, "training_mode", 1);
  norm.add_output("mean"), norm.add_output("variance");
  standard.add("Reshape", {"n", "dims"}, "r"), standard.add("Conv", {"x", "r"}, "y");
  dsl::imported_network const standardised(standard.bytes(), "x.onnx", "");
  std::vector<float> const wanted{-1, 1, -1, 3};
  for (std::size_t i = 0; i < 4; ++i) CHECK(standardised.weights(0)[i] == approx(wanted[i]).epsilon(1e-4));
}

TEST_CASE("onnx import: damaged files are refused", "[onnx][hostile]") {
  using dsl::onnx_fault;
  CHECK_THAT(complaint("", onnx_fault::damaged), Catch::Contains("must be an ONNX file"));
  CHECK_THAT(complaint("\x89PNG\r\n", onnx_fault::damaged), Catch::Contains("must be an ONNX file"));
  auto const refused = [](std::function<void(model&)> const& add, char const* why) {
    model m;
    m.tensor("w", {2, 2, 1, 1}, {1, 2, 3, 4});
    add(m);
    CHECK_THAT(complaint(m.bytes(), onnx_fault::damaged), Catch::Contains(why));
  };
  refused([](model& m) { m.add("Conv", {"x", "nothing"}, "y"); },
          "values that earlier nodes compute; found \"nothing\"");
  refused([](model& m) { m.add("Relu", {"y"}, "y"); }, "values that earlier nodes compute");
  refused([](model& m) { m.add("Relu", {"x"}, "x"); }, "a value with a new name; found \"x\"");
  refused([](model& m) { m.add("Relu", {"x"}, "w"), m.add("Relu", {"x"}, "y"); },
          "a value with a new name; found \"w\"");
  refused([](model& m) { m.add("Relu", {"x"}, "z"); }, "computed by a node");
  refused([](model& m) { m.tensor("w", {1}, {1}), m.add("Relu", {"x"}, "y"); }, "each tensor only once");
  refused([](model& m) { model::set(m.add("Conv", {"x", "w"}, "y"), "group", 0); }, "a number of groups that divides");
  refused([](model& m) { model::set(m.add("Conv", {"x", "w"}, "y"), "strides", {0, 0}); },
          "of at least 1; found the kernel [1, 1], strides [0, 0] and dilations [1, 1]");
  refused([](model& m) { model::set(m.add("Conv", {"x", "w"}, "y"), "pads", {-1, 0, 0, 0}); },
          "must have padding of at least 0 and at most 536,870,911; found -1");
  refused([](model& m) { model::set(m.add("Conv", {"x", "w"}, "y"), "pads", std::vector<std::int64_t>{1}); },
          "of two axes; found the kernel [1, 1], strides [1, 1], pads [1] and dilations [1, 1]");
  refused([](model& m) { m.graph().mutable_initializer(0)->set_dims(0, 3), m.add("Conv", {"x", "w"}, "y"); },
          "must have 24 bytes; found 16");
  refused([](model& m) { m.graph().mutable_initializer(0)->set_dims(0, -2), m.add("Conv", {"x", "w"}, "y"); },
          "a size of 0 to");
  refused([](model& m) { m.graph().mutable_initializer(0)->set_dims(0, 1LL << 62), m.add("Conv", {"x", "w"}, "y"); },
          "a size of 0 to");
  refused([](model& m) { m.tensor("v", {1, 1, 1, 1, 1, 1, 1, 1, 1}, {1}), m.add("Conv", {"x", "v"}, "y"); },
          "must have at most 8 axes; found 9; give");
  refused([](model& m) { m.tensor("v", {4, 0}, {}), m.add("MatMul", {"x", "v"}, "y"); },
          "must have a matrix with 1 to 2,147,483,647 units; found 0");
  refused([](model& m) { m.tensor("v", {3, 1}, {1, 2, 3}), m.add("MatMul", {"x", "v"}, "y"); },
          "must have a matrix for 4 features; found one for 3");
  refused([](model& m) { m.wholes("s", {0, 7}), m.add("Reshape", {"x", "s"}, "y"); },
          "as many elements as its operand; found [0, 7] for [1, 2, 4, 4]");
  refused([](model& m) { m.wholes("s", {-1, -1}), m.add("Reshape", {"x", "s"}, "y"); },
          "as many elements as its operand; found [-1, -1] for");
  refused([](model& m) { model::set(m.add("Transpose", {"x"}, "y"), "perm", {0, 1, 1, 2}); },
          "each axis once in perm; found [0, 1, 1, 2]");
  refused([](model& m) { model::set(m.add("Softmax", {"x"}, "y"), "axis", 4); }, "one of 4 axes");
  refused([](model& m) { m.wholes("i", {9}), model::set(m.add("Gather", {"x", "i"}, "y"), "axis", 1); },
          "must have indices within axis 1 of size 2; found 9");
  refused([](model& m) { m.wholes("i", {-3}), m.add("Gather", {"w", "i"}, "v"), m.add("Conv", {"x", "v"}, "y"); },
          "must have indices within axis 0 of size 2; found -3");
  refused([](model& m) { m.wholes("p", {3, 2}), model::set(m.add("Split", {"x", "p"}, "y"), "axis", 2); },
          "must split axis 2 of [1, 2, 4, 4] into positive parts that add up to it, at least one for each output; "
          "found the parts [3, 2] for 1 output");
  refused([](model& m) { m.wholes("a", {1}), m.add("Squeeze", {"x", "a"}, "y"); },
          "must squeeze axes of size 1; found axis 1 of [1, 2, 4, 4]");
  refused([](model& m) { m.wholes("a", {0, 0}), m.add("Unsqueeze", {"x", "a"}, "y"); },
          "must list each axis once; found [0, 0]");
  refused([](model& m) { m.wholes("p", {1, 1}), m.add("Pad", {"x", "p"}, "y"); },
          "must have padding before and after each of 4 axes; found [1, 1]");
  refused([](model& m) { m.wholes("a", {0}), m.wholes("b", {1, 2}), m.add("Slice", {"x", "a", "b"}, "y"); },
          "must have as many starts as ends, axes and steps; found 1, 2, 1 and 1");
  refused(
      [](model& m) {
        m.tensor("v", {3, 1, 1}, {1, 2, 3}), model::set(m.add("Concat", {"w", "v"}, "a"), "axis", 0);
        m.add("Conv", {"x", "a"}, "y");
      },
      "apart from axis 0, one shape; found floats of shape [2, 2, 1, 1] and floats of shape [3, 1, 1]");
  refused(
      [](model& m) {
        m.tensor("u", {1, 2}, {1, 2}), m.tensor("v", {3, 1}, {1, 2, 3});
        m.add("MatMul", {"u", "v"}, "a"), m.add("Mul", {"x", "a"}, "y");
      },
      "as many rows as its first operand has columns; found [1, 2] and [3, 1]");
  refused([](model& m) { model::set(m.add("Transpose", {"x"}, "y"), "perm", std::vector<std::int64_t>(99)); },
          "must have 4 axes in perm, as many as its operand; found [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, "
          "...]");
  // Operators without operands, or with those of the other kind.
  for (char const* type : {"Identity", "Cast", "Dropout", "Relu", "Add", "LRN", "Concat", "Flatten", "Shape"})
    refused(
        [&](model& m) {
          pb::NodeProto& n = m.add(type, {}, "y");
          if (n.op_type() == "Cast") model::set(n, "to", pb::TensorProto::FLOAT);
        },
        "must have");
  refused([](model& m) { m.add("Identity", {"", "x"}, "y"); },
          "must have an operand 0; found an empty name in its place;");
  refused([](model& m) { m.add("LeakyRelu", {"w", "x"}, "a"), m.add("Add", {"x", "a"}, "y"); }, "one operand; found 2");
  refused([](model& m) { m.add("Swish", {"x", "x"}, "y"); }, "one operand; found 2");
  refused([](model& m) { m.add("Add", {"x"}, "y"); }, "two operands; found 1");
  refused([](model& m) { m.add("Sub", {"x", "x", "x"}, "y"); }, "two operands; found 3");
  auto const unsupported = [](std::function<void(model&)> const& add, char const* why) {
    model m({1, 3});
    m.tensor("w", {3, 1}, {1, 2, 3}), m.numbers("n", {2}), m.tensor("none", {0}, {}), m.numbers("three", {1, 2, 3});
    add(m);
    CHECK_THAT(complaint(m.bytes(), onnx_fault::unsupported), Catch::Contains(why));
  };
  unsupported([](model& m) { m.graph().mutable_initializer(0)->set_data_type(14), m.add("MatMul", {"x", "w"}, "y"); },
              "found COMPLEX64; convert it");
  unsupported([](model& m) { m.graph().mutable_initializer(0)->set_data_type(99), m.add("MatMul", {"x", "w"}, "y"); },
              "found type 99; convert it");
  unsupported(
      [](model& m) {
        m.wholes("a", {0}), m.wholes("b", {2}), m.wholes("s", {-0x80000000LL});
        m.add("Slice", {"w", "b", "a", "a", "s"}, "v"), m.add("MatMul", {"x", "v"}, "y");
      },
      "must have steps other than 0, and above -2,147,483,647; found -2147483648");
  for (float const tiny : {1e-31F, 0.0F})
    unsupported(
        [&](model& m) {
          pb::AttributeProto& a = *m.add("LayerNormalization", {"x", "three"}, "y").add_attribute();
          a.set_name("epsilon"), a.set_type(pb::AttributeProto::FLOAT), a.set_f(tiny);
        },
        tiny > 0 ? "an epsilon of at least 1e-30 and below 1e30; found 1e-31" : "below 1e30; found 0;");
  for (char const* reader : {"Relu", "Add", "Flatten"})
    unsupported(
        [&](model& m) {
          m.add("Identity", {"w", "x"}, "a");
          pb::NodeProto& n = m.add(reader, {"a"}, "y");
          if (n.op_type() == "Add") n.add_input("n");
        },
        "an operand 0 that depends on the input; found a constant");
  unsupported([](model& m) { m.add("Dropout", {"x", "none"}, "y"); }, "one number as its ratio; found 0 numbers");
  unsupported([](model& m) { m.add("Dropout", {"x", "three"}, "y"); }, "one number as its ratio; found 3 numbers");
  unsupported([](model& m) { m.add("Max", {"x"}, "y"); }, "two operands; found 1");
  // A value without axes.
  auto const single = [](model& m) { m.add("MatMul", {"x", "w"}, "a"), m.add("Squeeze", {"a"}, "b"); };
  unsupported([&](model& m) { single(m), m.add("Add", {"b", "n"}, "y"); },
              "an axis of channels; found a single number");
  unsupported([&](model& m) { single(m), m.add("Mul", {"b", "three"}, "y"); },
              "an axis of channels; found a single number");
  unsupported([&](model& m) { single(m), model::set(m.add("LRN", {"b"}, "y"), "size", 3); },
              "an axis of channels; found 0 axes");
  unsupported(
      [](model& m) {
        m.wholes("s", {3}), m.add("Reshape", {"x", "s"}, "a"), model::set(m.add("LRN", {"a"}, "y"), "size", 3);
      },
      "an axis of channels; found 1 axes");
  // Lists that are longer than they can be in a sound file.
  model many({1, 3});
  for (int i = 0; i < 64; ++i) model::describe("x" + std::to_string(i), {1, 3}, *many.graph().add_input());
  many.add("Relu", {"x"}, "y");
  CHECK_THAT(complaint(many.bytes(), onnx_fault::unsupported),
             Catch::Contains("the graph must have at most 64 inputs"));
  for (char const* of : {"x", "w"})
    refused(
        [&](model& m) {
          m.wholes("zeros", {0, 0, 0, 0, 0}), m.wholes("ends", {2, 2, 2, 2, 2}), m.wholes("axes", {0, 0, 0, 0, 0});
          m.add("Slice", {of, "zeros", "ends", "axes"}, "a"), m.add("Conv", {"x", "a"}, "y");
        },
        "no more axes than its operand has");
  // A constant that is doubled forty times would not fit any memory.
  model large;
  large.tensor("c0", {1024}, std::vector<float>(1024, 1));
  for (int i = 0; i < 40; ++i) {
    std::string const name = "c" + std::to_string(i);
    model::set(large.add("Concat", {name, name}, "c" + std::to_string(i + 1)), "axis", 0);
  }
  large.add("Relu", {"x"}, "y");
  CHECK_THAT(complaint(large.bytes(), onnx_fault::unsupported),
             Catch::Contains("must keep the numbers that typenet computes for the file to at most "));
  // So would a layer with a weight for each channel of a huge input.
  auto const huge = [](std::function<void(model&)> const& add) {
    model m({1, 0x7fffffff});
    m.numbers("two", {2}), add(m);
    return complaint(m.bytes(), onnx_fault::unsupported);
  };
  for (char const* type : {"Mul", "Add", "Div", "Sub"})
    CHECK_THAT(huge([&](model& m) { m.add(type, {"x", "two"}, "y"); }),
               Catch::Contains("must keep the numbers that typenet computes for the file to at most "));
  CHECK_THAT(huge([](model& m) { m.add("Relu", {"x"}, "a"), m.add("Sub", {"x", "a"}, "y"); }),
             Catch::Contains("must keep the numbers that typenet computes for the file to at most "));
}

TEST_CASE("onnx import: long paths that join often are refused", "[onnx][hostile]") {
  using dsl::onnx_fault;
  model long_paths;
  std::string last = "x";
  for (int i = 0; i < 4'000; ++i) {
    std::string const next = "p" + std::to_string(i);
    model::set(long_paths.add("MaxPool", {last}, next), "kernel_shape", {1, 1});
    last = next;
  }
  std::vector<std::string> operands(64, "p0");
  for (std::size_t i = 32; i < 64; ++i) operands[i] = last;
  long_paths.tensor("v", {2, 128, 1, 1}, std::vector<float>(256, 1));
  for (int i = 0; i < 16; ++i) {
    std::string const n = std::to_string(i);
    model::set(long_paths.add("Concat", operands, "c" + n), "axis", 1), long_paths.add("Conv", {"c" + n, "v"}, "d" + n);
  }
  std::vector<std::string> all;
  for (int i = 0; i < 16; ++i) all.push_back("d" + std::to_string(i));
  long_paths.add("Sum", all, "y");
  CHECK_THAT(complaint(long_paths.bytes(), onnx_fault::other_connection), Catch::Contains("in 33,554,432 steps"));
}

TEST_CASE("onnx import: a name of the language is no name of a header's part", "[onnx]") {
  model m;
  m.add("Relu", {"x"}, "y");
  dsl::imported_network const net(m.bytes(), "x.onnx", "");
  int found = 0;
  for (char const* folder : {"layers", "combinators"})
    for (auto const& entry :
         std::filesystem::directory_iterator(std::filesystem::path(TYPENET_TEST_DATA "/../../include/dsl") / folder)) {
      std::ifstream file(entry.path());
      bool in_detail = false;
      for (std::string line; std::getline(file, line);) {
        if (line.starts_with("namespace")) in_detail = line.find("detail") != std::string::npos;
        if (line.starts_with("}  // namespace")) in_detail = false;
        for (std::string const word : {"struct ", "class ", "using "}) {
          if (in_detail || !line.starts_with(word) || line.starts_with("using namespace")) continue;
          std::string const rest = line.substr(word.size());
          std::string const name = rest.substr(0, rest.find_first_of(" ;:<{="));
          INFO(name);
          CHECK_THAT(net.header(name), Catch::Contains("namespace " + name + "_ {"));
          ++found;
        }
      }
    }
  CHECK(found > 60);
  CHECK_THAT(net.header("constexpr"), Catch::Contains("namespace constexpr_ {"));
  CHECK_THAT(net.header("embeddings"), Catch::Contains("namespace embeddings {"));
}

TEST_CASE("onnx import: a bound is part of a function, however large it is", "[onnx]") {
  using dsl::onnx_fault;
  char const* const unknown = "part of an activation that typenet has";
  for (float const bound : {6.5F, 100.0F, 255.0F, 500.0F, 1e5F, 1e20F, 9e28F, 1e30F}) {
    INFO(bound);
    char const* const why = bound > 1e29F ? "must have bounds from -1e29 to 1e29" : unknown;
    model clip({1, 3}), min({1, 3}), max({1, 3});
    clip.numbers("zero", {0}), clip.numbers("bound", {bound}), clip.add("Clip", {"x", "zero", "bound"}, "y");
    CHECK_THAT(complaint(clip.bytes(), onnx_fault::unsupported), Catch::Contains(why));
    min.numbers("bound", {bound}), min.add("Relu", {"x"}, "a"), min.add("Min", {"a", "bound"}, "y");
    CHECK_THAT(complaint(min.bytes(), onnx_fault::unsupported), Catch::Contains(why));
    max.numbers("bound", {-bound}), max.numbers("slope", {0.1F});
    max.add("Mul", {"x", "slope"}, "a"), max.add("Max", {"x", "a"}, "b"), max.add("Max", {"bound", "b"}, "y");
    CHECK_THAT(complaint(max.bytes(), onnx_fault::unsupported), Catch::Contains(why));
  }
  model scaled({1, 3});  // Clip(0, 1000), by way of thousandths
  scaled.numbers("zero", {0}), scaled.numbers("one", {1}), scaled.numbers("n", {1000});
  scaled.add("Div", {"x", "n"}, "a"), scaled.add("Clip", {"a", "zero", "one"}, "b"), scaled.add("Mul", {"b", "n"}, "y");
  CHECK_THAT(complaint(scaled.bytes(), onnx_fault::unsupported), Catch::Contains(unknown));
  for (float const none : {3.402823466e38F, std::numeric_limits<float>::infinity()}) {
    model m({1, 3});
    m.numbers("zero", {0}), m.numbers("none", {none}), m.add("Clip", {"x", "zero", "none"}, "y");
    CHECK(layers_of(m.bytes()) == "network<features<3>, relu>;");
  }
  model m({1, 3});  // mish by powers of e, which are beyond double at the largest places
  m.numbers("one", {1}), m.numbers("two", {2});
  m.add("Exp", {"x"}, "e"), m.add("Add", {"e", "one"}, "a"), m.add("Pow", {"a", "two"}, "b");
  m.add("Sub", {"b", "one"}, "c"), m.add("Add", {"b", "one"}, "d"), m.add("Div", {"c", "d"}, "f");
  m.add("Mul", {"x", "f"}, "y");
  CHECK(layers_of(m.bytes()) == "network<features<3>, mish>;");
}

TEST_CASE("onnx import: a network with another number in a layer has another structure", "[onnx]") {
  using ours = dsl::network<dsl::image<4, 2, 2>, dsl::local_response_norm<3, 1e-4, 0.75, 1.0>, dsl::conv2d<2, 1>>;
  using theirs = dsl::network<dsl::image<4, 2, 2>, dsl::local_response_norm<3, 1e-4, 0.5, 1.0>, dsl::conv2d<2, 1>>;
  dsl::trainer t = drawn_trainer<ours>(), other = drawn_trainer<theirs>();
  dsl::imported_network const same(dsl::serialize_onnx(t.engine(), {}), "x.onnx", "");
  dsl::imported_network const differs(dsl::serialize_onnx(other.engine(), {}), "x.onnx", "");
  dsl::detail::require_same_structure(t.engine().graph(), same, "x.onnx");
  CHECK_THROWS_WITH(dsl::detail::require_same_structure(t.engine().graph(), differs, "x.onnx"),
                    Catch::Contains("the same operation with other attributes (such as the stride) or other operands"));
}

TEST_CASE("onnx import: operators on constants are computed as ONNX defines them, or refused", "[onnx]") {
  using dsl::onnx_fault;
  auto const scale = [](std::vector<float> const& w, std::function<void(model&)> const& add) {
    model m({1, 3});
    m.numbers("w", w), add(m), m.add("Mul", {"x", "c"}, "y");
    return dsl::imported_network(m.bytes(), "x.onnx", "").weights(0);
  };
  using floats = std::vector<float>;
  CHECK(scale({4, 9, 16}, [](model& m) { m.add("Sqrt", {"w"}, "c"); }) == floats{2, 3, 4});
  CHECK(scale({2, -3, 4}, [](model& m) { m.add("Neg", {"w"}, "a"), m.add("Abs", {"a"}, "c"); }) == floats{2, 3, 4});
  CHECK(scale({1, 2, 4}, [](model& m) { m.add("Reciprocal", {"w"}, "c"); }) == floats{1, 0.5F, 0.25F});
  CHECK(scale({1.5F, -1.5F, 2}, [](model& m) { m.add("Floor", {"w"}, "c"); }) == floats{1, -2, 2});
  CHECK(scale({1, 5, 2}, [](model& m) { m.numbers("v", {3, 2, 1}), m.add("Max", {"w", "v"}, "c"); }) ==
        floats{3, 5, 2});
  CHECK(scale({1, 5, 2}, [](model& m) { m.numbers("v", {3}), m.add("Min", {"w", "v"}, "c"); }) == floats{1, 3, 2});
  CHECK(scale({1, 5, -2}, [](model& m) {
          m.numbers("zero", {0}), m.numbers("four", {4}), m.add("Clip", {"w", "zero", "four"}, "c");
        }) == floats{1, 4, 0});
  CHECK(scale({4, 5, 6}, [](model& m) { m.wholes("i", {2, -3, 2}), m.add("GatherElements", {"w", "i"}, "c"); }) ==
        floats{6, 4, 6});
  CHECK(scale({7, -7, 4}, [](model& m) { m.numbers("v", {3}), m.add("Mod", {"w", "v"}, "c"); }) == floats{1, 2, 1});
  CHECK(scale({1, 2, 3}, [](model& m) {  // backwards
          m.wholes("last", {-1}), m.wholes("end", {-9}), m.wholes("axis", {0});
          m.add("Slice", {"w", "last", "end", "axis", "last"}, "c");
        }) == floats{3, 2, 1});
  CHECK(scale({1, 2, 3}, [](model& m) {
          m.numbers("v", {3, 2, 1}), m.add("Greater", {"w", "v"}, "a"), m.add("Where", {"a", "w", "v"}, "c");
        }) == floats{3, 2, 3});
  CHECK(scale({1, -2, 3}, [](model& m) { m.add("Relu", {"w"}, "c"); }) == floats{1, 0, 3});
  CHECK(scale({0, 1, 2}, [](model& m) {
          m.tensor("v", {3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9}), m.add("MatMul", {"w", "v"}, "c");
        }) == floats{18, 21, 24});
  auto const scattered = [](model& m, std::vector<std::int64_t> const& places) {
    m.wholes("list", places), m.wholes("dims", {2, 1}), m.add("Reshape", {"list", "dims"}, "places");
    m.numbers("v", {8, 9}), m.add("ScatterND", {"w", "places", "v"}, "c");
  };
  CHECK(scale({1, 2, 3}, [&](model& m) { scattered(m, {2, -3}); }) == floats{9, 2, 8});
  for (std::int64_t const outside : {3, -4}) {
    model m({1, 3});
    m.numbers("w", {1, 2, 3}), scattered(m, {0, outside}), m.add("Mul", {"x", "c"}, "y");
    CHECK_THAT(complaint(m.bytes(), onnx_fault::damaged),
               Catch::Contains("must have indices within axis 0 of size 3; found " + std::to_string(outside)));
  }
  auto const reduced = [](char const* type, std::int64_t axis, bool keeps) {
    model m({1, 3});
    m.tensor("w", {2, 3}, {1, -2, 3, 4, 5, 6}), m.wholes("axis", {axis});
    pb::NodeProto& n = m.add(type, {"w", "axis"}, "c");
    pb::AttributeProto& a = *n.add_attribute();
    a.set_name("keepdims"), a.set_type(pb::AttributeProto::INT), a.set_i(keeps ? 1 : 0);
    m.add("Mul", {"x", "c"}, "y");
    return dsl::imported_network(m.bytes(), "x.onnx", "").weights(0);
  };
  CHECK(reduced("ReduceSum", 0, true) == floats{5, 3, 9});
  CHECK(reduced("ReduceProd", 0, false) == floats{4, -10, 18});
  CHECK(reduced("ReduceMean", -2, true) == floats{2.5F, 1.5F, 4.5F});
  CHECK(reduced("ReduceMax", 0, true) == floats{4, 5, 6});
  CHECK(reduced("ReduceMin", 0, false) == floats{1, -2, 3});
  CHECK(reduced("ReduceL1", 0, true) == floats{5, 7, 9});
  CHECK(reduced("ReduceSumSquare", 0, true) == floats{17, 29, 45});
  CHECK(scale({3, 4, 0}, [](model& m) {  // over all axes, as one number
          m.add("ReduceL2", {"w"}, "a"), m.add("Mul", {"a", "w"}, "c");
        }) == floats{15, 20, 0});
  auto const refused = [](std::function<void(model&)> const& add, char const* why) {
    model m({1, 3});
    m.numbers("w", {2, 3, 4}), m.numbers("v", {3, 2, 1}), m.numbers("n", {7});
    add(m), m.add("Mul", {"x", "c"}, "y");
    CHECK_THAT(complaint(m.bytes(), onnx_fault::unsupported), Catch::Contains(why));
  };
  for (char const* type : {"HardSigmoid", "LeakyRelu", "Gelu", "Elu", "Swish"})
    refused([&](model& m) { m.add(type, {"w"}, "c"); },
            (std::string(type) + ") must be an operator that typenet can compute for constants").c_str());
  refused([](model& m) { m.add("ReduceLogSum", {"w"}, "c"); },
          "ReduceLogSum) must be an operator that typenet can compute for constants");
  refused([](model& m) { m.add("Max", {"w", "v", "n"}, "c"); }, "must have two operands; found 3");
  refused([](model& m) { m.add("Min", {"w"}, "c"); }, "must have two operands; found 1");
  refused([](model& m) { m.add("Neg", {"w", "v"}, "c"); }, "must have one operand; found 2");
  // One number keeps its axes in front of those that it is spread over.
  for (char const* type : {"Expand", "Mul"}) {
    model m({1, 5});
    m.tensor("n", {1, 1}, {7}), m.wholes("five", {5}), m.numbers("w", {1, 1, 1, 1, 1});
    m.add(type, {"n", std::string(type) == "Expand" ? "five" : "w"}, "c"), m.add("Shape", {"c"}, "s");
    m.add("Reshape", {"x", "s"}, "r"), model::set(m.add("Softmax", {"r"}, "y"), "axis", 1);
    CHECK(layers_of(m.bytes()) == "network<features<5>, softmax>;");
  }
}

TEST_CASE("onnx import: a file of which any byte is another one is read or refused", "[onnx][hostile]") {
  using small = dsl::network<dsl::image<2, 4, 4>, dsl::conv2d<2, 3>, dsl::residual<dsl::batch_norm<>, dsl::relu>,
                             dsl::flatten, dsl::dense<2>, dsl::softmax>;
  dsl::trainer t = drawn_trainer<small>();
  std::string const sound = dsl::serialize_onnx(t.engine(), {});
  int accepted = 0, refused = 0;
  for (std::size_t i = 0; i < sound.size(); ++i)
    for (char bits : {'\x01', '\x80', '\x7f'}) {
      std::string bytes = sound;
      bytes[i] = static_cast<char>(bytes[i] ^ bits);
      try {
        dsl::imported_network const net(bytes, "x.onnx", "");
        ++accepted;  // a weight, a name or a number that is as good
      } catch (dsl::error const&) {
        ++refused;
      }
    }
  for (std::size_t size = 0; size < sound.size(); ++size)
    CHECK_THROWS_AS(dsl::imported_network(sound.substr(0, size), "x.onnx", ""), dsl::error);
  CHECK(accepted > 0);
  CHECK(refused > 0);
}

TEST_CASE("onnx import: weights in other files must be in the file's folder", "[onnx][hostile]") {
  namespace fs = std::filesystem;
  using dsl::onnx_fault;
  fs::path const home = fs::temp_directory_path() / ("onnx_import_" + std::to_string(::getpid()));
  fs::create_directories(home / "model" / "parts");
  auto const write = [](fs::path const& path, std::vector<float> const& values) {
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<char const*>(values.data()),
               static_cast<std::streamsize>(values.size() * sizeof(float)));
  };
  write(home / "secret", {1, 2, 3, 4});
  write(home / "model" / "weights", {9, 1, 2, 3, 4});
  write(home / "model" / "parts" / "weights", {5, 6, 7, 8});
  fs::create_symlink("../secret", home / "model" / "link");
  fs::create_directory_symlink("..", home / "model" / "up");
  std::string const folder = (home / "model").string();
  auto const with = [](std::string const& location, std::string const& offset, std::string const& length) {
    model m;
    pb::TensorProto& t = m.tensor("w", {2, 2, 1, 1}, {});
    t.clear_raw_data();
    t.set_data_location(pb::TensorProto::EXTERNAL);
    auto const entry = [&](char const* key, std::string const& value) {
      auto& e = *t.add_external_data();
      e.set_key(key), e.set_value(value);
    };
    entry("location", location);
    if (!offset.empty()) entry("offset", offset);
    if (!length.empty()) entry("length", length);
    m.add("Conv", {"x", "w"}, "y");
    return m.bytes();
  };
  dsl::imported_network const net(with("weights", "4", "16"), "x.onnx", folder);
  CHECK(net.weights(0) == std::vector<float>{1, 2, 3, 4});
  CHECK(dsl::imported_network(with("parts/weights", "", ""), "x.onnx", folder).weights(0) ==
        std::vector<float>{5, 6, 7, 8});
  CHECK(complaint(with("parts/../weights", "4", ""), onnx_fault::outside, folder).empty());
  for (std::string const& location :
       {std::string("../secret"), (home / "secret").string(), std::string("link"), std::string("up/secret"),
        std::string("parts/../../secret"), std::string(), std::string("missing"), std::string("weights\0", 8)}) {
    INFO(location);
    CHECK_THAT(complaint(with(location, "", ""), onnx_fault::outside, folder), Catch::Contains("tensor \"w\" must be"));
  }
  CHECK_THAT(complaint(with("weights", "4", ""), onnx_fault::outside, ""), Catch::Contains("there is no folder"));
  CHECK_THAT(complaint(with("weights", "8", ""), onnx_fault::damaged, folder),
             Catch::Contains("must lie within \"weights\" of 20 bytes; found 16 bytes at byte 8; give another file"));
  CHECK_THAT(complaint(with("weights", "999999999999999999", ""), onnx_fault::damaged, folder),
             Catch::Contains("must lie within"));
  for (char const* number : {"-4", "99999999999999999999", "4x", "0x4"})
    CHECK_THAT(complaint(with("weights", number, ""), onnx_fault::damaged, folder), Catch::Contains("whole numbers"));
  CHECK_THAT(complaint(with("weights", "", "12"), onnx_fault::damaged, folder), Catch::Contains("a length of 12"));
  model shared;  // three tensors in the same bytes of a file
  for (std::string const name : {"u", "v", "w"}) {
    pb::TensorProto& t = shared.tensor(name, {5, 1, 1, 1}, {});
    t.clear_raw_data(), t.set_data_location(pb::TensorProto::EXTERNAL);
    auto& entry = *t.add_external_data();
    entry.set_key("location"), entry.set_value("weights");
  }
  shared.add("Add", {"u", "v"}, "a"), shared.add("Add", {"a", "w"}, "b"), shared.add("Add", {"x", "b"}, "y");
  CHECK_THAT(
      complaint(shared.bytes(), onnx_fault::damaged, folder),
      Catch::Contains("tensor \"w\" and those before it must take at most 40 bytes from \"weights\", twice its size, "
                      "so that shared bytes do not exhaust the memory; found 60; save the file again"));
  CHECK_THROWS_AS(dsl::imported_network(with("parts", "", ""), "x.onnx", folder), dsl::data_error);
  fs::remove_all(home);
}
