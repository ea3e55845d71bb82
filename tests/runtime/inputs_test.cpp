// SPDX-License-Identifier: MIT
#include "support/one_batch.hpp"
#include "support/catch.hpp"
#include "support/words.hpp"

#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <dsl/data/with_input.hpp>
#include <dsl/dsl.hpp>
#include <dsl/executors/native.hpp>
#include <dsl/placement.hpp>
#include <dsl/towers.hpp>
#include <dsl/training/fingerprint.hpp>
#include "support/random_graph.hpp"
#include "support/warnings.hpp"

// Tests samples with several inputs: what networks accept, what batches contain, and that all ways to compute them
// agree.

namespace {

using namespace dsl;
using namespace dsl::test;

struct parts {
  std::vector<float> pictures, rows, pairs;
  std::vector<std::int32_t> labels;
};

/// Pictures of 2x4x4, rows of 3 numbers and maps of 1x4x4; the class depends on all three.
parts draw(int samples) {
  dice d(3);
  parts p;
  auto const real = [&] { return static_cast<float>(d.below(2001)) / 1000 - 1; };
  for (int n = 0; n < samples; ++n) {
    for (int i = 0; i < 32; ++i) p.pictures.push_back(real());
    for (int i = 0; i < 3; ++i) p.rows.push_back(real());
    for (int i = 0; i < 16; ++i) p.pairs.push_back(real());
    float const sum = p.pictures[p.pictures.size() - 1] + 2 * p.rows.back() + p.pairs.back();
    p.labels.push_back(sum > 0);
  }
  return p;
}

dataset drawn(int samples) {
  parts p = draw(samples);
  dataset const pictures = in_memory_classes({2, 4, 4}, std::move(p.pictures), 2, std::move(p.labels));
  // in another order than the network's
  return with_input(with_input(pictures, "map", {1, 4, 4}, std::move(p.pairs)), "row", {3}, std::move(p.rows));
}

template <int Device>
using mixed_on =
    network<image<2, 4, 4>,
            concat<sequential<conv2d<6, 3>, relu, flatten>,
                   on<device<Device>, named_input<"row", features<3>>, dense<20>, relu>,
                   sequential<named_input<"map", image<1, 4, 4>>, conv2d<17, 3>, relu, global_avg_pool2d, flatten>>,
            dropout<0.1>, dense<2>, softmax>;
using mixed = mixed_on<0>;

static_assert(further_inputs(mixed::view(), mixed::view().size.nodes) == 2);
static_assert(mixed::trains_in<16, 1_MiB>);

using dsl::test::refuses;

}  // namespace

TEST_CASE("inputs: each goes where its name is") {
  using model = network<features<2>, concat<dense<1>, sequential<named_input<"b", features<1>>, dense<1>>,
                                            sequential<named_input<"a", features<3>>, dense<1>>>>;
  trainer t = compile<model>(reference{}, sgd{}, {.loss = loss::mean_squared_error, .verify = &verify});
  std::vector<float> const ones(3, 1.0F), zero(1);
  for (int k = 0; k < t.graph().size.parameters; ++k)
    t.engine().write_parameter(k, t.graph().parameters[k].role == role::kernel ? ones.data() : zero.data());
  dataset data = in_memory_values({2}, {1, 2, 3, 4}, 3, std::vector<float>(6));
  data = with_input(with_input(data, "a", {3}, {100, 200, 300, 1, 1, 1}), "b", {1}, {7, 8});
  CHECK(t.predict(data) == std::vector<float>{3, 7, 600, 7, 8, 3});
  CHECK(t.predict(data.subset(1, 1)) == std::vector<float>{7, 8, 3});
  dataset const late =
      with_input(with_input(in_memory_values({2}, {1, 2, 3, 4}, 3, std::vector<float>(6)).subset(1, 1), "b", {1}, {8}),
                 "a", {3}, {1, 1, 1});
  CHECK(t.predict(late) == std::vector<float>{7, 8, 3});
  std::vector<float> const x{1, 2}, a{1, 2, 3}, b{9};
  std::vector<float> y(3);
  t.predict_on_batch({{"b", b}, {"", x}, {"a", a}}, y);
  CHECK(y == std::vector<float>{3, 9, 6});
}

TEST_CASE("inputs: batches bring all of them, normalised") {
  dataset train = with_input(in_memory_values({1}, {1, 3}, 1, {0, 0}), "b", {2, 1, 1}, {10, 5, 20, 5});
  dataset test = with_input(in_memory_values({1}, {2}, 1, {0}), "b", {2, 1, 1}, {15, 6});
  normalize(train, test);
  CHECK(*(*test.further)[0].mean == std::vector<float>{15, 5});
  CHECK(*(*test.further)[0].deviation == std::vector<float>{5, 1});
  for (bool const cache : {false, true}) {
    batch_loader loader(train, {.batch_size = 2, .shuffle = false, .cache = cache, .values = 1});
    loader.start(0);
    batch const& b = *loader.next();
    REQUIRE(b.inputs.size() > 1);
    CHECK(std::vector<float>(b.inputs[1], b.inputs[1] + 4) == std::vector<float>{-1, 0, 1, 0});
  }
  batch_loader loader(test, {.batch_size = 1, .values = 1});
  loader.start(0);
  CHECK(loader.next()->inputs[1][1] == 1);
  CHECK(fingerprint(train) != fingerprint(with_input(in_memory_values({1}, {1, 3}, 1, {0, 0}), "c", {1}, {1, 2})));
}

TEST_CASE("inputs: mean and deviation must fit the numbers, and be those of fit") {
  auto const with = [](dsl::shape const& sample, std::size_t numbers) {
    return with_input(in_memory_values({1}, {1, 3}, 1, {0, 0}), "b", sample, std::vector<float>(numbers, 4));
  };
  dataset train = with({2}, 4), large = with({3000}, 6000), turned = with({1, 2, 1}, 4);
  dataset const before = large;
  refuses<data_error>([&] { normalize(train, large); }, {"input b", "2x1x1", "found 3000x1x1"});
  CHECK((large.mean == before.mean && large.further == before.further));
  refuses<data_error>([&] { normalize_channels(train, turned); }, {"input b", "1x2x1"});
  for (bool const deviation : {false, true}) {
    std::vector<further_input> wrong = *large.further;
    (deviation ? wrong[0].deviation : wrong[0].mean) = std::make_shared<std::vector<float> const>(2, 1.0F);
    dataset other = large;
    other.further = std::make_shared<std::vector<further_input> const>(wrong);
    refuses<option_error>([&] { batch_loader loader(other, {.batch_size = 1, .values = 1}); }, {"input", "found 2"});
  }

  using model = network<features<1>, concat<identity, named_input<"b", features<2>>>, dense<1>>;
  trainer t = compile<model>(reference{}, sgd{}, {.loss = loss::mean_squared_error});
  dataset const plain = with({2}, 4);
  dataset other = plain;
  normalize(train);
  other.mean = train.mean, other.deviation = train.deviation;
  auto const quiet = warnings([&] {
    t.fit(train, {.batch_size = 2});
    t.evaluate(train);
  });
  CHECK(quiet.empty());
  refuses<option_error>([&] { t.predict(other); },
                        {"predict: the data set must have the normalisation", "no mean of input \"b\""});
  CHECK(t.predict(plain) == t.predict(train));
}

TEST_CASE("inputs: towers, micro-batches, devices and executors learn the same, to rounding") {
  dataset const train = drawn(66), test = drawn(7);
  fit_options const fit{.epochs = 2, .batch_size = 11, .validation = &test};
  compile_options const checked{.verify = &verify};
  trainer one = compile<mixed>(reference<double>{}, sgd{.learning_rate = 0.1}, checked);
  history const a = one.fit(train, fit);
  CHECK(a.epochs[1].train.loss < a.epochs[0].train.loss);
  auto const agrees = [&](trainer t, double epsilon) {
    history const b = t.fit(train, fit);
    for (std::size_t e = 0; e < 2; ++e) {
      CHECK(a.epochs[e].train.loss == approx(b.epochs[e].train.loss).epsilon(epsilon));
      CHECK(a.epochs[e].validation.loss == approx(b.epochs[e].validation.loss).epsilon(epsilon));
    }
  };
  agrees(compile<replicate<3, mixed>>(reference<double>{}, sgd{.learning_rate = 0.1}, checked), 1e-9);
  agrees(compile<pipeline<4, mixed>>(reference<double>{}, sgd{.learning_rate = 0.1}, checked), 1e-9);
  agrees(compile<mixed_on<1>>(reference<double>{}, sgd{.learning_rate = 0.1}, checked), 1e-9);
  agrees(compile<replicate<2, mixed_on<1>>>(reference<double>{}, sgd{.learning_rate = 0.1}, checked), 1e-9);
  agrees(compile<mixed>(native{}, sgd{.learning_rate = 0.1}, checked), 1e-3);
  parts p = draw(5);
  double const alone = one.train_on_batch({{"", p.pictures}, {"row", p.rows}, {"map", p.pairs}}, p.labels).loss;
  trainer three = compile<replicate<3, mixed>>(reference<double>{}, sgd{.learning_rate = 0.1}, checked);
  three.fit(train, fit);
  CHECK(three.train_on_batch({{"map", p.pairs}, {"row", p.rows}, {"", p.pictures}}, p.labels).loss ==
        approx(alone).epsilon(1e-9));
}

TEST_CASE("inputs: it learns what neither input tells alone") {
  dataset const train = drawn(600), test = drawn(100);
  trainer t = compile<mixed>(native{}, adam{.learning_rate = 0.01});
  CHECK(t.fit(train, {.epochs = 30, .batch_size = 20, .validation = &test}).epochs.back().validation.acc > 0.85);
}

TEST_CASE("inputs: what does not fit is refused") {
  parts p = draw(4);
  dataset const pictures = in_memory_classes({2, 4, 4}, p.pictures, 2, p.labels), all = drawn(4);
  dataset const half = with_input(pictures, "row", {3}, p.rows);
  trainer t = compile<mixed>(reference{}, sgd{});
  fit_options const fit{.batch_size = 2};
  refuses<option_error>([&] { t.fit(pictures, fit); },
                        {"an input \"row\", but the data set has only the first input;", "with_input"});
  refuses<option_error>([&] { t.fit(half, fit); },
                        {"an input \"map\", but the data set has only the first input and \"row\";"});
  refuses<option_error>([&] { t.predict(with_input(half, "map", {16}, p.pairs)); },
                        {"input \"map\" is 1x4x4", "is 16x1x1"});
  refuses<option_error>([&] { t.evaluate(with_input(all, "more", {1}, {1, 2, 3, 4})); },
                        {"besides the first, the network has 2 inputs", "has 3: \"map\", \"row\", \"more\""});
  using plain = network<image<2, 4, 4>, flatten, dense<2>, softmax>;
  refuses<option_error>([&] { compile<plain>(reference{}, sgd{}).fit(half, fit); },
                        {"the network has 0 inputs, but the data set has 1: \"row\"", "named_input"});
  dataset normal = all;
  normalize(normal);
  dataset other = all;
  other.mean = normal.mean, other.deviation = normal.deviation;
  refuses<option_error>([&] { t.fit(normal, {.batch_size = 2, .validation = &other}); },
                        {"input \"map\"", "normalize"});

  refuses<data_error>([&] { with_input(half, "row", {1}, {1, 2, 3, 4}); }, {"row twice"});
  refuses<data_error>([&] { with_input(half, "", {1}, {1, 2, 3, 4}); }, {"name"});
  refuses<data_error>([&] { with_input(half, "more", {1}, {1, 2, 3}); }, {"4 samples", "found 3"});
  refuses<data_error>([&] { with_input(half, "more", {1}, {1, 2, NAN, 3}); }, {"nan", "sample 2"});

  std::vector<float> y(8);
  std::uint64_t const steps = t.steps();
  refuses<option_error>([&] { t.train_on_batch(p.pictures, p.labels); },
                        {"train_on_batch", "besides the first: \"row\", \"map\"; found only the first"});
  CHECK(t.steps() == steps);
  refuses<option_error>([&] { t.predict_on_batch(p.pictures, y); }, {"predict_on_batch", "besides the first"});
  int const program = t.engine().prepare(mode::inference, 4);
  refuses<option_error>([&] { t.engine().run(program, test::one_batch{p.pictures.data(), {}, 4}); },
                        {"the network's 3 inputs; found 1", ".inputs"});
  refuses<data_error>([&] { t.predict_on_batch({{"", p.pictures}, {"row", p.rows}}, y); },
                      {"the input \"map\" is missing"});
  refuses<data_error>(
      [&] { t.predict_on_batch({{"", p.pictures}, {"row", p.rows}, {"map", p.pairs}, {"map", p.pairs}}, y); },
      {"the input \"map\" is given 2 times"});
  refuses<data_error>(
      [&] { t.predict_on_batch({{"", p.pictures}, {"row", p.rows}, {"map", p.pairs}, {"x", p.pairs}}, y); },
      {"3 inputs; found 4"});
  refuses<data_error>([&] { t.predict_on_batch({{"", p.pictures}, {"row", p.pairs}, {"map", p.pairs}}, y); },
                      {"row of a batch of 4 must be 12 numbers of type float, 3 for each sample", "64"});
}
