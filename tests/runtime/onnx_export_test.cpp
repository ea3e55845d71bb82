// SPDX-License-Identifier: MIT
// Tests networks as ONNX files with onnx's own checker and shape inference, and with an interpreter of the operators
// that does not know typenet. tests/interchange/onnx_test.py runs them in onnxruntime.
#include <dsl/io/onnx.hpp>
#include <dsl/io/onnx/library.hpp>

#include <onnx/checker.h>
#include <onnx/shape_inference/implementation.h>

#include "support/one_batch.hpp"
#include "support/catch.hpp"
#include "support/extent.hpp"
#include "support/larger.hpp"
#include "support/onnx_interpreter.hpp"
#include "support/onnx_networks.hpp"
#include "support/temporary_directory.hpp"
#include "support/warnings.hpp"

#include <dsl/towers.hpp>
#include <dsl/training/predictor.hpp>
#ifdef TYPENET_HAS_ONEDNN
#include <dsl/executors/onednn.hpp>
#endif

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <vector>

namespace pb = dsl::test::pb;
using dsl::test::drawn_trainer;

namespace {

using minigooglenet = dsl::network<dsl::image<3, 32, 32>, dsl::minigooglenet<10>>;

dsl::onnx_options const own_operators{.operators = {{"softplus", "Softplus"}}};

pb::ModelProto parsed(std::string const& bytes) {
  pb::ModelProto model;
  REQUIRE(model.ParseFromString(bytes));
  return model;
}
pb::ModelProto exported(dsl::graph_view const& network, dsl::onnx_options const& o) {
  dsl::trainer t = drawn_trainer(network);
  return parsed(dsl::serialize_onnx(t.engine(), o));
}
template <class Network>
pb::ModelProto exported(dsl::onnx_options const& o = own_operators) {
  return exported(Network::view(), o);
}
std::string bytes_of(std::string const& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Returns a shape as "batch,3,9,8", of integers as "integers batch,6". Resize could enlarge the batch, so shape
/// inference gives its result another name.
std::string shape_of(pb::ValueInfoProto const& v) {
  bool const integers = v.type().tensor_type().elem_type() == pb::TensorProto::INT64;
  REQUIRE((integers || v.type().tensor_type().elem_type() == pb::TensorProto::FLOAT));
  std::string all;
  for (auto const& d : v.type().tensor_type().shape().dim())
    all += (all.empty() ? "" : ",") + (d.dim_param().starts_with("unk__") ? "batch"
                                       : d.has_dim_param()                ? d.dim_param()
                                                                          : std::to_string(d.dim_value()));
  return (integers ? "integers " : "") + all;
}
using shapes = std::map<std::string, std::string>;
shapes shapes_of(pb::GraphProto const& g) {
  shapes all;
  for (auto const& v : g.value_info()) CHECK(all.emplace(v.name(), shape_of(v)).second);
  return all;
}

/// Runs onnx's own checks, and compares the shapes that it infers with those in the file.
void check_model(pb::ModelProto const& model) {
  CHECK_NOTHROW(pb::checker::check_model(model));
  pb::ShapeInferenceOptions const strict{true, 1, true};
  pb::ModelProto inferred = model;
  auto* const registry = pb::OpSchemaRegistry::Instance();
  CHECK_NOTHROW(pb::shape_inference::InferShapes(inferred, registry, strict));
  inferred.mutable_graph()->clear_value_info();
  auto* const out = inferred.mutable_graph()->mutable_output(0)->mutable_type()->mutable_tensor_type();
  out->clear_shape();
  CHECK_NOTHROW(pb::shape_inference::InferShapes(inferred, registry, strict));
  CHECK(shapes_of(inferred.graph()) == shapes_of(model.graph()));
  CHECK(shape_of(inferred.graph().output(0)) == shape_of(model.graph().output(0)));
}

/// Returns the distance between the file's results and the trainer's predictions, relative to values above 1.
double error_of(dsl::trainer& t, pb::ModelProto const& model, int batch, float scale = 1) {
  dsl::test::drawn_batch drawn(t.graph(), batch, static_cast<std::uint64_t>(batch));
  for (float& x : drawn.images) x *= scale;
  std::vector<float> const ours = dsl::test::predicted(t, drawn);
  dsl::test::onnx_tensor const theirs = dsl::test::onnx_interpreter(model).run(drawn.images, batch);
  REQUIRE(theirs.values.size() == ours.size());
  double worst = 0, least = INFINITY, largest = -INFINITY;
  for (std::size_t i = 0; i < ours.size(); ++i) {
    worst = dsl::test::larger(worst, std::fabs(theirs.values[i] - ours[i]) / std::fmax(1, std::fabs(theirs.values[i])));
    least = std::fmin(least, theirs.values[i]);
    largest = std::fmax(largest, theirs.values[i]);
  }
  CHECK(largest - least > 0.05);  // otherwise the comparison would be empty
  return worst;
}

}  // namespace

TEST_CASE("onnx: every layer's file is sound and computes what the network does", "[onnx]") {
  dsl::test::for_each_onnx_network([](char const* name, dsl::graph_view const& network) {
    INFO(name);
    dsl::trainer t = drawn_trainer(network);
    pb::ModelProto const model = parsed(dsl::serialize_onnx(t.engine(), own_operators));
    check_model(model);
    for (int batch : {1, 3}) CHECK(error_of(t, model, batch) < 1e-5);
  });
}

TEST_CASE("onnx: each further input is one of the file, under its name", "[onnx]") {
  using namespace dsl;
  using model = network<image<2, 4, 4>,
                        concat<sequential<conv2d<3, 3>, flatten>, sequential<named_input<"row", features<3>>, dense<4>>,
                               sequential<named_input<"map", image<1, 4, 4>>, conv2d<2, 3>, flatten>>,
                        dense<2>>;
  trainer t = drawn_trainer<model>();
  pb::ModelProto const file = parsed(serialize_onnx(t.engine(), {}));
  check_model(file);
  REQUIRE(file.graph().input_size() == 3);
  CHECK((file.graph().input(1).name() == "row" && shape_of(file.graph().input(1)) == "batch,3"));
  CHECK((file.graph().input(2).name() == "map" && shape_of(file.graph().input(2)) == "batch,1,4,4"));
  std::vector<float> pictures, rows, maps, ours(4);
  for (int i = 0; i < 64; ++i) pictures.push_back(static_cast<float>(i % 7) / 7);
  for (int i = 0; i < 6; ++i) rows.push_back(static_cast<float>(i) / 6);
  for (int i = 0; i < 32; ++i) maps.push_back(static_cast<float>(i % 5) / 5);
  t.predict_on_batch({{"", pictures}, {"row", rows}, {"map", maps}}, ours);
  auto const theirs = dsl::test::onnx_interpreter(file).run(pictures, 2, {{"row", rows}, {"map", maps}});
  REQUIRE(theirs.values.size() == 4);
  for (std::size_t i = 0; i < 4; ++i) CHECK(ours[i] == approx(theirs.values[i]).epsilon(1e-5));
  using named_like_a_weight =
      network<features<3>, dense<2>, concat<identity, named_input<"0.weight", features<3>>>, dense<2>>;
  CHECK_THROWS_WITH(serialize_onnx(drawn_trainer<named_like_a_weight>().engine(), {}),
                    Catch::Contains("each named_input must have a unique name; found two \"0.weight\""));
  CHECK_NOTHROW(serialize_onnx(drawn_trainer<named_like_a_weight>().engine(), {.prefix = "net."}));
  CHECK_THROWS_WITH(serialize_onnx(t.engine(), {.input = "map"}),
                    Catch::Contains("each named_input must have a unique name") && Catch::Contains("map"));
}

TEST_CASE("onnx: each further output is one of the file, under its name", "[onnx]") {
  using namespace dsl;
  using model = network<image<2, 4, 4>, conv2d<4, 3>, named_output<"early", flatten, dense<3>, softmax>,
                        named_output<"dropped", sequential<flatten, dense<3>, dropout<0.5>>>,
                        named_output<"outer", flatten, dense<3>, named_output<"inner", dense<3>, dropout<0.2>>>,
                        flatten, dense<3>, softmax>;
  trainer t = drawn_trainer<model>();
  pb::ModelProto const file = parsed(serialize_onnx(t.engine(), {}));
  check_model(file);
  REQUIRE(file.graph().output_size() == 5);
  std::vector<float> pictures;
  for (int i = 0; i < 64; ++i) pictures.push_back(static_cast<float>(i % 7) / 7);
  int const program = t.engine().prepare(mode::inference, 2);
  t.engine().run(program, dsl::test::one_batch{pictures.data(), {}, 2});
  char const* const names[] = {"output", "early", "dropped", "inner", "outer"};
  for (int k = 0; k < 5; ++k) {
    INFO(names[k]);
    // outer's last node comes before inner's
    int const number = k == 3 ? 4 : k == 4 ? 3 : k;
    CHECK(file.graph().output(number).name() == names[k]);
    CHECK(shape_of(file.graph().output(number)) == "batch,3");
    std::vector<float> ours(6);
    t.engine().read_output(program, number, ours.data());
    auto const theirs = dsl::test::onnx_interpreter(file).run(pictures, 2, {}, number);
    REQUIRE(theirs.values.size() == 6);
    for (std::size_t i = 0; i < 6; ++i) CHECK(ours[i] == approx(theirs.values[i]).epsilon(1e-5));
  }
  CHECK_THROWS_WITH(serialize_onnx(t.engine(), {.output = "early"}), Catch::Contains("two \"early\""));
}

TEST_CASE("onnx: the normalisation of the inputs is in the file, or the file says that it is not", "[onnx]") {
  using namespace dsl;
  using model = network<image<2, 2, 3>,
                        concat<sequential<flatten, dense<3>>, sequential<named_input<"row", features<4>>, dense<2>>>,
                        dsl::tanh, dense<2>>;
  trainer t = compile<model>(reference{}, sgd{}, {.loss = loss::mean_squared_error});
  auto const plain = parsed(serialize_onnx(t));
  CHECK(plain.metadata_props_size() == 1);  // typenet.steps
  {
    test::warnings_kept const warnings;
    CHECK(parsed(serialize_onnx(t, {.normalize = true})).graph().node_size() == plain.graph().node_size());
    REQUIRE(test::warnings_kept::said.size() == 1);
    CHECK_THAT(test::warnings_kept::said[0], Catch::Contains("set_normalization()"));
  }
  auto const numbers = [](int count, float from) {
    auto all = std::make_shared<std::vector<float>>();
    for (int i = 0; i < count; ++i) all->push_back(from + static_cast<float>(i) / 4);
    return all;
  };
  t.set_normalization({.inputs = {{.input = "", .mean = numbers(12, -1), .deviation = numbers(12, 0.5F)},
                                  {.input = "row", .deviation = numbers(4, 2)}}});
  {
    test::warnings_kept const warnings;
    auto const without = parsed(serialize_onnx(t));
    REQUIRE(test::warnings_kept::said.size() == 1);
    CHECK_THAT(test::warnings_kept::said[0], Catch::Contains(".normalize = true"));
    REQUIRE(without.metadata_props_size() == 2);
    CHECK(without.metadata_props(1).key() == "typenet.normalization");
    CHECK(without.graph().node_size() == plain.graph().node_size());
  }
  test::warnings_kept const warnings;
  auto const with = parsed(serialize_onnx(t, {.normalize = true}));
  CHECK(test::warnings_kept::said.empty());
  check_model(with);
  CHECK(with.metadata_props_size() == 1);
  REQUIRE(with.graph().node_size() == plain.graph().node_size() + 3);
  CHECK((with.graph().node(0).op_type() == "Sub" && with.graph().node(1).op_type() == "Div"));
  CHECK(with.graph().node(0).input(0) == "input");
  int divisions = 0;
  for (auto const& n : with.graph().node()) divisions += n.op_type() == "Div" && n.input(0) == "row";
  CHECK(divisions == 1);

  using one = network<image<2, 2, 3>, conv2d<3, 3>, relu, flatten, dense<2>>;
  trainer single = compile<one>(reference{}, sgd{}, {.loss = loss::mean_squared_error});
  single.set_normalization({.inputs = {{.input = "", .mean = numbers(12, -1), .deviation = numbers(12, 0.5F)}}});
  predictor p = make_predictor<one>(reference{}, single);
  std::vector<float> raw, ours(6);
  for (int i = 0; i < 36; ++i) raw.push_back(static_cast<float>(i * 7 % 11) - 5);
  p.predict(raw, ours);
  auto const theirs = test::onnx_interpreter(parsed(serialize_onnx(single, {.normalize = true}))).run(raw, 3);
  REQUIRE(theirs.values.size() == 6);
  for (std::size_t i = 0; i < 6; ++i) CHECK(ours[i] == approx(theirs.values[i]).epsilon(1e-5).margin(1e-5));
}

TEST_CASE("onnx: MiniGoogLeNet's file after some steps of training", "[onnx]") {
  if (dsl::test::only_a_sample()) return;  // the same code as the small networks
  auto const data = dsl::synthetic_pictures(8, 8, 1);
#ifdef TYPENET_HAS_ONEDNN
  dsl::trainer t = dsl::compile<minigooglenet>(dsl::onednn{.threads = 1, .winograd = false},
                                               dsl::sgd{.learning_rate = 0.01, .momentum = 0.9});
#else
  dsl::trainer t = dsl::compile<minigooglenet>(dsl::reference{}, dsl::sgd{.learning_rate = 0.01, .momentum = 0.9});
#endif
  t.fit(data.train, {.epochs = 2, .batch_size = 4});
  dsl::test::temporary_directory const here;
  dsl::save_onnx(t, here / "x.onnx");
  pb::ModelProto const model = parsed(bytes_of(here / "x.onnx"));
  check_model(model);
  CHECK(error_of(t, model, 2, 100) < 1e-5);

  CHECK(model.ir_version() == 8);
  REQUIRE(model.opset_import_size() == 1);
  CHECK(model.opset_import(0).domain().empty());
  CHECK(model.opset_import(0).version() == 17);
  CHECK(model.producer_name() == "typenet");
  CHECK(model.producer_version() == TYPENET_VERSION);
  CHECK(model.model_version() == 1);
  CHECK_FALSE(model.has_domain());
  CHECK(model.doc_string() == "3x32x32 -> 10, 1656250 parameters");
  REQUIRE(model.metadata_props_size() == 2);
  CHECK(model.metadata_props(1).key() == "typenet.normalization");  // of the images' mean
  CHECK(model.metadata_props(0).key() == "typenet.steps");
  CHECK(model.metadata_props(0).value() == "4");

  pb::GraphProto const& g = model.graph();
  CHECK(g.name() == "minigooglenet");
  CHECK(g.input(0).name() == "input");
  CHECK(shape_of(g.input(0)) == "batch,3,32,32");
  CHECK(g.output(0).name() == "output");
  CHECK(shape_of(g.output(0)) == "batch,10");
  // 19 convolutions with batch_norm and relu, 10 concats, 2 max pools, the mean, flatten, dense, softmax
  CHECK(g.node_size() == 19 * 3 + 10 + 2 + 4);
  pb::NodeProto const& n = g.node(3);
  CHECK(n.op_type() == "Conv");
  CHECK(n.name() == "/1/branches/0/0/Conv");
  CHECK(n.doc_string() == "layer 0.1.0.0 (minigooglenet > inception_module > conv_module > conv2d)");
  CHECK(n.input(0) == "/0/2/Relu_output_0");
  CHECK(n.input(1) == "1.branches.0.0.weight");
  CHECK(n.input(2) == "1.branches.0.0.bias");
  CHECK(n.output(0) == "/1/branches/0/0/Conv_output_0");
  CHECK(g.node(g.node_size() - 1).output(0) == "output");

  // Weights have the same names as in other files, PyTorch's axes, and every bit.
  std::vector<std::string> const names = dsl::weight_names(minigooglenet::view());
  REQUIRE(g.initializer_size() == 116);
  for (int k = 0; k < 116; ++k) {
    pb::TensorProto const& w = g.initializer(k);
    dsl::parameter const& p = minigooglenet::view().parameters[k];
    CHECK(w.name() == names[static_cast<std::size_t>(k)]);
    REQUIRE(w.data_type() == pb::TensorProto::FLOAT);
    REQUIRE(w.dims_size() == p.rank);
    for (int d = 0; d < p.rank; ++d) CHECK(w.dims(d) == p.dims[d]);
    std::vector<float> const ours = dsl::test::parameter_of(t.engine(), k);
    REQUIRE(w.raw_data().size() == ours.size() * sizeof(float));
    CHECK(std::memcmp(w.raw_data().data(), ours.data(), w.raw_data().size()) == 0);
  }
}

namespace {

std::string types_of(pb::ModelProto const& m) {
  std::string all;
  for (auto const& n : m.graph().node()) all += (all.empty() ? "" : " ") + n.op_type();
  return all;
}
std::vector<long long> integers(pb::NodeProto const& n, std::string const& name) {
  for (auto const& a : n.attribute())
    if (a.name() == name) return {a.ints().begin(), a.ints().end()};
  return {};
}
double float_attribute(pb::NodeProto const& n, std::string const& name) {
  for (auto const& a : n.attribute())
    if (a.name() == name) return static_cast<double>(a.f());
  return -1;
}
using integer_list = std::vector<long long>;

}  // namespace

TEST_CASE("onnx: operators and what they are told", "[onnx]") {
  using namespace dsl;
  using picture = image<3, 9, 8>;
  // 9 rows with stride 2 give 5, and 8 columns 4: the extra zero goes after the last
  pb::ModelProto m = exported<network<picture, conv2d<4, 3, 3, 2>>>();
  CHECK(integers(m.graph().node(0), "kernel_shape") == integer_list{3, 3});
  CHECK(integers(m.graph().node(0), "strides") == integer_list{2, 2});
  CHECK(integers(m.graph().node(0), "pads") == integer_list{1, 0, 1, 1});
  // no window reaches the last rows; ONNX has no negative pads
  m = exported<network<picture, conv2d<4, 2, 3, 4, padding::valid>>>();
  CHECK(integers(m.graph().node(0), "pads") == integer_list{0, 0, 0, 0});

  m = exported<network<picture, batch_norm<0.75, 0.25>>>();
  CHECK(float_attribute(m.graph().node(0), "epsilon") == 0.25);
  CHECK(float_attribute(m.graph().node(0), "momentum") == 0.75);
  trainer t(reference<>{}.make_engine(network<picture, batch_norm<0.75>>::view(),
                                      {.loss = loss::mean_squared_error, .batch_norm_momentum = 0.5}),
            0.1);
  CHECK(float_attribute(parsed(serialize_onnx(t.engine())).graph().node(0), "momentum") == 0.5);
  CHECK(float_attribute(exported<network<picture, leaky_relu<0.125>>>().graph().node(0), "alpha") == 0.125);
  CHECK(float_attribute(exported<network<picture, elu<0.5>>>().graph().node(0), "alpha") == 0.5);

  CHECK(types_of(exported<network<picture, max_pool2d<3, 2>, avg_pool2d<2>, global_avg_pool2d>>()) ==
        "MaxPool AveragePool GlobalAveragePool");
  CHECK(types_of(exported<network<picture, dropout<0.5>, relu, dropout<0.2>>>()) == "Relu");
  CHECK(types_of(exported<network<picture, dropout<0.5>>>()) == "Identity");
  CHECK(types_of(exported<network<features<3>, flatten>>()) == "Identity");
  CHECK(types_of(exported<network<picture, flatten, flatten, dense<4>>>()) == "Flatten Gemm");
  CHECK(types_of(exported<network<picture, silu>>()) == "Sigmoid Mul");
  CHECK(types_of(exported<network<features<3>, conv2d<4, 1>, conv2d<4, 1>>>()) == "Unsqueeze Conv Conv");
  CHECK(types_of(exported<network<picture, add<relu, identity>, add<relu, identity, identity>>>()) ==
        "Relu Add Relu Sum");
  CHECK(types_of(exported<network<picture, global_avg_pool2d, add<identity, dense<3>>, dense<2>>>()) ==
        "GlobalAveragePool Flatten Gemm Add Gemm");
  // Two operators of a kind in one layer have different names.
  struct twice {
    static constexpr value lower(builder& b, value in) { return relu::lower(b, relu::lower(b, in)); }
  };
  m = exported<network<picture, twice>>();
  CHECK(m.graph().node(0).name() == "/0/Relu");
  CHECK(m.graph().node(1).name() == "/0/Relu_1");
  CHECK(m.graph().node(0).output(0) == "/0/Relu_output_0");
}

TEST_CASE("onnx: what the options say", "[onnx]") {
  using namespace dsl;
  using small = network<image<2, 3, 3>, concat<conv2d<2, 1>, identity>, global_avg_pool2d, dense<2>, softmax>;
  trainer t = drawn_trainer<small>();
  test::temporary_directory const here;
  t.set_steps(7);
  save_onnx(t, here / "x",
            {.input = "pictures",
             .output = "classes",
             .batch = "n",
             .prefix = "model.",
             .branches = "paths",
             .model_version = 5,
             .domain = "org.example",
             .doc = "which of two",
             .metadata = {{"author", "me"}}});
  pb::ModelProto const m = parsed(bytes_of(here / "x"));
  check_model(m);
  CHECK(error_of(t, m, 2) < 1e-5);
  CHECK(m.model_version() == 5);
  CHECK(m.domain() == "org.example");
  CHECK(m.doc_string() == "which of two");
  REQUIRE(m.metadata_props_size() == 2);
  CHECK(m.metadata_props(0).key() == "author");
  CHECK(m.metadata_props(1).value() == "7");
  CHECK(m.graph().name() == "network");
  CHECK(m.graph().doc_string() == "2x3x3 -> 2, 16 parameters");
  CHECK(m.graph().input(0).name() == "pictures");
  CHECK(shape_of(m.graph().input(0)) == "n,2,3,3");
  CHECK(m.graph().output(0).name() == "classes");
  CHECK(m.graph().node(0).name() == "/0/paths/0/Conv");
  CHECK(m.graph().node(0).input(1) == "model.0.paths.0.weight");

  pb::ModelProto const keras = exported<small>({.convention = weight_convention::keras});
  CHECK(keras.graph().node(0).input(1) == "conv2d/kernel");
  CHECK(shape_of(keras.graph().output(0)) == "batch,2");
  REQUIRE(keras.graph().initializer(0).dims_size() == 4);
  CHECK(keras.graph().initializer(0).dims(3) == 1);  // still ONNX's axes
}

TEST_CASE("onnx: towers and placed layers are the one network", "[onnx]") {
  using namespace dsl;
  using plain = network<image<3, 6, 6>, sequential<conv2d<4, 3>>, concat<sequential<conv2d<2, 3>>, sequential<relu>>,
                        flatten, dense<3>, softmax>;
  using placed = network<image<3, 6, 6>, on<device<1>, conv2d<4, 3>>,
                         concat<on<device<2>, conv2d<2, 3>>, on<device<0>, relu>>, flatten, dense<3>, softmax>;
  static_assert(placed::graph.view().size.nodes > plain::graph.view().size.nodes);
  trainer one = drawn_trainer<plain>(), several = drawn_trainer<placed>();
  pb::ModelProto a = parsed(serialize_onnx(one.engine())), b = parsed(serialize_onnx(several.engine()));
  check_model(b);
  for (pb::ModelProto* m : {&a, &b})
    // the doc_string names the layer: on, sequential
    for (auto& n : *m->mutable_graph()->mutable_node()) n.clear_doc_string();
  CHECK(a.SerializeAsString() == b.SerializeAsString());

  trainer towers = compile<plain>(reference{}, sgd{}, dsl::towers{.count = 2});
  for (int k = 0; k < towers.graph().size.parameters; ++k)
    towers.engine().write_parameter(k, test::parameter_of(one.engine(), k).data());
  CHECK(serialize_onnx(towers.engine()) == serialize_onnx(one.engine()));
  trainer pipelined = compile<replicate<2, pipeline<2, plain>>>(reference{}, sgd{});
  for (int k = 0; k < towers.graph().size.parameters; ++k)
    pipelined.engine().write_parameter(k, test::parameter_of(one.engine(), k).data());
  CHECK(serialize_onnx(pipelined.engine()) == serialize_onnx(one.engine()));
}

namespace {

/// A network without weights: code that reads them has checked too late that they are too large.
struct hollow_engine final : dsl::engine {
  explicit hollow_engine(dsl::graph_view const& g) : engine(g, {}) {}
  [[noreturn]] static void asked() { throw std::logic_error("asked for weights"); }
  int prepare(dsl::mode, dsl::batch_part, dsl::per_output<dsl::target_kind>) override { asked(); }
  void run(int, dsl::batch_view const&) override { asked(); }
  dsl::batch_metrics metrics(int) override { asked(); }
  void read_result(int, float*) override { asked(); }
  void read_parameter(int, float*) override { asked(); }
  void write_parameter(int, float const*) override { asked(); }
  void read_slot(int, int, float*) override { asked(); }
  void write_slot(int, int, float const*) override { asked(); }
  long long arena_bytes() const override { return 0; }
  long long executor_bytes() const override { return 0; }
  std::string description() const override { return "hollow"; }
};

/// A custom operation whose output has another shape than its input.
struct first_channel {
  static constexpr char const* name = "first_channel";
  static constexpr dsl::shape output(dsl::shape in) { return {1, in.height, in.width}; }
  template <class T>
  static void forward(dsl::custom_call<T> const&) {}
  template <class T>
  static void backward(dsl::custom_call<T> const&) {}
};

template <class Error>
std::string refused(dsl::engine& e, dsl::onnx_options const& o, std::string const& path) {
  std::string const before = bytes_of(path);
  try {
    dsl::save_onnx(e, path, o);
  } catch (Error const& error) {
    CHECK(bytes_of(path) == before);
    return error.what();
  }
  return "nothing was thrown";
}

}  // namespace

TEST_CASE("onnx: what can't be a file is a typed error, and leaves the file that was there", "[onnx]") {
  using namespace dsl;
  test::temporary_directory const here;
  std::ofstream(here / "x") << "before";

  using own = network<image<2, 3, 3>, relu, sequential<relu, elementwise<test::own_softplus>>, conv2d<1, 1>>;
  trainer custom = drawn_trainer<own>();
  std::string const said = refused<onnx_error>(custom.engine(), {}, here / "x");
  CHECK(
      said.starts_with("onnx: layer 1.1 (sequential > elementwise) must consist of ONNX operators; found "
                       "\"softplus\", a custom operation; use typenet's layers"));
  try {
    static_cast<void>(serialize_onnx(custom.engine()));
  } catch (onnx_error const& e) {
    CHECK(e.which == onnx_fault::no_operator);
  }
  CHECK_NOTHROW(serialize_onnx(custom, own_operators));
  CHECK_THROWS_AS(serialize_onnx(custom, {.operators = {{"other", "Relu"}}}), onnx_error);
  trainer reshaping = drawn_trainer<network<image<2, 3, 3>, dsl::custom<first_channel>>>();
  CHECK_THROWS_AS(serialize_onnx(reshaping, {.operators = {{"first_channel", "Relu"}}}), onnx_error);

  // Layers that are not written yet are named, with their place.
  auto const unwritten = [&]<class Model>(Model) {
    trainer t = drawn_trainer<Model>();
    return refused<onnx_error>(t.engine(), {}, here / "x");
  };
  auto const names = [](char const* place, char const* word) {
    return Catch::StartsWith(std::string("onnx: layer ") + place +
                             " must consist of operators that typenet writes; found \"" + word + '"');
  };
  using steps = sequence<3, 5>;
  using picture = image<12, 8, 8>;
  CHECK_THAT(unwritten(network<steps, relu, lstm<4>>{}), names("1 (lstm)", "lstm"));
  CHECK_THAT(unwritten(network<steps, sequential<gru<4, last_step>, dense<2>>>{}),
             names("0.0 (sequential > gru)", "gru"));
  CHECK_THAT(unwritten(network<picture, window_attention<2, 4>>{}), names("0 (window_attention)", "window_attention"));
  test::for_each_body<4>([&]<op Kind, class Body>(int) {
    if constexpr (test::fixture<Kind>::in_onnx == test::in_file::refused)
      CHECK_THAT(unwritten([]<class... Layers>(types<Layers...>) {
                   return network<picture, conv2d<4, 1>, Layers...>{};
                 }(Body{})),
                 Catch::Contains(std::string("found \"") + operations::table[static_cast<int>(Kind)].name + '"'));
  });
  CHECK_THAT(unwritten(network<picture, bounded_window_attention<2, 4, 0, pointwise_dense<2>>>{}),
             Catch::Contains("(bounded_window_attention") && Catch::Contains("which it does not write yet"));

  using huge = network<features<30'000>, dense<30'000>>;
  hollow_engine hollow(huge::view());
  CHECK(refused<onnx_error>(hollow, {}, here / "x") ==
        "onnx: a file must have at most 2,147,483,647 bytes, protobuf's limit; found 3600120000 bytes of "
        "weights; save the weights in another format");
  try {
    static_cast<void>(serialize_onnx(hollow));
  } catch (onnx_error const& e) {
    CHECK(e.which == onnx_fault::too_large);
  }

  trainer t = drawn_trainer<network<image<2, 3, 3>, conv2d<1, 1>>>();
  CHECK(refused<option_error>(t.engine(), {.input = "x", .output = "x"}, here / "x") ==
        "onnx: each output must have a unique name; found two \"x\"; choose others for .input, .output or .prefix");
  CHECK(refused<option_error>(t.engine(), {.input = "0.weight"}, here / "x") ==
        "onnx: each weight must have a unique name; found two \"0.weight\"; choose others for .input, .output or "
        ".prefix");
  CHECK(refused<option_error>(t.engine(), {.output = ""}, here / "x").find("found an empty one") != std::string::npos);
  CHECK(refused<option_error>(t.engine(), {.metadata = {{"a", "1"}, {"a", "2"}}}, here / "x") ==
        "onnx: .metadata must have each name once; found two \"a\"");
  onnx_options const broken[] = {{.input = "\xff"},           {.batch = "\xff"}, {.prefix = "\xff"},
                                 {.domain = "\xff"},          {.doc = "\xc3"},   {.metadata = {{"a", "\xff"}}},
                                 {.metadata = {{"\xff", ""}}}};
  for (onnx_options const& o : broken)
    CHECK(refused<option_error>(t.engine(), o, here / "x").find(" must be UTF-8; found other bytes") !=
          std::string::npos);
  CHECK(refused<option_error>(t.engine(), broken[5], here / "x") ==
        "onnx: the entry \"a\" of .metadata must be UTF-8; found other bytes; convert it to UTF-8");
  CHECK(refused<option_error>(t.engine(), broken[6], here / "x") ==
        "onnx: the name \"?\" in .metadata must be UTF-8; found other bytes; convert it to UTF-8");
  // A value's own name gives way to one that the options set.
  CHECK_NOTHROW(check_model(exported<network<image<2, 3, 3>, relu, relu>>({.input = "/0/Relu_output_0"})));

  CHECK_THROWS_AS(save_onnx(t, here / "no/such/folder"), file_error);
  CHECK_THROWS_AS(save_onnx(t, here.path.string()), file_error);
  save_onnx(t, here / "x");
  CHECK(parsed(bytes_of(here / "x")).graph().node_size() == 1);
  int files = 0;
  for (auto const& entry : std::filesystem::directory_iterator(here.path)) files += entry.is_regular_file();
  CHECK(files == 1);
}
