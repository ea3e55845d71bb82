// SPDX-License-Identifier: MIT
// Compares weights in Keras 3's format with a file that Keras saved (tests/fixtures/make_keras_h5.py).
#include "support/catch.hpp"
#include "support/temporary_directory.hpp"
#include "support/trajectory.hpp"
#include "support/warnings.hpp"

#include <dsl/dsl.hpp>
#include <dsl/io/keras_h5.hpp>
#include <dsl/placement.hpp>
#include <dsl/towers.hpp>
#include <dsl/training/fingerprint.hpp>
#include <dsl/training/initialize.hpp>
#include <dsl/training/predictor.hpp>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>

namespace h5 = dsl::keras_h5;
using strings = std::vector<std::string>;

namespace {

using saved_network =
    dsl::network<dsl::image<2, 4, 4>, dsl::conv_module<3, 3>, dsl::inception_module<2, 3>, dsl::flatten,
                 dsl::batch_norm<>, dsl::dense<6>, dsl::relu, dsl::dense<3>, dsl::softmax>;

std::string const fixture = std::string(TYPENET_TEST_DATA) + "/weights.weights.h5";

std::string bytes_of(std::string const& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
template <class Network>
dsl::trainer made(dsl::towers t = {}) {
  return dsl::compile<Network>(dsl::reference{}, dsl::sgd{.learning_rate = 0.1}, t);
}
std::vector<float> parameter(dsl::engine& e, int k) {
  std::vector<float> all(static_cast<std::size_t>(e.graph().parameters[k].count()));
  e.read_parameter(k, all.data());
  return all;
}
bool same_bits(std::vector<float> const& a, std::vector<float> const& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

}  // namespace

TEST_CASE("keras_h5: what Keras saved is what it had, to the bit", "[keras_h5]") {
  dsl::trainer t = made<saved_network>();
  dsl::loaded_weights const found = dsl::load_keras_h5(t, fixture);
  CHECK(found.loaded == 26);
  CHECK(found.missing.empty());
  CHECK(found.unexpected.empty());
  for (int k = 0; k < t.graph().size.parameters; ++k) {
    dsl::parameter const& p = t.graph().parameters[k];
    std::vector<float> const ours = parameter(t.engine(), k);
    for (std::size_t i = 0; i < ours.size(); ++i)
      REQUIRE(ours[i] == static_cast<float>(dsl::test::initial_value(
                             static_cast<dsl::test::parameter_kind>(p.role), static_cast<std::uint32_t>(k),
                             static_cast<std::uint32_t>(i), p.fan_in, p.fan_out)));
  }
  dsl::trainer towers = made<saved_network>({.count = 2});
  dsl::load_keras_h5(towers, fixture);
  CHECK(dsl::detail::fingerprint_of(towers.engine()) == dsl::detail::fingerprint_of(t.engine()));
}

TEST_CASE("keras_h5: what is written has Keras's names, and comes back to the bit", "[keras_h5]") {
  dsl::test::temporary_directory const here;
  dsl::trainer t = made<saved_network>(), u = made<saved_network>();
  dsl::load_keras_h5(t, fixture);
  std::vector<float> odd = parameter(t.engine(), 20);
  odd[0] = std::bit_cast<float>(0x7fa12345U), odd[1] = -0.0F, odd[2] = 1e-42F, odd[3] = -INFINITY;
  t.engine().write_parameter(20, odd.data());
  dsl::save_keras_h5(t, here / "x");
  CHECK(h5::file(here / "x").datasets("layers") == h5::file(fixture).datasets("layers"));
  dsl::load_keras_h5(u, here / "x");
  dsl::predictor p = dsl::make_predictor<saved_network>(dsl::reference{});
  CHECK(dsl::load_keras_h5(p, here / "x").loaded == u.graph().size.parameters);
  for (int k = 0; k < t.graph().size.parameters; ++k) {
    INFO(k);
    CHECK(same_bits(parameter(u.engine(), k), parameter(t.engine(), k)));
  }
  dsl::save_keras_h5(u, here / "y");
  CHECK(bytes_of(here / "x") == bytes_of(here / "y"));
}

namespace {

/// A network with a short left branch and a long right one.
template <class Long, class Short = dsl::conv2d<2, 1>>
struct uneven : dsl::concat<Short, Long> {};
template <class... Layers>
strings groups_of(bool fused = false) {
  return h5::groups(dsl::network<dsl::image<2, 4, 4>, Layers...>::view(), {.fused_activations = fused});
}

}  // namespace

TEST_CASE("keras_h5: layers are numbered as Keras does it", "[keras_h5]") {
  using namespace dsl;
  CHECK(groups_of<conv2d<2, 3>, batch_norm<>, relu, flatten, dense<3>, dropout<0.5>, dense<2>, softmax>() ==
        strings{"layers/conv2d", "layers/batch_normalization", "layers/dense", "layers/dense_1"});
  // Branches of one length come one after the other, class by class.
  CHECK(h5::groups(saved_network::view()) == strings{"layers/conv2d", "layers/batch_normalization", "layers/conv2d_1",
                                                     "layers/batch_normalization_1", "layers/conv2d_2",
                                                     "layers/batch_normalization_2", "layers/batch_normalization_3",
                                                     "layers/dense", "layers/dense_1"});
  // Layers farther from the output come first: the long branch's first convolution before the short branch's.
  CHECK(groups_of<uneven<sequential<conv2d<2, 1>, conv2d<2, 3>>>>() ==
        strings{"layers/conv2d_1", "layers/conv2d", "layers/conv2d_2"});
  // Whether an activation is a layer changes the position of the layer before it.
  using activated = uneven<sequential<conv2d<2, 1>, relu>>;
  CHECK(groups_of<activated>() == strings{"layers/conv2d_1", "layers/conv2d"});
  CHECK(groups_of<activated>(true) == strings{"layers/conv2d", "layers/conv2d_1"});
  CHECK(groups_of<uneven<sequential<conv2d<2, 1>, batch_norm<>, relu>>>(true) ==
        strings{"layers/conv2d_1", "layers/conv2d", "layers/batch_normalization"});
  CHECK(groups_of<activated, activated, conv2d<2, 1>>() ==
        strings{"layers/conv2d_1", "layers/conv2d", "layers/conv2d_3", "layers/conv2d_2", "layers/conv2d_4"});
  CHECK(groups_of<relu>().empty());
  // A transfer is no layer, and an activation after one still belongs to the convolution before it.
  using placed = uneven<sequential<conv2d<2, 1>, on<device<1>, relu>>>;
  CHECK(groups_of<placed>() == groups_of<activated>());
  CHECK(groups_of<placed>(true) == groups_of<activated>(true));
  CHECK(groups_of<on<device<1>, placed>, placed, conv2d<2, 1>>(true) ==
        groups_of<activated, activated, conv2d<2, 1>>(true));
}

TEST_CASE("keras_h5: activations that are layers, or not, where that changes the order", "[keras_h5]") {
  using namespace dsl;
  using model = network<image<2, 4, 4>, uneven<sequential<conv2d<2, 1>, relu>>, flatten, dense<3>, softmax>;
  test::temporary_directory const here;
  trainer t = made<model>();
  save_keras_h5(t, here / "x", {.fused_activations = true});
  std::string said;
  try {
    load_keras_h5(t, here / "x");
  } catch (h5::format_error const& e) {
    said = e.what();
  }
  CHECK(
      said.ends_with("must have 2 activation layers; found 0; set .fused_activations = true, or give the "
                     "groups"));
  CHECK_NOTHROW(load_keras_h5(t, here / "x", {.fused_activations = true}));
  CHECK_NOTHROW(load_keras_h5(t, here / "x", {.groups = {"layers/conv2d", "layers/conv2d_1", "layers/dense"}}));
}

namespace {

/// Checks that load reads what save wrote with the same options, and that a file has the groups of so many activations.
template <class... Layers>
void comes_back(int activations, dsl::keras_h5_options const& options = {}) {
  using model = dsl::network<dsl::image<2, 4, 4>, Layers...>;
  dsl::test::temporary_directory const here;
  auto const saved = dsl::reference{}.make_engine(model::view(), dsl::engine_options{});
  auto const loaded = dsl::reference{}.make_engine(model::view(), dsl::engine_options{});
  dsl::initialize(*saved, 3), dsl::initialize(*loaded, 4);
  dsl::save_keras_h5(*saved, here / "x", options);
  CHECK_NOTHROW(dsl::load_keras_h5(*loaded, here / "x", options));
  CHECK(dsl::detail::fingerprint_of(*loaded) == dsl::detail::fingerprint_of(*saved));
  h5::file const file(here / "x");
  std::string name = "layers/activation";
  for (int i = 0; i < activations; ++i, name = "layers/activation_" + std::to_string(i)) {
    CHECK(file.has(name + "/vars"));  // as Keras has it for a layer without weights
    CHECK(file.datasets(name).empty());
  }
  CHECK_FALSE(file.has(name));
}

}  // namespace

TEST_CASE("keras_h5: what is written can be read, wherever the activations are", "[keras_h5]") {
  using namespace dsl;
  using conv = conv2d<2, 1>;
  keras_h5_options const fused{.fused_activations = true};
  using branches = concat<sequential<conv, conv>, sequential<conv, relu, conv>>;
  comes_back<branches>(1);
  comes_back<branches>(0, fused);
  using normalised = concat<sequential<conv, conv>, sequential<conv, batch_norm<>, leaky_relu<>, conv, silu, conv>>;
  comes_back<normalised, flatten, dense<3>, softmax>(3);
  comes_back<normalised, flatten, dense<3>, softmax>(1, fused);  // the one behind a batch_norm
  comes_back<uneven<sequential<conv, relu>>, softmax2d>(2);
  comes_back<uneven<sequential<conv, relu>>, softmax2d>(1, fused);
  using separable = concat<conv, sequential<conv2d<2, 3, groups<2>, bias<false>>, conv, relu, conv>>;
  comes_back<separable>(1, {.separable_convolutions = true});
  comes_back<separable>(0, {.groups = h5::groups(network<image<2, 4, 4>, separable>::view())});
  comes_back<conv>(0);
}

// A ZeroPadding2D in Keras makes the second branch the longer one, so that its first kernel comes before that of the
// first branch. The two kernels have the same shape.
TEST_CASE("keras_h5: explicit padding in branches needs groups", "[keras_h5]") {
  using namespace dsl;
  using branches =
      network<image<3, 8, 8>,
              concat<sequential<conv2d<3, 3>, conv2d<3, 3>>, sequential<conv2d<3, 3>, conv2d<3, 3, pad<2, 0, 0, 2>>>>,
              global_avg_pool2d, softmax>;
  using pools = network<image<3, 8, 8>,
                        concat<sequential<conv2d<3, 3>, relu, conv2d<3, 3, 3, 2>>,
                               sequential<conv2d<3, 3>, max_pool2d<3, 2, pad<1>>, conv2d<3, 1>>>,
                        global_avg_pool2d, softmax>;
  test::temporary_directory const here;
  trainer t = made<branches>();
  auto const refuses = Catch::Contains(".groups must be given if branches have explicit padding");
  CHECK_THROWS_AS(save_keras_h5(t, here / "x"), option_error);
  CHECK_THROWS_WITH(save_keras_h5(t, here / "x"), refuses);
  keras_h5_options const said{.groups = h5::groups(branches::view())};
  save_keras_h5(t, here / "x", said);
  trainer u = made<branches>();
  CHECK_THROWS_AS(load_keras_h5(u, here / "x"), option_error);
  CHECK_THROWS_WITH(load_keras_h5(u, here / "x"), refuses);
  CHECK(load_keras_h5(u, here / "x", said).loaded == 8);
  CHECK(detail::fingerprint_of(u.engine()) == detail::fingerprint_of(t.engine()));
  trainer pooled = made<pools>();  // its branches have the same length before the padding is counted
  CHECK_THROWS_WITH(save_keras_h5(pooled, here / "y"), refuses);
  // in a chain, and where `same` pads as much, nothing changes
  trainer chain = made<network<image<3, 8, 8>, conv2d<3, 3, stride<2>, pad<1>>, conv2d<3, 3, stride<2>, pad<1>>,
                               global_avg_pool2d, softmax>>();
  CHECK_NOTHROW(save_keras_h5(chain, here / "z"));
  trainer same =
      made<network<image<3, 8, 8>,
                   concat<sequential<conv2d<3, 3>, conv2d<3, 3>>, sequential<conv2d<3, 3>, conv2d<3, 3, pad<1>>>>,
                   global_avg_pool2d, softmax>>();
  CHECK_NOTHROW(save_keras_h5(same, here / "z"));
}

TEST_CASE("keras_h5: a model inside of a model has its layers where its groups say", "[keras_h5]") {
  dsl::test::temporary_directory const here;
  dsl::trainer t = made<saved_network>(), u = made<saved_network>();
  dsl::load_keras_h5(t, fixture);
  dsl::keras_h5_options nested;
  nested.groups = h5::groups(saved_network::view());
  for (std::size_t i = 2; i < 6; ++i) nested.groups[i].insert(0, "layers/functional/");
  nested.groups.back() = "head";
  dsl::save_keras_h5(t, here / "x", nested);
  CHECK(h5::file(here / "x").has("layers/functional/layers/conv2d_1/vars/0"));
  CHECK_THROWS_AS(dsl::load_keras_h5(u, here / "x"), h5::format_error);
  CHECK(dsl::load_keras_h5(u, here / "x", nested).unexpected.empty());
  CHECK(dsl::detail::fingerprint_of(u.engine()) == dsl::detail::fingerprint_of(t.engine()));

  auto const refused = [&](auto change) {
    dsl::keras_h5_options bad = nested;
    change(bad.groups);
    CHECK_THROWS_AS(dsl::load_keras_h5(u, here / "x", bad), dsl::option_error);
    CHECK_THROWS_AS(dsl::save_keras_h5(u, here / "y", bad), dsl::option_error);
  };
  refused([](strings& g) { g.pop_back(); });
  for (char const* name : {"", "/", "/layers/a", "layers/a/", "layers//a", "layers/./a"})
    refused([&](strings& g) { g[0] = name; });
  refused([](strings& g) { g[0] = std::string("a\0b", 3); });
  refused([](strings& g) { g[0] = g[1]; });
  dsl::keras_h5_options inside = nested;  // of another dataset
  inside.groups[0] = inside.groups[1] + "/vars/0";
  CHECK_THROWS_AS(dsl::save_keras_h5(u, here / "y", inside), dsl::file_error);
  CHECK(std::distance(std::filesystem::directory_iterator(here.path), {}) == 1);
}

TEST_CASE("keras_h5: other weights than the network's are refused, and nothing changes", "[keras_h5]") {
  dsl::test::temporary_directory const here;
  using longer = dsl::network<dsl::image<2, 4, 4>, dsl::conv_module<3, 3>, dsl::inception_module<2, 3>, dsl::flatten,
                              dsl::batch_norm<>, dsl::dense<6>, dsl::relu, dsl::dense<3>, dsl::dense<3>, dsl::softmax>;
  using shorter = dsl::network<dsl::image<2, 4, 4>, dsl::conv_module<3, 3>, dsl::flatten, dsl::tanh, dsl::softmax>;
  using other = dsl::network<dsl::image<2, 4, 4>, dsl::conv_module<4, 3>, dsl::flatten, dsl::tanh, dsl::softmax>;
  auto const refused = [&](dsl::trainer t, h5::fault which, std::string const& dataset, std::string const& words) {
    auto const before = dsl::detail::fingerprint_of(t.engine());
    std::string said;
    try {
      dsl::load_keras_h5(t, fixture);
    } catch (h5::format_error const& e) {
      said = e.what();
      CHECK(e.which == which);
      CHECK(e.dataset == dataset);
    }
    INFO(said);
    CHECK(said.starts_with("keras_h5: " + fixture + " must have "));
    CHECK(said.find(words) != std::string::npos);
    CHECK(dsl::detail::fingerprint_of(t.engine()) == before);
  };
  refused(made<longer>(), h5::fault::unsuitable_weights, "layers/dense_2/vars/0",
          "\"layers/dense_2/vars/0\"; found 26 of the network's 28 weights");
  refused(made<shorter>(), h5::fault::unsuitable_weights, "layers/batch_normalization_1/vars/0",
          "no weights but the network's; found \"layers/batch_normalization_1/vars/0\";");
  refused(made<other>(), h5::fault::shape, "layers/conv2d/vars/0", "with shape [3, 3, 2, 4]; found [3, 3, 2, 3]");

  dsl::trainer more = made<longer>();
  dsl::loaded_weights const found = dsl::load_keras_h5(more, fixture, {.strict = false});
  CHECK(found.loaded == 26);
  CHECK(found.missing == strings{"layers/dense_2/vars/0", "layers/dense_2/vars/1"});
  using five_classes =
      dsl::network<dsl::image<2, 4, 4>, dsl::conv_module<3, 3>, dsl::inception_module<2, 3>, dsl::flatten,
                   dsl::batch_norm<>, dsl::dense<6>, dsl::relu, dsl::dense<5>, dsl::softmax>;
  dsl::trainer wider = made<five_classes>();
  dsl::loaded_weights const body = dsl::load_keras_h5(wider, fixture, {.skip_mismatch = true});
  CHECK(body.loaded == 24);
  CHECK(body.mismatched == strings{"layers/dense_1/vars/0", "layers/dense_1/vars/1"});
  dsl::keras_h5_options nowhere{.groups = h5::groups(wider.graph()), .strict = false};
  for (std::string& group : nowhere.groups) group += "/other";
  CHECK_THROWS_AS(dsl::load_keras_h5(wider, fixture, nowhere), h5::format_error);
  // layers that are not among .only keep their weights, and what the file has besides is no error
  dsl::trainer partly = made<longer>();
  dsl::keras_h5_options part;
  part.only = h5::groups(more.graph());
  part.only.erase(part.only.begin());
  part.only.pop_back();
  std::vector<float> kernel(54), same(54);
  partly.engine().read_parameter(0, kernel.data());
  dsl::loaded_weights const some = dsl::load_keras_h5(partly, fixture, part);
  CHECK((some.loaded == 24 && some.names.size() == 24 && some.missing.empty()));
  CHECK(some.skipped == strings{"conv2d/kernel", "conv2d/bias", "dense_2/kernel", "dense_2/bias"});
  partly.engine().read_parameter(0, same.data());
  CHECK(kernel == same);
  CHECK_THROWS_WITH(dsl::load_keras_h5(partly, fixture, {.only = {"layers/dense_2"}}),
                    Catch::Contains("found 0 of the network's"));
  CHECK_THROWS_WITH(dsl::load_keras_h5(partly, fixture, {.only = {"layers/dense_7"}}),
                    Catch::Contains("\"layers/dense_7\""));
  dsl::trainer narrow = made<other>();
  CHECK_THROWS_AS(dsl::load_keras_h5(narrow, fixture, {.strict = false, .skip_mismatch = true}), h5::format_error);
  dsl::trainer fewer = made<shorter>();
  CHECK(dsl::load_keras_h5(fewer, fixture, {.strict = false}).unexpected.size() == 20);
}

TEST_CASE("keras_h5: a layer in .only must have no weights in the file but the network's", "[keras_h5]") {
  using without_bias = dsl::network<dsl::image<2, 4, 4>, dsl::conv2d<3, 3, dsl::bias<false>>, dsl::batch_norm<>,
                                    dsl::relu, dsl::inception_module<2, 3>, dsl::flatten, dsl::batch_norm<>,
                                    dsl::dense<6>, dsl::relu, dsl::dense<3>, dsl::softmax>;
  dsl::trainer t = made<without_bias>();
  std::vector<float> const before = parameter(t.engine(), 0);
  CHECK_THROWS_WITH(
      dsl::load_keras_h5(t, fixture, {.only = {"layers/conv2d"}}),
      Catch::Contains("must have no weights but the network's") && Catch::Contains("layers/conv2d/vars/1"));
  CHECK(parameter(t.engine(), 0) == before);
  dsl::loaded_weights const some = dsl::load_keras_h5(t, fixture, {.only = {"layers/dense"}});  // another layer's bias
  CHECK(some.loaded == 2);
  dsl::loaded_weights const all = dsl::load_keras_h5(t, fixture, {.strict = false, .only = {"layers/conv2d"}});
  CHECK(all.loaded == 1);
  CHECK(std::count(all.unexpected.begin(), all.unexpected.end(), "layers/conv2d/vars/1") == 1);
  CHECK(parameter(t.engine(), 0) != before);
}

TEST_CASE("keras_h5: a file that cannot contain the normalisation is warned of", "[keras_h5]") {
  dsl::test::temporary_directory const here;
  dsl::trainer t = made<saved_network>();
  CHECK(dsl::test::warnings([&] { dsl::save_keras_h5(t, here / "x"); }).empty());
  t.set_normalization({.inputs = {{.input = "", .mean = std::make_shared<std::vector<float> const>(32, 0.5F)}}});
  std::vector<std::string> const said = dsl::test::warnings([&] { dsl::save_keras_h5(t, here / "x"); });
  REQUIRE(said.size() == 1);
  CHECK_THAT(said[0], Catch::Contains("keras_h5: ") && Catch::Contains("cannot contain the mean"));
}

TEST_CASE("keras_h5: where it can't be written, the file that was there stays", "[keras_h5]") {
  dsl::test::temporary_directory const here;
  dsl::trainer t = made<saved_network>();
  dsl::save_keras_h5(t, here / "x");
  std::string const before = bytes_of(here / "x");
  dsl::keras_h5_options inside;
  inside.groups = h5::groups(saved_network::view());
  inside.groups[8] = inside.groups[0] + "/vars/0";
  CHECK_THROWS_AS(dsl::save_keras_h5(t, here / "x", inside), dsl::file_error);
  CHECK_THROWS_AS(dsl::save_keras_h5(t, here / "no/x"), dsl::file_error);
  CHECK(bytes_of(here / "x") == before);
  h5::file const open(here / "x");  // a reader of the old file keeps reading it
  t.engine().write_parameter(0, std::vector<float>(54).data());
  dsl::save_keras_h5(t, here / "x");
  CHECK(open.read("layers/conv2d/vars/0", {3, 3, 2, 3}) != std::vector<float>(54));
  CHECK(h5::file(here / "x").read("layers/conv2d/vars/0", {3, 3, 2, 3}) == std::vector<float>(54));
  CHECK(std::distance(std::filesystem::directory_iterator(here.path), {}) == 1);
}

TEST_CASE("keras_h5: a SeparableConv2D is two convolutions of the network", "[keras_h5]") {
  using namespace dsl;
  using model = network<image<4, 4, 4>, conv2d<8, 3, groups<4>, bias<false>>, conv2d<3, 1>, relu,
                        conv2d<3, 3, groups<3>>, conv2d<2, 1>, flatten, dense<3>, softmax>;
  h5::model_layers const separable{.separable_convolutions = true};
  // The second depthwise convolution has a bias, so that it is a layer of its own.
  CHECK(h5::groups(model::view(), separable) ==
        strings{"layers/separable_conv2d", "layers/depthwise_conv2d", "layers/conv2d", "layers/dense"});
  CHECK(h5::groups(model::view()) == strings{"layers/depthwise_conv2d", "layers/conv2d", "layers/depthwise_conv2d_1",
                                             "layers/conv2d_1", "layers/dense"});
  test::temporary_directory const here;
  trainer t = made<model>(), u = made<model>();
  initialize(u.engine(), 17);
  save_keras_h5(t, here / "x", {.separable_convolutions = true});
  h5::file const file(here / "x");
  CHECK(file.datasets("layers/separable_conv2d") ==
        strings{"layers/separable_conv2d/vars/0", "layers/separable_conv2d/vars/1", "layers/separable_conv2d/vars/2"});
  CHECK_NOTHROW(file.read("layers/separable_conv2d/vars/0", {3, 3, 4, 2}));
  CHECK_NOTHROW(file.read("layers/separable_conv2d/vars/1", {1, 1, 8, 3}));
  CHECK_THROWS_AS(load_keras_h5(u, here / "x"), h5::format_error);
  CHECK(load_keras_h5(u, here / "x", {.groups = h5::groups(model::view(), separable)}).loaded ==
        t.graph().size.parameters);
  for (int k = 0; k < t.graph().size.parameters; ++k)
    CHECK(same_bits(::parameter(u.engine(), k), ::parameter(t.engine(), k)));

  strings const of_others{"layers/depthwise_conv2d", "layers/conv2d", "layers/separable_conv2d", "layers/dense"};
  CHECK_THROWS_WITH(save_keras_h5(t, here / "y", {.groups = of_others}),
                    Catch::Contains("without bias") && Catch::Contains("found \"layers/separable_conv2d\" for other"));
  strings const across{"layers/depthwise_conv2d", "layers/separable_conv2d", "layers/conv2d", "layers/dense"};
  CHECK_THROWS_AS(load_keras_h5(u, here / "x", {.groups = across}), option_error);
  strings const few{"layers/separable_conv2d", "layers/depthwise_conv2d", "layers/conv2d"};
  CHECK_THROWS_WITH(
      load_keras_h5(u, here / "x", {.groups = few}),
      Catch::Contains("5 layers with weights") && Catch::Contains("found 3 entries, which stand for 4 layers;"));
}

TEST_CASE("keras_h5: the name of a group says whether a convolution of each channel is a Conv2D with groups",
          "[keras_h5]") {
  using namespace dsl;
  using model = network<image<4, 4, 4>, conv2d<8, 3, groups<4>>, flatten, dense<3>, softmax>;
  test::temporary_directory const here;
  trainer t = made<model>(), u = made<model>();
  initialize(u.engine(), 17);
  keras_h5_options const grouped{.groups = {"layers/conv2d", "layers/dense"}};
  save_keras_h5(t, here / "x", grouped);
  save_keras_h5(t, here / "y");
  std::vector<float> const in_groups = h5::file(here / "x").read("layers/conv2d/vars/0", {3, 3, 1, 8});
  CHECK(in_groups == h5::file(here / "y").read("layers/depthwise_conv2d/vars/0", {3, 3, 4, 2}));
  load_keras_h5(u, here / "x", grouped);
  CHECK(same_bits(::parameter(u.engine(), 0), ::parameter(t.engine(), 0)));
}

TEST_CASE("keras_h5: layers that the network lacks, if they are named", "[keras_h5]") {
  using namespace dsl;
  using wider = network<features<4>, batch_norm<>, dense<4>, dense<4>, softmax>;
  using narrow = network<features<4>, dense<4>, dense<4>, softmax>;
  test::temporary_directory const here;
  trainer t = made<wider>(), u = made<narrow>();
  save_keras_h5(t, here / "x");
  CHECK_THROWS_AS(load_keras_h5(u, here / "x"), h5::format_error);
  CHECK_THROWS_AS(load_keras_h5(u, here / "x", {.unused = {"layers/batch"}}), h5::format_error);
  loaded_weights const found = load_keras_h5(u, here / "x", {.unused = {"layers/batch_normalization"}});
  CHECK(found.loaded == 4);
  CHECK(found.unexpected.size() == 4);
}

TEST_CASE("keras_h5: constants are no weights", "[keras_h5]") {
  using namespace dsl;
  using model = network<image<4, 4, 4>, conv2d<4, 1>, constant_scale<0.5>, unscaled_batch_norm<>, channel_scale,
                        flatten, dense<3>, softmax>;
  static_assert(model::parameter_count == 20 + 3 * 4 + 4 + 195 && model::trainable_parameter_count == 20 + 4 + 4 + 195);
  strings const groups{"layers/conv2d", "layers/batch_normalization", "layers/layer_scale", "layers/dense"};
  CHECK(h5::groups(model::view()) == groups);
  test::temporary_directory const here;
  trainer t = made<model>(), u = made<model>();
  initialize(u.engine(), 17);
  save_keras_h5(t, here / "x");
  CHECK(h5::file(here / "x").datasets("layers/batch_normalization").size() == 3);
  CHECK(load_keras_h5(u, here / "x").loaded == 8);
  for (int k = 0; k < t.graph().size.parameters; ++k)
    CHECK(same_bits(::parameter(u.engine(), k), ::parameter(t.engine(), k)));
  CHECK(::parameter(u.engine(), 2) == std::vector<float>(4, 0.5F));
  CHECK(::parameter(u.engine(), 3) == std::vector<float>(4, 1.0F));
  trainer more = made<network<image<4, 4, 4>, conv2d<4, 1>, constant_scale<0.5>, unscaled_batch_norm<>, channel_scale,
                              flatten, dense<3>, dense<3>, softmax>>();
  CHECK_THROWS_WITH(load_keras_h5(more, here / "x"), Catch::Contains("found 8 of the network's 10 weights"));
}
