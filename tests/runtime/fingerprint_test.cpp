// SPDX-License-Identifier: MIT
// Tests that networks, rules and data sets that differ in one thing have different fingerprints, so that processes and
// checkpoints never confuse them.
#include "support/catch.hpp"

#include <dsl/data/with_input.hpp>
#include <dsl/dsl.hpp>
#include <dsl/placement.hpp>
#include <dsl/training/fingerprint.hpp>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

using namespace dsl;

namespace {

struct print {
  std::string of;
  std::uint64_t value;
};
void all_differ(std::vector<print> const& all) {
  for (std::size_t i = 0; i < all.size(); ++i)
    for (std::size_t k = 0; k < i; ++k) {
      INFO(all[k].of << " and " << all[i].of);
      CHECK(all[k].value != all[i].value);
    }
}

/// A network on 4x5x5 pictures.
template <class... Layers>
std::uint64_t made_of(int version = detail::fingerprint_version) {
  return detail::fingerprint_of(network<image<4, 5, 5>, Layers...>::view(), version);
}

using small = network<image<2, 6, 6>, conv2d<3, 3>, relu, flatten, dense<3>, softmax>;
using small_graph = std::remove_cvref_t<decltype(small::graph)>;

std::uint64_t with(void (*change)(small_graph&)) {
  small_graph g = small::graph;
  change(g);
  return detail::fingerprint_of(g.view());
}
std::uint64_t with(void (*change)(update_rule&)) {
  update_rule u = sgd{}.rule();
  change(u);
  return detail::fingerprint_of(u);
}
std::uint64_t with(void (*change)(engine_options&)) {
  engine_options o{.update = sgd{}.rule()};
  change(o);
  return detail::fingerprint_of(o, small::view());
}

}  // namespace

TEST_CASE("fingerprints: a further input's name counts") {
  using one = dsl::network<dsl::features<3>, dsl::concat<dsl::identity, dsl::named_input<"a", dsl::features<2>>>,
                           dsl::dense<1>>;
  using other = dsl::network<dsl::features<3>, dsl::concat<dsl::identity, dsl::named_input<"b", dsl::features<2>>>,
                             dsl::dense<1>>;
  CHECK(dsl::detail::fingerprint_of(one::view()) != dsl::detail::fingerprint_of(other::view()));
}

TEST_CASE("fingerprints: networks that differ in one layer, or in what it reads", "[fingerprint]") {
  all_differ({
      {"relu", made_of<relu>()},
      {"tanh", made_of<dsl::tanh>()},
      {"sigmoid", made_of<sigmoid>()},
      {"silu", made_of<silu>()},
      {"leaky_relu<1>", made_of<leaky_relu<1.0>>()},
      {"leaky_relu<0.5>", made_of<leaky_relu<0.5>>()},
      {"elu<1>", made_of<elu<1.0>>()},
      {"elu<0.5>", made_of<elu<0.5>>()},
      {"dropout<0.5>", made_of<dropout<0.5>>()},
      {"dropout<0.25>", made_of<dropout<0.25>>()},
      {"max_pool2d<2>", made_of<max_pool2d<2>>()},  // 4x2x2 as the next five
      {"avg_pool2d<2>", made_of<avg_pool2d<2>>()},
      {"max_pool2d<3, 2>", made_of<max_pool2d<3, 2>>()},
      {"avg_pool2d<3, 2>", made_of<avg_pool2d<3, 2>>()},
      {"max_pool2d<4, 1>", made_of<max_pool2d<4, 1>>()},
      {"avg_pool2d<4, 1>", made_of<avg_pool2d<4, 1>>()},
      {"max_pool2d<4, 2>", made_of<max_pool2d<4, 2>>()},  // 4x1x1
      {"max_pool2d<4, 3>", made_of<max_pool2d<4, 3>>()},
      {"max_pool2d<5>", made_of<max_pool2d<5>>()},
      {"avg_pool2d<5>", made_of<avg_pool2d<5>>()},
      {"batch_norm<0.99>", made_of<batch_norm<0.99>>()},
      {"batch_norm<0.9>", made_of<batch_norm<0.9>>()},
      {"unscaled_batch_norm<0.9>", made_of<unscaled_batch_norm<0.9>>()},
      {"constant_scale<0.5>", made_of<constant_scale<0.5>>()},
      {"constant_scale<0.25>", made_of<constant_scale<0.25>>()},
      {"batch_norm<0.9, 1e-5>", made_of<batch_norm<0.9, 1e-5>>()},
      {"conv2d<4, 3>", made_of<conv2d<4, 3>>()},
      {"conv2d<4, 1>", made_of<conv2d<4, 1>>()},
      {"conv2d<4, 1, 3>", made_of<conv2d<4, 1, 3>>()},
      {"conv2d<4, 3, 1>", made_of<conv2d<4, 3, 1>>()},
      {"conv2d<5, 3>", made_of<conv2d<5, 3>>()},
      {"conv2d<4, 3>, valid", made_of<conv2d<4, 3, 3, 1, padding::valid>>()},
      {"conv2d<4, 3>, stride 2", made_of<conv2d<4, 3, 3, 2>>()},
      {"conv2d<4, 3>, stride 2, 1", made_of<conv2d<4, 3, stride<2, 1>>>()},
      {"conv2d<4, 1>, dilation 2", made_of<conv2d<4, 1, dilation<2>>>()},
      {"conv2d<4, 1>, dilation 1, 2", made_of<conv2d<4, 1, dilation<1, 2>>>()},
      {"group_norm<2>", made_of<group_norm<2>>()},
      {"group_norm<1>", made_of<group_norm<1>>()},
      {"local_response_norm<3>", made_of<local_response_norm<3>>()},
      {"local_response_norm<5>", made_of<local_response_norm<5>>()},
      {"local_response_norm<5>, beta 1", made_of<local_response_norm<5, 1e-4, 1.0>>()},
      {"channel_slice<0, 2>", made_of<channel_slice<0, 2>>()},
      {"channel_slice<1, 2>", made_of<channel_slice<1, 2>>()},
      {"channel_shuffle<2>", made_of<channel_shuffle<2>>()},
      {"channel_shuffle<4>", made_of<channel_shuffle<4>>()},
      {"upsample2d<2>", made_of<upsample2d<2>>()},
      {"upsample2d<2>, bilinear", made_of<upsample2d<2, interpolation::bilinear>>()},
      {"dense<4>", made_of<flatten, dense<4>>()},
      {"dense<5>", made_of<flatten, dense<5>>()},
      {"relu, tanh", made_of<relu, dsl::tanh>()},
      {"tanh, relu", made_of<dsl::tanh, relu>()},
      {"relu, tanh, and what came in", made_of<add<identity, sequential<relu, dsl::tanh>>>()},
      {"the other way round", made_of<add<sequential<relu, dsl::tanh>, identity>>()},
      {"relu, tanh, and what relu gave", made_of<relu, add<identity, dsl::tanh>>()},
      {"relu and tanh", made_of<add<relu, dsl::tanh>>()},
      {"relu beside tanh", made_of<concat<relu, dsl::tanh>>()},
      {"twice the same", made_of<add<identity, identity>>()},
      {"thrice the same", made_of<add<identity, identity, identity>>()},
      {"one device", made_of<sigmoid, relu, dsl::tanh>()},
      {"three devices", made_of<sigmoid, on<device<1>, relu>, on<device<2>, dsl::tanh>>()},
      {"three in another order", made_of<sigmoid, on<device<2>, relu>, on<device<1>, dsl::tanh>>()},
  });
  all_differ({{"1x4x4", detail::fingerprint_of(network<image<1, 4, 4>, relu>::view())},
              {"2x4x4", detail::fingerprint_of(network<image<2, 4, 4>, relu>::view())},
              {"1x5x4", detail::fingerprint_of(network<image<1, 5, 4>, relu>::view())},
              {"1x4x5", detail::fingerprint_of(network<image<1, 4, 5>, relu>::view())}});
  CHECK(made_of<sequential<relu, dsl::tanh>>() == made_of<relu, sequential<dsl::tanh>>());  // only names differ
}

TEST_CASE("fingerprints: every number of a graph counts", "[fingerprint]") {
  // nodes 1 and 2: the convolution and relu
  all_differ({{"itself", with([](small_graph&) {})},
              {"kind", with([](small_graph& g) { g.nodes[2].kind = op::softmax; })},
              {"function", with([](small_graph& g) { g.nodes[2].function = function::silu; })},
              {"device", with([](small_graph& g) { g.nodes[2].device = 1; })},
              {"channels", with([](small_graph& g) { g.tensors[g.nodes[2].output].shape.channels = 9; })},
              {"height", with([](small_graph& g) { g.tensors[g.nodes[2].output].shape.height = 9; })},
              {"width", with([](small_graph& g) { g.tensors[g.nodes[2].output].shape.width = 9; })},
              {"an input", with([](small_graph& g) { g.edges[g.nodes[2].first_input] = 0; })},
              {"no input", with([](small_graph& g) { g.nodes[2].inputs = 0; })},
              {"a window's height", with([](small_graph& g) { g.nodes[1].window.height = 9; })},
              {"a window's width", with([](small_graph& g) { g.nodes[1].window.width = 9; })},
              {"stride", with([](small_graph& g) { g.nodes[1].window.stride = 9; })},
              {"a stride of columns", with([](small_graph& g) { g.nodes[1].window.column_stride = 9; })},
              {"dilation of rows", with([](small_graph& g) { g.nodes[1].window.row_dilation = 9; })},
              {"dilation of columns", with([](small_graph& g) { g.nodes[1].window.column_dilation = 9; })},
              {"another one of columns", with([](small_graph& g) { g.nodes[1].window.column_dilation = 8; })},
              {"rows of padding", with([](small_graph& g) { g.nodes[1].window.pad_top = 9; })},
              {"columns of padding", with([](small_graph& g) { g.nodes[1].window.pad_left = 9; })},
              {"padding not counted", with([](small_graph& g) { g.nodes[1].counts_padding = false; })},
              {"a slice's first channel", with([](small_graph& g) { g.nodes[2].first_channel = 9; })},
              {"a power", with([](small_graph& g) { g.nodes[2].power = 9; })},
              {"groups", with([](small_graph& g) { g.nodes[2].groups = 9; })},
              {"rate", with([](small_graph& g) { g.nodes[2].rate = 9; })},
              {"epsilon", with([](small_graph& g) { g.nodes[2].epsilon = 9; })},
              {"momentum", with([](small_graph& g) { g.nodes[2].momentum = 9; })},
              {"a kernel's filters", with([](small_graph& g) { g.parameters[0].dims[0] = 9; })},
              {"its channels", with([](small_graph& g) { g.parameters[0].dims[1] = 9; })},
              {"its height", with([](small_graph& g) { g.parameters[0].dims[2] = 9; })},
              {"its width", with([](small_graph& g) { g.parameters[0].dims[3] = 9; })},
              {"its role", with([](small_graph& g) { g.parameters[0].role = role::gamma; })},
              {"its node", with([](small_graph& g) { g.parameters[0].node = 9; })},
              {"its rank", with([](small_graph& g) { g.parameters[0].rank = 9; })},
              {"its fan_in", with([](small_graph& g) { g.parameters[0].fan_in = 9; })},
              {"its fan_out", with([](small_graph& g) { g.parameters[0].fan_out = 9; })},
              {"no parameters", with([](small_graph& g) { g.nodes[1].parameters = 0; })}});
}

TEST_CASE("fingerprints: the name and every fact of a user's own operation count", "[fingerprint]") {
  static custom_op own;
  auto const changed = [](auto change) {
    own = {.name = "own"};
    change(own.facts);
    return with([](small_graph& g) {
      g.nodes[2].kind = op::custom;
      g.nodes[2].custom = &own;
    });
  };
  using operations::row;
  all_differ({{"itself", changed([](row&) {})},
              {"name", changed([](row&) { own.name = "another"; })},
              {"inputs", changed([](row& r) { r.inputs = 2; })},
              {"or_more", changed([](row& r) { r.or_more = true; })},
              {"parameters", changed([](row& r) { r.parameters = 1; })},
              {"roles", changed([](row& r) { r.roles[3] = role::beta; })},
              {"takes_flat", changed([](row& r) { r.takes_flat = true; })},
              {"output", changed([](row& r) { r.output = operations::makes::same_shape; })},
              {"options", changed([](row& r) { r.options = operations::options::slope; })},
              {"gradients", changed([](row& r) { r.gradients = operations::gradient_steps::none; })},
              {"reads", changed([](row& r) { r.reads[0] = operations::values::output; })},
              {"reads for the second", changed([](row& r) { r.reads[1] = operations::values::output; })},
              {"parameters_read", changed([](row& r) { r.parameters_read = 1; })},
              {"kept", changed([](row& r) { r.kept = operations::kept::argmax; })},
              {"forward_in_place", changed([](row& r) { r.forward_in_place = true; })},
              {"gradient_in_place", changed([](row& r) { r.gradient_in_place = true; })},
              {"gradient_over_input", changed([](row& r) { r.gradient_over_input = true; })},
              {"slices", changed([](row& r) { r.slices = operations::slices::always; })},
              {"renames", changed([](row& r) { r.renames = operations::renames::in_inference; })},
              {"mixes_samples", changed([](row& r) { r.mixes_samples = true; })},
              {"gives_probabilities", changed([](row& r) { r.gives_probabilities = false; })}});
}

TEST_CASE("fingerprints: every number of a rule and of an engine's options counts, but not the seed", "[fingerprint]") {
  all_differ({{"itself", with([](update_rule&) {})},
              {"momentum", with([](update_rule& u) { u.momentum = 0.5; })},
              {"weight_decay", with([](update_rule& u) { u.weight_decay = 0.5; })},
              {"first_decay", with([](update_rule& u) { u.first_decay = 0.5; })},
              {"second_decay", with([](update_rule& u) { u.second_decay = 0.5; })},
              {"epsilon", with([](update_rule& u) { u.epsilon = 0.5; })},
              {"clip.norm", with([](update_rule& u) { u.clip.norm = 0.5; })},
              {"clip.value", with([](update_rule& u) { u.clip.value = 0.5; })},
              {"clip.norm_epsilon", with([](update_rule& u) { u.clip.norm_epsilon = 0.5; })},
              {"adam", with([](update_rule& u) { u.method = update_method::adam; })},
              {"rmsprop", with([](update_rule& u) { u.method = update_method::rmsprop; })},
              {"a corrected root", with([](update_rule& u) { u.where = epsilon_place::beside_corrected_root; })},
              {"in the root", with([](update_rule& u) { u.where = epsilon_place::in_root; })},
              {"nesterov", with([](update_rule& u) { u.nesterov = true; })},
              {"rate_in_velocity", with([](update_rule& u) { u.rate_in_velocity = !u.rate_in_velocity; })},
              {"decoupled", with([](update_rule& u) { u.decoupled = true; })},
              {"centered", with([](update_rule& u) { u.centered = true; })}});
  all_differ({{"itself", with([](engine_options&) {})},
              {"the rule", with([](engine_options& o) { o.update.momentum = 0.5; })},
              {"batch_norm_momentum", with([](engine_options& o) { o.batch_norm_momentum = 0.5; })},
              {"label_smoothing", with([](engine_options& o) { o.label_smoothing = 0.5; })},
              {"loss", with([](engine_options& o) { o.loss = loss::mean_squared_error; })},
              {"running variances", with([](engine_options& o) { o.unbiased_running_variance = true; })},
              {"micro_batches", with([](engine_options& o) { o.micro_batches = 2; })}});
  CHECK(with([](engine_options& o) { o.seed = 7; }) == with([](engine_options&) {}));
}

TEST_CASE("fingerprints: those in files that were written earlier stay what they are", "[fingerprint]") {
  CHECK(detail::fingerprint_of(network<image<3, 32, 32>, minigooglenet<10>>::view(), 0) == 0xaf95fc474c039fc3);
  CHECK(made_of<sigmoid, on<device<1>, relu>, on<device<2>, dsl::tanh>>(0) == 0xaa1ec0acb81d6b6c);
  CHECK(made_of<add<identity, sequential<elu<0.5>, dropout<0.25>>>, batch_norm<0.9>, avg_pool2d<2>, flatten, dense<4>,
                softmax>(0) == 0x6fc57f35b3dea554);
  update_rule const momentum = sgd{.learning_rate = 5e-3, .momentum = 0.9}.rule();
  CHECK(detail::fingerprint_of(momentum, 0) == 0x471710eb4007e82d);
  CHECK(detail::fingerprint_of(adam{}.rule(), 0) == 0xdfa48ba59f8b7669);
  engine_options const options{.update = momentum};
  CHECK(detail::fingerprint_of(options, small::view(), 0) == 0x869efaad7a95da98);
  all_differ({{"version 0", detail::fingerprint_of(momentum, 0)}, {"version 1", detail::fingerprint_of(momentum, 1)}});
  all_differ({{"version 0", detail::fingerprint_of(options, small::view(), 0)},
              {"version 1", detail::fingerprint_of(options, small::view(), 1)}});
  all_differ({{"version 0", detail::fingerprint_of(small::view(), 0)},
              {"version 1", detail::fingerprint_of(small::view(), 1)}});
}

TEST_CASE("fingerprints: every label and every byte of a data set counts", "[fingerprint]") {
  auto const made = [](std::vector<std::uint8_t> pixels, std::vector<std::int32_t> labels) {
    return in_memory_dataset({1, 1, 9}, 3, std::move(pixels), std::move(labels));
  };
  std::vector<std::uint8_t> const pixels(18, 50);
  dataset const data = made(pixels, {0, 1});
  std::vector<print> all{{"itself", fingerprint(data)},
                         {"the first", fingerprint(data.first(1))},
                         {"the first label", fingerprint(made(pixels, {2, 1}))},
                         {"the last label", fingerprint(made(pixels, {0, 2}))}};
  for (std::size_t i = 0; i < pixels.size(); ++i) {
    std::vector<std::uint8_t> other = pixels;
    ++other[i];
    all.push_back({"byte " + std::to_string(i), fingerprint(made(other, {0, 1}))});
  }
  for (std::size_t i = 0; i <= 9; ++i) {
    dataset normalised = data;
    std::vector<float> mean(9, 0.5F);
    if (i > 0) mean[i - 1] = 0.25F;
    normalised.mean = std::make_shared<std::vector<float> const>(mean);
    all.push_back({"mean " + std::to_string(i), fingerprint(normalised)});
  }
  all_differ(all);
  CHECK(fingerprint(made(pixels, {0, 1})) == fingerprint(data));
}

TEST_CASE("fingerprints: of a large data set they look at pictures from the first to the last", "[fingerprint]") {
  constexpr std::int64_t mib = 1 << 20;
  struct wanted {
    std::int64_t size, bytes, count;
  };
  for (wanted const& w : std::initializer_list<wanted>{{0, 3072, 0},
                                                       {1, 3072, 1},
                                                       {50'000, 3072, 50'000},
                                                       {87'382, 3072, 87'382},
                                                       {87'383, 3072, 87'382},
                                                       {10'000'000, 3072, 87'382},
                                                       {3, 128 * mib, 3},
                                                       {4, 128 * mib, 3},
                                                       {1, 256 * mib, 1},
                                                       {9, 256 * mib, 2},
                                                       {1, 300 * mib, 1},
                                                       {2, 300 * mib, 2},
                                                       {9, 300 * mib, 2},
                                                       {9, 3000 * mib, 2}}) {
    INFO(w.size << " of " << w.bytes << " bytes");
    detail::pictures_looked_at const some{w.size, w.bytes};
    CHECK(some.count() == w.count);
    if (w.count == 0) continue;
    CHECK(some[0] == 0);
    CHECK(some[w.count - 1] == w.size - 1);
    std::int64_t widest = 0, narrowest = w.size;  // the widest and narrowest gap between two sampled positions
    for (std::int64_t i = 1; i < w.count; ++i) {
      widest = std::max(widest, some[i] - some[i - 1]);
      narrowest = std::min(narrowest, some[i] - some[i - 1]);
    }
    if (w.count == 1) continue;
    CHECK(narrowest >= 1);
    CHECK(widest - narrowest <= 1);
  }
}

TEST_CASE("the fingerprint of an augmentation takes no longer for a run of two billion epochs", "[hostile]") {
  struct counted {
    std::shared_ptr<int> draws;
    transform draw(std::uint64_t, int epoch, std::int64_t, shape const&) const {
      if (++*draws > 100'000) throw option_error("too many");
      return {.dy = static_cast<float>(epoch)};
    }
  };
  auto const draws = std::make_shared<int>(0);
  augmentation const policy = counted{draws};
  std::uint64_t const most = detail::fingerprint_of(policy, {3, 32, 32}, 0x7fffffff);
  CHECK(*draws == 4 * 64 + 9'996);
  CHECK(detail::fingerprint_of(policy, {3, 32, 32}, 10'000) == most);
  CHECK(detail::fingerprint_of(policy, {3, 32, 32}, 9'999) != most);
}

TEST_CASE("fingerprints of data do not depend on the order of with_input", "[fingerprint]") {
  dataset const data = in_memory_values({1}, {1, 3}, 1, {0, 0});
  auto const add = [](dataset const& to, char const* name, float x) { return with_input(to, name, {1}, {x, 2}); };
  std::uint64_t const both = detail::fingerprint_of(add(add(data, "a", 5), "b", 7));
  CHECK(detail::fingerprint_of(add(add(data, "b", 7), "a", 5)) == both);
  CHECK(detail::fingerprint_of(add(add(data, "a", 7), "b", 5)) != both);
}
