// SPDX-License-Identifier: MIT
// Compares weights in PyTorch's and Keras's names and layouts with files that tests/fixtures/make_weights.py wrote
// without typenet: loaded, saved again, and used for predictions.
#include "support/catch.hpp"
#include "support/larger.hpp"
#include "support/temporary_directory.hpp"
#include "support/trajectory.hpp"

#include <dsl/dsl.hpp>
#ifdef TYPENET_HAS_ONEDNN
#include <dsl/executors/onednn.hpp>
#endif
#include <dsl/io/safetensors.hpp>
#include <dsl/towers.hpp>
#include <dsl/training/fingerprint.hpp>
#include <dsl/training/predictor.hpp>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace st = dsl::safetensors;
using dsl::weight_convention;

namespace {

using saved_network =
    dsl::network<dsl::image<2, 4, 4>, dsl::conv_module<3, 3>, dsl::inception_module<2, 3>, dsl::flatten,
                 dsl::batch_norm<>, dsl::dense<6>, dsl::relu, dsl::dense<3>, dsl::softmax>;
using minigooglenet = dsl::network<dsl::image<3, 32, 32>, dsl::minigooglenet<10>>;

std::string fixture(std::string const& name) { return std::string(TYPENET_TEST_DATA) + "/" + name; }
std::string bytes_of(std::string const& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
template <class Network, class Executor = dsl::reference<float>>
dsl::trainer made(dsl::towers t = {}) {
  return dsl::compile<Network>(Executor{}, dsl::sgd{.learning_rate = 0.1}, t);
}
std::vector<float> parameter(dsl::engine& e, int k) {
  std::vector<float> all(static_cast<std::size_t>(e.graph().parameters[k].count()));
  e.read_parameter(k, all.data());
  return all;
}
dsl::weights_options as(weight_convention c) { return {.naming = {c}}; }

template <class T>
std::vector<T> numbers(st::file const& f, char const* name) {
  std::string_view const bytes = f.bytes(*f.find(name));
  std::vector<T> all(bytes.size() / sizeof(T));
  std::memcpy(all.data(), bytes.data(), bytes.size());
  return all;
}
/// Returns the largest distance of this trainer's probabilities from the saved ones.
double prediction_error(dsl::trainer& t) {
  st::file const expected(fixture("weights_expected.safetensors"));
  std::vector<float> const pictures = numbers<float>(expected, "pictures");
  std::vector<double> const wanted = numbers<double>(expected, "probabilities");
  std::vector<float> found(wanted.size());
  t.predict_on_batch(pictures.data(), static_cast<int>(wanted.size() / 3), found.data());
  double worst = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i) worst = dsl::test::larger(worst, std::fabs(wanted[i] - found[i]));
  return worst;
}

struct convention_of_file {
  weight_convention convention;
  char const* file;
};
constexpr convention_of_file conventions[] = {{weight_convention::torch, "weights_torch.safetensors"},
                                              {weight_convention::keras, "weights_keras.safetensors"}};

}  // namespace

TEST_CASE("weights: PyTorch's and Keras's files are the same network, to the bit and in what it predicts",
          "[weights]") {
  for (auto const& [convention, file] : conventions) {
    INFO(file);
    dsl::trainer t = made<saved_network>();
    CHECK(prediction_error(t) > 1e-2);
    dsl::loaded_weights const found = dsl::load_safetensors(t, fixture(file), as(convention));
    CHECK(found.loaded == 26);
    CHECK(found.missing.empty());
    CHECK(found.unexpected.empty());
    CHECK(found.batches_tracked == (convention == weight_convention::torch ? 7 : -1));
    for (int k = 0; k < t.graph().size.parameters; ++k) {
      dsl::parameter const& p = t.graph().parameters[k];
      std::vector<float> const ours = parameter(t.engine(), k);
      for (std::size_t i = 0; i < ours.size(); ++i)
        REQUIRE(ours[i] == static_cast<float>(dsl::test::initial_value(
                               static_cast<dsl::test::parameter_kind>(p.role), static_cast<std::uint32_t>(k),
                               static_cast<std::uint32_t>(i), p.fan_in, p.fan_out)));
    }
    CHECK(prediction_error(t) < 1e-6);
    dsl::trainer wide = made<saved_network, dsl::reference<double>>();
    dsl::load_safetensors(wide, fixture(file), as(convention));
    CHECK(prediction_error(wide) < 1e-7);  // read_result returns floats
#ifdef TYPENET_HAS_ONEDNN
    for (bool winograd : {false, true}) {
      dsl::trainer fast = dsl::compile<saved_network>(dsl::onednn{.threads = 1, .winograd = winograd}, dsl::sgd{});
      dsl::load_safetensors(fast, fixture(file), as(convention));
      CHECK(prediction_error(fast) < (winograd ? 1e-5 : 1e-6));
      CHECK(dsl::detail::fingerprint_of(fast.engine()) == dsl::detail::fingerprint_of(t.engine()));
    }
#endif
    dsl::trainer towers = made<saved_network>({.count = 2});
    dsl::load_safetensors(towers, fixture(file), as(convention));
    CHECK(dsl::detail::fingerprint_of(towers.engine()) == dsl::detail::fingerprint_of(t.engine()));
  }
}

TEST_CASE("weights: in and out again is the same file, from either to either", "[weights]") {
  dsl::test::temporary_directory const here;
  for (auto const& [from, file] : conventions)
    for (auto const& [to, other] : conventions) {
      dsl::trainer t = made<saved_network>();
      dsl::load_safetensors(t, fixture(file), as(from));
      dsl::weights_options out = as(to);
      out.batches_tracked = 7;
      dsl::save_safetensors(t, here / "x", out);
      CHECK(bytes_of(here / "x") == bytes_of(fixture(other)));
    }
  // Values that are not finite are kept, too.
  dsl::trainer t = made<saved_network>(), u = made<saved_network>();
  std::vector<float> odd = parameter(t.engine(), 20);
  odd[0] = std::bit_cast<float>(0x7fc12345U), odd[1] = -0.0F, odd[2] = 1e-42F, odd[3] = -INFINITY;
  t.engine().write_parameter(20, odd.data());
  for (auto const& [convention, file] : conventions) {
    dsl::save_safetensors(t, here / "x", as(convention));
    dsl::load_safetensors(u, here / "x", as(convention));
    std::vector<float> const back = parameter(u.engine(), 20);
    CHECK(std::memcmp(back.data(), odd.data(), odd.size() * sizeof(float)) == 0);
  }
}

TEST_CASE("weights: num_batches_tracked is the trainer's steps where nothing is said", "[weights]") {
  dsl::test::temporary_directory const here;
  dsl::trainer t = made<saved_network>();
  t.set_steps(41);
  dsl::save_safetensors(t, here / "x");
  CHECK(dsl::load_safetensors(t, here / "x").batches_tracked == 41);
  dsl::save_safetensors(t, here / "x", {.batches_tracked = 5});
  CHECK(dsl::load_safetensors(t, here / "x").batches_tracked == 5);
  CHECK(t.steps() == 41);
}

TEST_CASE("weights: MiniGoogLeNet's names are those of PyTorch's and Keras's models", "[weights]") {
  std::vector<std::string> torch, lists, keras;
  int layers = 0;
  auto const conv_module = [&](std::string const& path, std::string const& in_list) {
    for (char const* field : {"0.weight", "0.bias", "1.weight", "1.bias", "1.running_mean", "1.running_var"}) {
      torch.push_back(path + field);
      lists.push_back(in_list + field);
    }
    std::string const number = layers > 0 ? "_" + std::to_string(layers) : "";
    for (char const* field : {"kernel", "bias"}) keras.push_back("conv2d" + number + "/" + field);
    for (char const* field : {"gamma", "beta", "moving_mean", "moving_variance"})
      keras.push_back("batch_normalization" + number + "/" + field);
    ++layers;
  };
  conv_module("0.", "0.");
  for (int i = 1; i <= 10; ++i)
    for (int branch = 0; branch < (i == 3 || i == 8 ? 1 : 2); ++branch) {
      std::string const b = std::to_string(branch) + ".", at = std::to_string(i) + ".";
      conv_module(at + "branches." + b, at + b);
    }
  for (char const* field : {"14.weight", "14.bias"}) torch.push_back(field), lists.push_back(field);
  for (char const* field : {"dense/kernel", "dense/bias"}) keras.push_back(field);
  REQUIRE(torch.size() == 116);

  dsl::graph_view const g = minigooglenet::view();
  CHECK(dsl::weight_names(g) == torch);
  CHECK(dsl::weight_names(g, {.branches = ""}) == lists);
  CHECK(dsl::weight_names(g, {weight_convention::keras}) == keras);
  CHECK(dsl::weight_names(g, {.prefix = "module."})[6] == "module.1.branches.0.0.weight");
  dsl::weight_layout const ours(g, weight_convention::torch), theirs(g, weight_convention::keras);
  CHECK(ours.shape(6) == std::vector<std::uint64_t>{32, 96, 1, 1});
  CHECK(theirs.shape(6) == std::vector<std::uint64_t>{1, 1, 96, 32});
  CHECK(theirs.shape(12) == std::vector<std::uint64_t>{3, 3, 96, 32});
  CHECK(ours.shape(114) == std::vector<std::uint64_t>{10, 336});
  CHECK(theirs.shape(114) == std::vector<std::uint64_t>{336, 10});
  CHECK(theirs.shape(115) == std::vector<std::uint64_t>{10});
}

namespace {

/// A user's layer with two convolutions, which returns a sum of its input.
struct twice {
  static constexpr dsl::value lower(dsl::builder& b, dsl::value in) {
    dsl::value const once = dsl::conv2d<2, 1>::lower(b, in);
    dsl::value const both[] = {in, dsl::conv2d<2, 3>::lower(b, once)};
    return b.append({.kind = dsl::op::add}, both, 2, in.shape);
  }
};
struct residual : dsl::add<dsl::conv2d<2, 3>, dsl::identity> {};

template <class... Layers>
std::vector<std::string> names_of() {
  return dsl::weight_names(dsl::network<dsl::image<2, 3, 3>, Layers...>::view());
}
using strings = std::vector<std::string>;

}  // namespace

TEST_CASE("weights: names of networks of other forms", "[weights]") {
  CHECK(names_of<dsl::conv2d<2, 1>>() == strings{"0.weight", "0.bias"});
  CHECK(names_of<dsl::relu, dsl::conv2d<2, 1>>() == strings{"1.weight", "1.bias"});
  CHECK(names_of<dsl::sequential<dsl::relu, dsl::conv2d<2, 1>>>() == strings{"1.weight", "1.bias"});
  CHECK(names_of<residual>() == strings{"branches.0.weight", "branches.0.bias"});
  CHECK(names_of<residual, residual>() ==
        strings{"0.branches.0.weight", "0.branches.0.bias", "1.branches.0.weight", "1.branches.0.bias"});
  CHECK(names_of<dsl::layer_norm<>>() == strings{"0.weight", "0.bias"});
  CHECK(names_of<dsl::group_norm<1>>() == strings{"0.weight", "0.bias"});
  CHECK(names_of<dsl::multiply<dsl::identity, dsl::conv2d<2, 1>>>() == strings{"branches.1.weight", "branches.1.bias"});
  CHECK(dsl::weight_names(dsl::network<dsl::features<3>, dsl::layer_norm<>, dsl::layer_norm<>>::view(),
                          {dsl::weight_convention::keras}) ==
        strings{"layer_normalization/gamma", "layer_normalization/beta", "layer_normalization_1/gamma",
                "layer_normalization_1/beta"});
  using grouped = dsl::network<dsl::features<4>, dsl::conv2d<8, 1, 1, 1, dsl::padding::same, 4>,
                               dsl::conv2d<8, 3, 2, 1, dsl::padding::same, 2>>;
  CHECK(dsl::weight_names(grouped::view(), {dsl::weight_convention::keras}) ==
        strings{"depthwise_conv2d/kernel", "depthwise_conv2d/bias", "conv2d/kernel", "conv2d/bias"});
  dsl::weight_layout const layout(grouped::view(), dsl::weight_convention::keras);
  CHECK(layout.shape(0) == std::vector<std::uint64_t>{1, 1, 4, 2});
  CHECK(layout.shape(2) == std::vector<std::uint64_t>{3, 2, 4, 8});
  float const ours[] = {0, 1, 2, 3, 4, 5, 6, 7};
  float theirs[8];
  layout.from_ours(0, ours, theirs);  // filter i * 2 + m has channel i and multiplier m, in both
  CHECK(std::equal(ours, ours + 8, theirs));
  CHECK_THROWS_WITH(
      dsl::weight_layout(
          dsl::network<dsl::image<2, 2, 1>, dsl::flatten, dsl::conv2d<4, 1, 1, 1, dsl::padding::same, 2>>::view(),
          dsl::weight_convention::keras),
      Catch::Matchers::StartsWith(
          "weights: layer 1 (conv2d) comes after a flatten, so its groups consist of different channels"));
  using sliced = dsl::network<dsl::image<2, 2, 1>, dsl::flatten, dsl::channel_slice<1, 2>, dsl::dense<2>>;
  CHECK_THROWS_WITH(dsl::weight_layout(sliced::view(), dsl::weight_convention::keras),
                    Catch::Matchers::StartsWith(
                        "weights: layer 1 (channel_slice) comes after a flatten, so its channels are in a different"));
  CHECK_NOTHROW(dsl::weight_layout(sliced::view(), dsl::weight_convention::torch));
  using shuffled = dsl::network<dsl::image<2, 2, 1>, dsl::flatten, dsl::channel_shuffle<2>, dsl::dense<2>>;
  CHECK_THROWS_WITH(dsl::weight_layout(shuffled::view(), dsl::weight_convention::keras),
                    Catch::Matchers::StartsWith("weights: layer 1 (channel_shuffle) comes after a flatten"));
  using grouped_norm = dsl::network<dsl::image<2, 2, 1>, dsl::flatten, dsl::group_norm<2>, dsl::dense<2>>;
  CHECK_THROWS_WITH(dsl::weight_layout(grouped_norm::view(), dsl::weight_convention::keras),
                    Catch::Matchers::StartsWith("weights: layer 1 (group_norm) comes after a flatten, so its groups"));
  CHECK_NOTHROW(
      dsl::weight_layout(dsl::network<dsl::image<2, 2, 1>, dsl::flatten, dsl::group_norm<1>, dsl::dense<2>>::view(),
                         dsl::weight_convention::keras));
  using responses = dsl::network<dsl::image<2, 2, 1>, dsl::flatten, dsl::local_response_norm<3>, dsl::dense<2>>;
  CHECK_THROWS_WITH(dsl::weight_layout(responses::view(), dsl::weight_convention::keras),
                    Catch::Matchers::StartsWith("weights: layer 1 (local_response_norm) comes after a flatten"));
  CHECK(names_of<dsl::named<"a", dsl::channel_scale>>() == strings{"a"});
  using scaled = dsl::network<dsl::image<2, 2, 1>, dsl::channel_scale, dsl::flatten, dsl::channel_scale>;
  CHECK(dsl::weight_names(scaled::view(), {.convention = dsl::weight_convention::keras}) ==
        strings{"layer_scale/gamma", "layer_scale_1/gamma"});
  dsl::weight_layout const torch_scales(scaled::view(), dsl::weight_convention::torch);
  CHECK(torch_scales.shape(0) == std::vector<std::uint64_t>{2, 1, 1});
  dsl::weight_layout const keras_scales(scaled::view(), dsl::weight_convention::keras);
  CHECK(keras_scales.shape(1) == std::vector<std::uint64_t>{4});
  float const scales[] = {0, 1, 2, 3};
  float reordered[4];
  keras_scales.from_ours(1, scales, reordered);  // (channel, row) in typenet, (row, channel) in Keras
  CHECK(std::vector<float>(reordered, reordered + 4) == std::vector<float>{0, 2, 1, 3});
  using tokens = dsl::network<dsl::image<2, 2, 1>, dsl::named<"in_", dsl::pointwise_dense<3>>, dsl::class_token,
                              dsl::named<"at", dsl::position_embedding>>;
  CHECK(dsl::weight_names(tokens::view()) == strings{"in_weight", "in_bias", "1.weight", "at"});
  CHECK(dsl::weight_names(tokens::view(), {.convention = dsl::weight_convention::keras}) ==
        strings{"dense/kernel", "dense/bias", "class_token/kernel", "position_embedding/kernel"});
  dsl::weight_layout const keras_tokens(tokens::view(), dsl::weight_convention::keras);
  CHECK(keras_tokens.shape(0) == std::vector<std::uint64_t>{2, 3});
  CHECK(keras_tokens.shape(2) == std::vector<std::uint64_t>{1, 1, 3});
  CHECK(keras_tokens.shape(3) == std::vector<std::uint64_t>{1, 3, 3});
  float const kernel[] = {0, 1, 2, 3, 4, 5};
  float turned[6];
  keras_tokens.from_ours(0, kernel, turned);
  CHECK(std::vector<float>(turned, turned + 6) == std::vector<float>{0, 2, 4, 1, 3, 5});
  using flattened = dsl::network<dsl::image<2, 2, 1>, dsl::flatten, dsl::position_embedding>;
  CHECK_THROWS_WITH(
      dsl::weight_layout(flattened::view(), dsl::weight_convention::keras),
      Catch::Matchers::StartsWith(
          "weights: layer 1 (position_embedding) comes after a flatten, so its channels are in a different"));
  using embedded =
      dsl::network<dsl::token_numbers<4>, dsl::named<"wte", dsl::embedding<3, 2>>, dsl::pointwise_dense<2>>;
  CHECK(dsl::weight_names(embedded::view()) == strings{"wte.weight", "1.weight", "1.bias"});
  CHECK(dsl::weight_names(embedded::view(), {.convention = dsl::weight_convention::keras}) ==
        strings{"embedding/embeddings", "dense/kernel", "dense/bias"});
  for (dsl::weight_convention c : {dsl::weight_convention::torch, dsl::weight_convention::keras}) {
    dsl::weight_layout const table(embedded::view(), c);
    CHECK(table.shape(0) == std::vector<std::uint64_t>{3, 2});
    table.from_ours(0, kernel, turned);
    CHECK(std::vector<float>(turned, turned + 6) == std::vector<float>{0, 1, 2, 3, 4, 5});
  }
  CHECK(names_of<dsl::relu, twice>() == strings{"1.weight", "1.bias", "1.node1.weight", "1.node1.bias"});
}

namespace {

/// Returns for parameter k the index in typenet of each number of Keras's file.
template <class Network>
std::vector<int> keras_order(int k) {
  dsl::weight_layout const layout(Network::view(), weight_convention::keras);
  std::vector<float> here(static_cast<std::size_t>(Network::view().parameters[k].count())), there(here.size());
  for (std::size_t i = 0; i < here.size(); ++i) here[i] = static_cast<float>(i);
  layout.from_ours(k, here.data(), there.data());
  std::vector<float> back(here.size());
  layout.to_ours(k, there.data(), back.data());
  CHECK(back == here);
  return {there.begin(), there.end()};
}
using ints = std::vector<int>;

}  // namespace

namespace {

struct halves_op {  // keeps every second channel
  static constexpr char const* name = "halves";
  static constexpr dsl::shape output(dsl::shape in) { return {in.channels / 2, in.height, in.width}; }
  template <class T>
  static void forward(dsl::custom_call<T> const& c) {
    for (int n = 0; n < c.x.batch; ++n)
      for (int k = 0; k < c.y.shape.channels; ++k) c.y(n, k, 0) = c.x(n, 2 * k, 0);
  }
  template <class T>
  static void backward(dsl::custom_call<T> const&) {}
};
struct halves : dsl::custom<halves_op> {};
struct negated {
  static constexpr char const* name = "negated";
  template <class T>
  static constexpr T value(T x) {
    return -x;
  }
  template <class T>
  static constexpr T derivative(T) {
    return -1;
  }
};

}  // namespace

TEST_CASE("weights: Keras flattens height, width, channels", "[weights]") {
  using namespace dsl;
  using picture = image<2, 1, 3>;
  ints const flat{0, 3, 1, 4, 2, 5};  // (h, w, c) to typenet's order, for channels of three pixels
  CHECK(keras_order<network<picture, flatten, dense<1>>>(0) == flat);
  CHECK(keras_order<network<picture, flatten, relu, dropout<0.5>, batch_norm<>, dense<1>>>(0) == flat);
  CHECK(keras_order<network<picture, flatten, relu, dropout<0.5>, batch_norm<>, dense<1>>>(3) == flat);
  CHECK(keras_order<network<picture, flatten, relu, dropout<0.5>, batch_norm<>, dense<1>>>(4) == flat);
  CHECK(keras_order<network<picture, flatten, conv2d<1, 1>>>(0) == flat);
  CHECK(keras_order<network<picture, flatten, dense<2>, dense<2>>>(0) == ints{0, 6, 3, 9, 1, 7, 4, 10, 2, 8, 5, 11});
  CHECK(keras_order<network<picture, flatten, dense<2>, dense<2>>>(2) == ints{0, 2, 1, 3});
  CHECK(keras_order<network<picture, flatten, dense<2>, dense<2>>>(1) == ints{0, 1});
  CHECK(keras_order<network<picture, batch_norm<>, global_avg_pool2d, flatten, dense<1>>>(0) == ints{0, 1});
  CHECK(keras_order<network<picture, global_avg_pool2d, flatten, dense<1>>>(0) == ints{0, 1});
  CHECK(keras_order<network<picture, concat<flatten, sequential<global_avg_pool2d, flatten>, flatten>, dense<1>>>(0) ==
        ints{0, 3, 1, 4, 2, 5, 6, 7, 8, 11, 9, 12, 10, 13});
  CHECK(keras_order<network<picture, add<flatten, sequential<relu, flatten>>, dense<1>>>(0) == flat);
  CHECK(keras_order<network<image<1, 2, 2>, conv2d<2, 2>>>(0) == ints{0, 4, 1, 5, 2, 6, 3, 7});
  CHECK(keras_order<network<image<2, 2, 2>, conv2d<1, 1, 2>>>(0) == ints{0, 2, 1, 3});

  using mixed = network<picture, add<flatten, sequential<flatten, dense<6>>>, dense<1>>;
  CHECK_NOTHROW(weight_layout(mixed::view(), weight_convention::torch));
  CHECK_THROWS_AS(weight_layout(mixed::view(), weight_convention::keras), option_error);
  using halved = network<picture, flatten, halves, dense<1>>;
  CHECK_NOTHROW(weight_layout(halved::view(), weight_convention::torch));
  CHECK_THROWS_AS(weight_layout(halved::view(), weight_convention::keras), option_error);
  CHECK(keras_order<network<picture, global_avg_pool2d, halves, dense<1>>>(0) == ints{0});
  CHECK(keras_order<network<picture, flatten, elementwise<negated>, dense<1>>>(0) == flat);
}

namespace {

/// Returns the fixture's tensors, to be changed.
struct edited {
  st::file file{fixture("weights_torch.safetensors")};
  std::vector<st::source> tensors;
  edited() {
    for (st::tensor const& t : file.tensors()) tensors.push_back({t.name, t.type, t.shape, file.bytes(t)});
  }
  st::source& operator[](std::string const& name) {
    return *std::find_if(tensors.begin(), tensors.end(), [&](st::source const& s) { return s.name == name; });
  }
  void remove(std::string const& name) { tensors.erase(tensors.begin() + (&(*this)[name] - tensors.data())); }
};

}  // namespace

TEST_CASE("weights: other weights than the network's are refused, and nothing changes", "[weights]") {
  dsl::test::temporary_directory const here;
  dsl::trainer t = made<saved_network>();
  auto const before = dsl::detail::fingerprint_of(t.engine());
  auto const refused = [&](std::string const& path, std::string const& words,
                           dsl::weights_options const& options = {}) {
    std::string said;
    try {
      dsl::load_safetensors(t, path, options);
    } catch (st::format_error const& e) {
      said = e.what();
      CHECK(e.which == st::fault::unsuitable_tensor);
    }
    INFO(said);
    CHECK(said.starts_with("safetensors: " + path + " must have "));
    CHECK(said.find(words) != std::string::npos);
    CHECK(dsl::detail::fingerprint_of(t.engine()) == before);
  };
  auto const changed_refused = [&](edited const& e, std::string const& words,
                                   dsl::weights_options const& options = {}) {
    st::write(here / "x", e.tensors);
    refused(here / "x", words, options);
  };
  refused(fixture("weights_keras.safetensors"), R"(PyTorch's names; found "conv2d/kernel"; load it with .naming = )"
                                                "{weight_convention::keras}");
  refused(fixture("weights_torch.safetensors"), "Keras's names; found", as(weight_convention::keras));
  refused(fixture("weights_expected.safetensors"),
          R"("0.0.weight"; found 0 of the network's 26 weights, and weights that the network lacks, such as "prob)");

  edited missing, more, shape, type, tracked;
  missing.remove("6.bias");
  changed_refused(missing, R"("6.bias"; found 25 of the network's 26 weights;)");
  more.tensors.push_back({"7.weight", st::dtype::u8, {1}, "a"});
  changed_refused(more, R"(no weights but the network's; found "7.weight";)");
  shape["6.weight"].shape = {6, 3};
  changed_refused(shape, R"("6.weight" with shape [3, 6]; found [6, 3])");
  changed_refused(shape, "fits with .skip_mismatch = true");
  changed_refused(shape, R"("6.weight" with shape [3, 6]; found [6, 3])", {.strict = false});
  type["0.0.bias"].type = st::dtype::i32;
  changed_refused(type, R"("0.0.bias" in F32, F16 or BF16; found I32)", {.strict = false});
  tracked["3.num_batches_tracked"].shape = {1};
  changed_refused(tracked, "as a single I64; found I64 [1]");
  CHECK_THROWS_AS(dsl::load_safetensors(t, here / "none"), dsl::file_error);

  st::write(here / "x", missing.tensors);
  dsl::loaded_weights const found = dsl::load_safetensors(t, here / "x", {.strict = false});
  CHECK(found.loaded == 25);
  CHECK(found.missing == strings{"6.bias"});
  CHECK(dsl::detail::fingerprint_of(t.engine()) != before);
  CHECK(prediction_error(t) > 1e-3);  // the bias is 0
}

TEST_CASE("weights: the weight of an nn.Linear fits a 1x1 convolution, and the other way round", "[weights]") {
  using namespace dsl;
  test::temporary_directory const here;
  trainer flat = compile<network<features<3>, dense<2>, softmax>>(reference{}, sgd{.learning_rate = 0.1});
  trainer deep = compile<network<image<3, 4, 4>, conv2d<2, 1>, global_avg_pool2d, softmax>>(
      reference{}, sgd{.learning_rate = 0.1}, {.seed = 2});
  save_safetensors(flat, here / "flat");
  save_safetensors(deep, here / "deep");
  CHECK(load_safetensors(deep, here / "flat").loaded == 2);
  CHECK(detail::fingerprint_of(deep.engine()) == detail::fingerprint_of(flat.engine()));
  CHECK(load_safetensors(flat, here / "deep").loaded == 2);
  trainer wide = compile<network<image<3, 4, 4>, conv2d<2, 1, 2>, global_avg_pool2d, softmax>>(
      reference{}, sgd{.learning_rate = 0.1});
  CHECK_THROWS_AS(load_safetensors(wide, here / "flat"), safetensors::format_error);
  weights_options const keras{.naming = {weight_convention::keras}};
  save_safetensors(flat, here / "keras", keras);
  CHECK_THROWS_AS(load_safetensors(deep, here / "keras", keras), safetensors::format_error);
}

TEST_CASE("weights: a body for another classifier, and a file with nothing for the network", "[weights]") {
  dsl::test::temporary_directory const here;
  dsl::trainer t = made<saved_network>();
  edited other, foreign;
  other["6.weight"].shape = {6, 3};
  other.remove("6.bias");
  st::write(here / "x", other.tensors);
  std::vector<float> before(18), after(18);
  int const kernel = t.graph().size.parameters - 2;
  t.engine().read_parameter(kernel, before.data());
  CHECK_THROWS_WITH(dsl::load_safetensors(t, here / "x", {.skip_mismatch = true}), Catch::Contains("6.bias"));
  dsl::loaded_weights const found = dsl::load_safetensors(t, here / "x", {.strict = false, .skip_mismatch = true});
  CHECK(found.loaded == 24);
  CHECK(found.mismatched == strings{"6.weight"});
  CHECK(found.missing == strings{"6.bias"});
  t.engine().read_parameter(kernel, after.data());
  CHECK(before == after);

  edited const whole;
  st::write(here / "whole", whole.tensors);
  dsl::predictor p = dsl::make_predictor<saved_network>(dsl::reference{});
  CHECK(dsl::load_safetensors(p, here / "whole").loaded == 26);
  dsl::load_safetensors(t, here / "whole");
  dsl::dataset const one = dsl::in_memory_classes({2, 4, 4}, std::vector<float>(32, 0.5F), 3, {0});
  CHECK(p.predict(one) == t.predict(one));

  for (st::source& s : foreign.tensors) s.name = "other." + s.name;
  st::write(here / "foreign", foreign.tensors);
  CHECK_THROWS_WITH(dsl::load_safetensors(t, here / "foreign", {.strict = false, .skip_mismatch = true}),
                    Catch::Contains("found 0 of the network's 26 weights"));
  std::erase_if(other.tensors, [](st::source const& s) { return s.name != "6.weight"; });
  st::write(here / "alone", other.tensors);
  CHECK_THROWS_AS(dsl::load_safetensors(t, here / "alone", {.strict = false, .skip_mismatch = true}), dsl::file_error);
}

TEST_CASE("weights: parts of a network, under other names in the file", "[weights]") {
  using namespace dsl;
  using body = sequential<dense<5>, relu, dense<4>>;
  using pretrained = network<features<3>, named<"backbone", body>, named<"head", dense<2>>, softmax>;
  using model = network<features<3>, named<"body", body>, relu, named<"classifier", dense<7>>, softmax>;
  test::temporary_directory const here;
  trainer from = compile<pretrained>(reference{}, sgd{}, {.seed = 4}), t = compile<model>(reference{}, sgd{});
  save_safetensors(from, here / "x");
  auto const read = [](trainer& of, int k) {
    std::vector<float> all(static_cast<std::size_t>(of.graph().parameters[k].count()));
    of.engine().read_parameter(k, all.data());
    return all;
  };
  auto const load = [&](std::vector<weights_part> parts, bool strict = true) {
    return load_safetensors(t, here / "x", {.strict = strict, .parts = std::move(parts)});
  };
  std::vector<float> const head = read(t, 4);
  loaded_weights const found = load({{"body.", "backbone."}});
  CHECK(found.names == strings{"backbone.0.weight", "backbone.0.bias", "backbone.2.weight", "backbone.2.bias"});
  CHECK(found.skipped == strings{"classifier.weight", "classifier.bias"});
  CHECK((found.loaded == 4 && found.missing.empty() && found.unexpected.empty()));
  for (int k = 0; k < 4; ++k) CHECK(read(t, k) == read(from, k));
  CHECK(read(t, 4) == head);

  trainer other = compile<pretrained>(reference{}, sgd{}, {.seed = 5});
  save_safetensors(other, here / "x");
  loaded_weights const one = load({{"body.2", "backbone.2"}});
  CHECK((one.loaded == 2 && one.skipped.size() == 4));
  CHECK((read(t, 2) == read(other, 2) && read(t, 0) == read(from, 0)));

  std::uint64_t const before = detail::fingerprint_of(t.engine());
  auto const refused = [&](std::vector<weights_part> parts, char const* words) {
    CHECK_THROWS_WITH(load(parts), Catch::Contains(words));
    CHECK(detail::fingerprint_of(t.engine()) == before);
  };
  refused({{"body.", "trunk."}}, R"("trunk.0.weight"; found 0 of its parts' 4 weights)");
  CHECK_THROWS_AS(load({{"body.", "trunk."}}, false), file_error);  // nothing to load is an error, strict or not
  refused({{"bodies.", "backbone."}}, R"(found none that begins with "bodies.")");
  refused({{"body.", "backbone."}, {"body.2", "backbone.2"}}, R"(found none that begins with "body.2")");
  refused({{"body.0", "backbone.0"}, {"body.2", "backbone.0"}}, R"("backbone.0.bias" twice)");
  refused({{"body.0", "backbone."}}, R"("backbone..weight")");
  refused({{"body.0", "backbone.0"}, {"classifier", "head"}}, R"("head.weight" with shape [7, 4]; found [2, 4])");
  // strict: nothing else in the file may begin with a part's name there
  trainer deeper =
      compile<network<features<3>, named<"backbone", dense<5>, relu, dense<4>, dense<2>>, softmax>>(reference{}, sgd{});
  save_safetensors(deeper, here / "x");
  refused({{"body.", "backbone."}}, R"("backbone.3.)");
  CHECK(load({{"body.", "backbone."}}, false).unexpected == strings{"backbone.3.bias", "backbone.3.weight"});
}

TEST_CASE("weights: constants are compared with a file's or not in it, and never change", "[weights]") {
  using namespace dsl;
  using model =
      network<image<3, 4, 4>, constant_scale<0.5>, conv2d<2, 1>, unscaled_batch_norm<>, flatten, dense<2>, softmax>;
  using scaled = network<image<3, 4, 4>, constant_scale<0.25>, conv2d<2, 1>, batch_norm<>, flatten, dense<2>, softmax>;
  strings const names = weight_names(model::view());
  CHECK(names == strings{"", "1.weight", "1.bias", "2.weight", "2.bias", "2.running_mean", "2.running_var", "4.weight",
                         "4.bias"});
  test::temporary_directory const here;
  trainer t = made<model>(), u = made<model>(), other = made<scaled>();
  std::vector<float> const ours{3, 4};
  other.engine().write_parameter(2, ours.data());  // a bias
  save_safetensors(other, here / "x");
  CHECK(load_safetensors(t, here / "x").loaded == 8);
  CHECK(::parameter(t.engine(), 0) == std::vector<float>{0.5F, 0.5F, 0.5F});
  CHECK(::parameter(t.engine(), 2) == ours);
  save_safetensors(t, here / "x");
  CHECK(load_safetensors(u, here / "x").loaded == 8);
  CHECK(detail::fingerprint_of(u.engine()) == detail::fingerprint_of(t.engine()));

  std::vector<float> const learnt{1, 1.5F};
  other.engine().write_parameter(3, learnt.data());
  save_safetensors(other, here / "x");
  auto const before = detail::fingerprint_of(t.engine());
  for (bool strict : {true, false})
    CHECK_THROWS_WITH(load_safetensors(t, here / "x", {.strict = strict}),
                      Catch::Contains(R"(must have "2.weight" with the constant 1 of the network; found 1.5;)"));
  CHECK(detail::fingerprint_of(t.engine()) == before);

  // Constants without a name are in no part.
  using shifted = network<image<3, 4, 4>, unscaled_batch_norm<>, flatten, dense<2>, softmax>;
  trainer two = made<shifted>(), same = made<shifted>();
  weights_options keras = as(weight_convention::keras);
  keras.naming.prefix = "backbone/";
  save_safetensors(two, here / "x", keras);
  keras = as(weight_convention::keras);
  keras.parts = {{"", "backbone/"}};
  CHECK(load_safetensors(same, here / "x", keras).loaded == 5);
  keras.parts = {{"body/", "backbone/"}};
  CHECK_THROWS_WITH(load_safetensors(same, here / "x", keras),
                    Catch::Contains(R"(the names go from "batch_normalization/beta" to "dense/bias";)"));
}

TEST_CASE("weights: skip_mismatch loads a 1x1 convolution from an nn.Linear", "[weights]") {
  dsl::test::temporary_directory const here;
  edited linear;
  linear["1.branches.0.0.weight"].shape = {2, 3};
  linear["6.weight"].shape = {6, 3};
  st::write(here / "x", linear.tensors);
  dsl::trainer t = made<saved_network>(), whole = made<saved_network>();
  dsl::loaded_weights const found = dsl::load_safetensors(t, here / "x", {.skip_mismatch = true});
  CHECK(found.loaded == 25);
  CHECK(found.mismatched == strings{"6.weight"});
  dsl::load_safetensors(whole, fixture("weights_torch.safetensors"));
  CHECK(parameter(t.engine(), 6) == parameter(whole.engine(), 6));
}

TEST_CASE("weights: the index that torchvision saves beside a table of biases", "[weights]") {
  using model =
      dsl::network<dsl::image<3, 2, 2>,
                   dsl::named<"attn", dsl::named<"relative_position_bias_table", dsl::window_attention<1, 2>>>,
                   dsl::flatten, dsl::softmax>;
  dsl::test::temporary_directory const here;
  std::string const path = here / "weights.safetensors";
  float table[9] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  std::int64_t const index[16] = {};
  auto const load = [&](std::vector<std::uint64_t> const& shape, st::dtype type, char const* name) {
    std::string_view const numbers(reinterpret_cast<char const*>(index), type == st::dtype::i64 ? 8U * 16 : 4U * 16);
    st::write(path, {{"attn.relative_position_bias_table",
                      st::dtype::f32,
                      {9, 1},
                      {reinterpret_cast<char const*>(table), sizeof table}},
                     {name, type, shape, numbers}});
    dsl::trainer t = made<model>();
    dsl::loaded_weights const found = dsl::load_safetensors(t, path);
    CHECK(parameter(t.engine(), 0) == std::vector<float>(table, table + 9));
    CHECK(found.loaded == 1);
    CHECK(found.unexpected.empty());
  };
  load({16}, st::dtype::i64, "attn.relative_position_index");
  load({4, 4}, st::dtype::i64, "attn.relative_position_index");
  CHECK_THROWS_WITH(load({16}, st::dtype::f32, "attn.relative_position_index"),
                    Catch::Matchers::Contains("must have \"attn.relative_position_index\" as 16 numbers of type I64, "
                                              "the number for windows of 2x2 pixels; found F32 [16]"));
  CHECK_THROWS_WITH(load({16}, st::dtype::i64, "relative_position_index"),
                    Catch::Matchers::Contains("must have no weights but the network's"));
  using cosines = dsl::network<
      dsl::image<3, 2, 2>,
      dsl::named<"attn", dsl::named<"logit_scale", dsl::head_norm<1>>,
                 dsl::bounded_window_attention<1, 2, 0, dsl::named<"cpb", dsl::pointwise_dense<1, dsl::bias<false>>>>>,
      dsl::flatten, dsl::softmax>;
  float const scale = 2, cpb[2] = {3, 4}, coordinates[18] = {};
  auto const load_cosines = [&](std::size_t count) {
    st::write(
        path,
        {{"attn.logit_scale", st::dtype::f32, {1, 1, 1}, {reinterpret_cast<char const*>(&scale), 4}},
         {"attn.1.cpb.weight", st::dtype::f32, {1, 2}, {reinterpret_cast<char const*>(cpb), 8}},
         {"attn.relative_position_index", st::dtype::i64, {16}, {reinterpret_cast<char const*>(index), sizeof index}},
         {"attn.relative_coords_table",
          st::dtype::f32,
          {1, count / 2, 2},
          {reinterpret_cast<char const*>(coordinates), 4 * count}}});
    dsl::trainer t = made<cosines>();
    dsl::load_safetensors(t, path);
    CHECK(parameter(t.engine(), 0) == std::vector<float>{2});
    CHECK(parameter(t.engine(), 1) == std::vector<float>{3, 4});
  };
  load_cosines(18);
  CHECK_THROWS_WITH(load_cosines(16),
                    Catch::Matchers::Contains("\"attn.relative_coords_table\" as 18 numbers of type F32"));
  CHECK(dsl::weight_layout(model::view(), weight_convention::keras).shape(0) == std::vector<std::uint64_t>{9, 1});
}

TEST_CASE("weights: a file without num_batches_tracked, and one of 16 bits", "[weights]") {
  dsl::test::temporary_directory const here;
  edited halves;
  std::erase_if(halves.tensors, [](st::source const& s) { return s.type == st::dtype::i64; });
  std::vector<std::vector<std::uint16_t>> kept;
  for (st::source& s : halves.tensors) {
    std::vector<std::uint16_t>& half = kept.emplace_back(s.bytes.size() / 4);  // bfloat16 is the upper half of a float
    for (std::size_t i = 0; i < half.size(); ++i) std::memcpy(&half[i], s.bytes.data() + 4 * i + 2, 2);
    s.type = st::dtype::bf16;
    s.bytes = {reinterpret_cast<char const*>(half.data()), 2 * half.size()};
  }
  st::write(here / "x", halves.tensors);
  dsl::trainer t = made<saved_network>();
  dsl::loaded_weights const found = dsl::load_safetensors(t, here / "x");
  CHECK(found.loaded == 26);
  CHECK(found.batches_tracked == -1);
  CHECK(parameter(t.engine(), 6)[1] ==
        std::bit_cast<float>(std::bit_cast<std::uint32_t>(static_cast<float>(
                                 dsl::test::initial_value(dsl::test::parameter_kind::kernel, 6, 1, 3, 2))) &
                             0xffff0000U));
  CHECK(prediction_error(t) < 2e-2);
}

TEST_CASE("weights: where they can't be written, the file that was there stays", "[weights]") {
  dsl::test::temporary_directory const here;
  dsl::trainer t = made<saved_network>();
  dsl::save_safetensors(t, here / "x");
  std::string const before = bytes_of(here / "x");
  CHECK_THROWS_AS(dsl::save_safetensors(t, here / "no/x"), dsl::file_error);
  dsl::weights_options invalid;
  invalid.naming.prefix = "\xff";
  CHECK_THROWS_AS(dsl::save_safetensors(t, here / "x", invalid), dsl::option_error);
  CHECK(bytes_of(here / "x") == before);
  CHECK(std::distance(std::filesystem::directory_iterator(here.path), {}) == 1);
}

TEST_CASE("safetensors: the metadata say how the data were normalised", "[safetensors]") {
  using pictures =
      dsl::network<dsl::image<2, 2, 2>, dsl::concat<dsl::identity, dsl::named_input<"more", dsl::image<1, 2, 2>>>,
                   dsl::flatten, dsl::dense<1>>;
  dsl::test::temporary_directory const folder;
  std::string const path = folder / "pictures.safetensors";
  auto const numbers_of = [](std::vector<float> all) {
    return std::make_shared<std::vector<float> const>(std::move(all));
  };
  auto const another = [] {
    return dsl::compile<pictures>(dsl::reference{}, dsl::sgd{}, {.loss = dsl::loss::mean_squared_error});
  };
  dsl::normalization const by_channel{{{"", numbers_of({1, 1, 1, 1, 0.1F, 0.1F, 0.1F, 0.1F}), nullptr},
                                       {"more", numbers_of({1, 2, 3, 1e-30F}), numbers_of({0.3F, 0.3F, 0.3F, 0.3F})}}};
  dsl::trainer first = another();
  first.set_normalization(by_channel);
  dsl::save_safetensors(first, path);
  auto const said = [&](char const* key) {
    st::file const f(path);
    for (auto const& [name, text] : f.metadata())
      if (name == key) return text;
    return std::string("nothing");
  };
  CHECK(said("typenet.mean") == "1 0.1");
  CHECK(said("typenet.deviation").empty());
  CHECK(said("typenet.mean.more") == "1 2 3 1e-30");
  CHECK(said("typenet.deviation.more") == "0.3");
  dsl::trainer second = another();
  dsl::load_safetensors(second, path);
  CHECK(second.normalization() == by_channel);
  dsl::trainer third = another();
  dsl::load_safetensors(third, path, {.normalization = false});
  CHECK(third.normalization().empty());
  dsl::load_safetensors(third, path, {.parts = {{"2.", "2."}}});
  CHECK(third.normalization().empty());

  first.set_normalization({});
  dsl::save_safetensors(first, path);
  CHECK(said("typenet.mean").empty());
  dsl::load_safetensors(second, path);
  CHECK(second.normalization().empty());
  second.set_normalization(by_channel);
  first.forget_normalization();
  dsl::save_safetensors(first, path);
  CHECK(said("typenet.mean") == "nothing");
  dsl::load_safetensors(second, path);  // it does not say, so nothing changes
  CHECK(second.normalization() == by_channel);
}

TEST_CASE("safetensors: equal numbers in several channels are written so that they load", "[safetensors]") {
  dsl::test::temporary_directory const folder;
  std::string const path = folder / "equal.safetensors";
  auto const returns = [&]<class Model>(Model, std::vector<float> all, std::string const& text) {
    INFO(text);
    auto const fresh = [] {
      return dsl::compile<Model>(dsl::reference{}, dsl::sgd{}, {.loss = dsl::loss::mean_squared_error});
    };
    dsl::trainer first = fresh(), second = fresh();
    auto const numbers = std::make_shared<std::vector<float> const>(std::move(all));
    first.set_normalization({{{"", numbers, nullptr}}});
    dsl::save_safetensors(first, path);
    st::file const f(path);
    for (auto const& [name, found] : f.metadata())
      if (name == "typenet.mean") CHECK(found == text);
    dsl::load_safetensors(second, path);
    REQUIRE(second.normalization().find(""));
    CHECK(*second.normalization().find("")->mean == *numbers);
  };
  using namespace dsl;
  returns(network<features<3>, dense<1>>{}, {0, 0, 0}, "0 0 0");
  returns(network<features<4>, dense<1>>{}, {1, 1, 2, 2}, "1 1 2 2");
  using colours = network<image<3, 2, 2>, flatten, dense<1>>;
  returns(colours{}, std::vector<float>(12, 0.5F), "0.5 0.5 0.5");
  returns(colours{}, {1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2}, "1 1 1 1 1 1 2 2 2 2 2 2");
}

TEST_CASE("safetensors: a normalisation that is none is refused, and nothing changes", "[safetensors][hostile]") {
  using row = dsl::network<dsl::features<3>, dsl::dense<1>>;
  dsl::test::temporary_directory const folder;
  std::string const path = folder / "row.safetensors";
  auto const made_row = [] {
    return dsl::compile<row>(dsl::reference{}, dsl::sgd{}, {.loss = dsl::loss::mean_squared_error});
  };
  dsl::trainer source = made_row(), t = made_row();
  std::vector<float> const weight(3, 0.5F), bias(1);
  auto const write = [&](char const* key, std::string const& text) {
    auto const bytes = [](std::vector<float> const& all) {
      return std::string_view(reinterpret_cast<char const*>(all.data()), all.size() * sizeof(float));
    };
    st::write(path, {{"0.weight", st::dtype::f32, {1, 3}, bytes(weight)}, {"0.bias", st::dtype::f32, {1}, bytes(bias)}},
              {{key, text}});
  };
  std::vector<float> const before = parameter(t.engine(), 0);
  for (char const* const wrong :
       {"1", "1 2", "1 2 3 4", "1 2 x", "1,2,3", "1  2 3", "nan 1 2", "1e99 1 2", " 1 2 3", "1 2 inf"}) {
    INFO(wrong);
    write("typenet.mean", wrong);
    CHECK_THROWS_AS(dsl::load_safetensors(t, path), st::format_error);
    CHECK(parameter(t.engine(), 0) == before);
  }
  write("typenet.deviation", "1 0 2");
  CHECK_THROWS_AS(dsl::load_safetensors(t, path), st::format_error);
  write("typenet.deviation", "1 5e-1 2");
  dsl::load_safetensors(t, path);
  CHECK(*t.normalization().find("")->deviation == std::vector<float>{1, 0.5F, 2});
  CHECK(parameter(t.engine(), 0) == weight);
}
