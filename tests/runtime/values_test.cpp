// SPDX-License-Identifier: MIT
#include "support/catch.hpp"
#include "support/words.hpp"

#include <cmath>
#include <cstdint>
#include <fstream>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <dsl/callbacks.hpp>
#include <dsl/data/csv.hpp>
#include <dsl/dsl.hpp>
#include <dsl/executors/host/value_loss.hpp>
#include <dsl/towers.hpp>
#include <dsl/training/confusion_matrix.hpp>
#include <dsl/training/regression_scores.hpp>
#include <dsl/training/fingerprint.hpp>
#include "support/random_graph.hpp"
#include "support/temporary_directory.hpp"

// Tests floats as data and values as targets: what a batch contains, what each loss is, and that a network learns from
// them.

namespace {

using namespace dsl;
using namespace dsl::test;

/// y = 2 a - 3 b + c / 50, with a, b in [0, 1) and c in [0, 100).
dataset line(int samples, int values = 1) {
  dice d(3);
  std::vector<float> numbers, wanted;
  auto const real = [&] { return static_cast<float>(d.below(10'000)) / 10'000; };
  for (int i = 0; i < samples; ++i) {
    float const a = real(), b = real(), c = 100 * real();
    numbers.insert(numbers.end(), {a, b, c});
    for (int v = 0; v < values; ++v) wanted.push_back(static_cast<float>(v + 1) * (2 * a - 3 * b + c / 50));
  }
  return in_memory_values({3}, std::move(numbers), values, std::move(wanted));
}

using linear = network<features<3>, dense<1>>;
using hidden = network<features<3>, dense<16>, relu, dense<2>>;

using dsl::test::refuses;

}  // namespace

TEST_CASE("each loss of values is its formula, and the mean over samples and outputs") {
  struct row {
    loss kind;
    double costs[4];
  };
  // outputs 0.25, 0.5, 4, -3 for 0, 0.5, 1, -1
  for (row const& r : {row{loss::mean_squared_error, {0.0625, 0, 9, 4}},
                       row{loss::mean_absolute_error, {0.25, 0, 3, 2}}, row{loss::huber, {0.03125, 0, 2.5, 1.5}}}) {
    double const outputs[] = {0.25, 0.5, 4, -3}, wanted[] = {0, 0.5, 1, -1};
    for (int i = 0; i < 4; ++i) CHECK(host::value_loss_at(r.kind, false, outputs[i], wanted[i]).cost == r.costs[i]);
  }
  host::value_loss const half = host::value_loss_at(loss::binary_crossentropy, false, 0.25, 0.5);
  CHECK(half.cost == approx(-(std::log(0.25) + std::log(0.75)) / 2));
  CHECK(half.slope == approx((0.25 - 0.5) / (0.25 * 0.75)));
  host::value_loss const sure = host::value_loss_at(loss::binary_crossentropy, true, 1, 0);  // wrong and confident
  CHECK(sure.slope == 1);
  CHECK(sure.cost == approx(25 * std::log(2)));
  CHECK(std::isfinite(host::value_loss_at(loss::binary_crossentropy, false, 1, 0).slope));
  for (loss l : {loss::mean_squared_error, loss::mean_absolute_error, loss::huber, loss::binary_crossentropy})
    CHECK(std::isnan(host::value_loss_at(l, false, std::nan(""), 0).cost));

  double metrics[2];
  double const y[] = {0.25, 0.5, 4, -3};
  float const wanted[] = {0, 0.5, 1, -1};
  double gradient[4];
  shape const two{2};
  host::compute_value_loss<double>(loss::mean_squared_error, false, {y, two, 2, 1, 2, 0}, wanted, metrics,
                                   {gradient, two, 2, 1, 2, 0});
  CHECK(metrics[0] == 0.0625 / 2 + 13.0 / 2);
  CHECK(metrics[1] == 0);
  CHECK(gradient[2] == 2 * 3.0 / 4);
}

TEST_CASE("batches bring floats, normalised, and values") {
  dataset train = in_memory_values({2}, {1, 10, 3, 10, 5, 10}, 1, {7, 8, 9});
  dataset test = in_memory_values({2}, {9, 11}, 1, {0});
  normalize(train, test);
  float const deviation = static_cast<float>(std::sqrt(8.0 / 3));
  CHECK(*train.mean == std::vector<float>{3, 10});
  CHECK(*train.deviation == std::vector<float>{deviation, 1});  // a constant is divided by 1
  CHECK(test.mean == train.mean);
  for (bool const cache : {false, true}) {
    batch_loader loader(train, {.batch_size = 2, .shuffle = false, .cache = cache, .values = 1});
    for (int epoch = 0; epoch < 2; ++epoch) {
      loader.start(epoch);
      batch const* b = loader.next();
      REQUIRE(b);
      CHECK(std::vector<float>(b->inputs[0], b->inputs[0] + 4) == std::vector<float>{-2 / deviation, 0, 0, 0});
      CHECK(b->targets[0].values[1] == 8);
      CHECK(b->targets[0].labels == nullptr);
      CHECK(loader.next()->targets[0].values[0] == 9);
    }
  }
  dataset const views = train.subset(1, 2);
  CHECK(*views.wanted(0) == 8);
  CHECK(fingerprint(views) != fingerprint(train));
}

TEST_CASE("a class becomes values where the loss wants them") {
  dataset const three = in_memory_classes({1}, {0, 0, 0}, 3, {2, 0, 1});
  batch_loader rows(three, {.batch_size = 3, .shuffle = false, .values = 3});
  rows.start(0);
  float const* const v = rows.next()->targets[0].values;
  CHECK(std::vector<float>(v, v + 9) == std::vector<float>{0, 0, 1, 1, 0, 0, 0, 1, 0});
  dataset const two = in_memory_classes({1}, {0, 0}, 2, {1, 0});
  batch_loader bits(two, {.batch_size = 2, .shuffle = false, .values = 1});
  bits.start(0);
  float const* const w = bits.next()->targets[0].values;
  CHECK(std::vector<float>(w, w + 2) == std::vector<float>{1, 0});
  refuses<option_error>([&] { batch_loader wrong(three, {.batch_size = 3, .values = 2}); },
                        {".values must be 3, the number of classes; found 2"});
  refuses<option_error>([&] { batch_loader wrong(three, {.batch_size = 3, .values = -1}); },
                        {".values must be 3, the number of classes; found -1"});
  refuses<option_error>([&] { batch_loader wrong(two, {.batch_size = 2, .targets = {{two, -1}}}); },
                        {".values must be 2 or 1; found -1"});
}

TEST_CASE("pictures of floats are shifted and flipped as pictures of bytes are") {
  std::vector<std::uint8_t> bytes;
  std::vector<float> floats;
  dice d(5);
  for (int i = 0; i < 4 * 2 * 5 * 6; ++i) bytes.push_back(static_cast<std::uint8_t>(d.below(256)));
  for (std::uint8_t b : bytes) floats.push_back(b);
  dataset a = in_memory_dataset({2, 5, 6}, 2, bytes, {0, 1, 0, 1});
  dataset b = in_memory_classes({2, 5, 6}, std::move(floats), 2, {0, 1, 0, 1});
  a.mean = b.mean = mean_picture(a);
  pipeline_options const options{.batch_size = 4, .augment = shift_and_flip{}};
  batch_loader first(a, options), second(b, options);
  first.start(1), second.start(1);
  float const *x = first.next()->inputs[0], *y = second.next()->inputs[0];
  CHECK(std::vector<float>(x, x + 240) == std::vector<float>(y, y + 240));
}

TEST_CASE("a network learns values") {
  dataset train = line(400), test = train.subset(300, 100);
  train = train.first(300);
  normalize(train, test);
  for (loss l : {loss::mean_squared_error, loss::huber, loss::mean_absolute_error}) {
    INFO("loss " << static_cast<int>(l));
    trainer t = compile<linear>(reference{}, adam{.learning_rate = 0.02}, {.loss = l, .verify = &verify});
    history const h = t.fit(train, {.epochs = 60, .batch_size = 25, .validation = &test});
    CHECK(h.epochs.back().validation.loss < h.epochs.front().validation.loss / 20);
    CHECK_FALSE(h.epochs.back().train.has_acc());
    CHECK_FALSE(h.epochs.back().validation.has_acc());
    regression_scores scores;
    dsl::scores const s = t.evaluate(test, 64, &scores);
    CHECK_FALSE(s.has_acc());
    CHECK(scores.r2() > 0.9);
    std::vector<float> const y = t.predict(test, 7);
    double distance = 0, square = 0;
    for (std::int64_t i = 0; i < test.size; ++i) {
      double const d = static_cast<double>(y[static_cast<std::size_t>(i)]) - static_cast<double>(*test.wanted(i));
      distance += std::abs(d), square += d * d;
    }
    CHECK(scores.mean_absolute_error() == approx(distance / 100));
    CHECK(scores.mean_squared_error() == approx(square / 100));
    if (l == loss::mean_absolute_error) CHECK(s.loss == approx(scores.mean_absolute_error()));
  }
}

TEST_CASE("binary cross-entropy learns a class of two, and several labels") {
  dataset const values = line(300);
  std::vector<float> numbers(values.reals(0), values.reals(0) + 900), labels;
  std::vector<std::int32_t> classes;
  for (std::int64_t i = 0; i < 300; ++i) {
    classes.push_back(*values.wanted(i) > 0.5F);
    labels.insert(labels.end(), {static_cast<float>(classes.back()), static_cast<float>(1 - classes.back())});
  }
  compile_options const binary{.loss = loss::binary_crossentropy};
  dataset two = in_memory_classes({3}, std::span<float const>(numbers), 2, classes);
  normalize(two);
  trainer one = compile<network<features<3>, dense<1>, sigmoid>>(reference{}, adam{.learning_rate = 0.05}, binary);
  CHECK(one.fit(two, {.epochs = 40, .batch_size = 20}).epochs.back().train.acc > 0.95);
  dataset several = in_memory_values({3}, std::span<float const>(numbers), 2, labels);
  normalize(several);
  trainer both = compile<network<features<3>, dense<2>, sigmoid>>(reference{}, adam{.learning_rate = 0.05}, binary);
  CHECK(both.fit(several, {.epochs = 40, .batch_size = 20}).epochs.back().train.acc > 0.95);
  CHECK(both.evaluate(several).acc > 0.95);
}

TEST_CASE("towers learn the same values as one device, to rounding") {
  dataset const train = [] {
    dataset d = line(66, 2);
    normalize(d);
    return d;
  }();
  fit_options const fit{.epochs = 3, .batch_size = 22, .validation = &train};
  compile_options const mse{.loss = loss::mean_squared_error};
  trainer one = compile<hidden>(reference<double>{}, sgd{.learning_rate = 0.05}, mse);
  trainer three = compile<replicate<3, hidden>>(reference<double>{}, sgd{.learning_rate = 0.05}, mse);
  history const a = one.fit(train, fit), b = three.fit(train, fit);
  for (std::size_t e = 0; e < 3; ++e) {
    CHECK(a.epochs[e].train.loss == approx(b.epochs[e].train.loss).epsilon(1e-9));
    CHECK(a.epochs[e].validation.loss == approx(b.epochs[e].validation.loss).epsilon(1e-9));
  }
}

TEST_CASE("batches of one's own have counts that are checked") {
  trainer t = compile<hidden>(reference{}, sgd{}, {.loss = loss::mean_squared_error});
  std::vector<float> const x(12, 0.5F), y(8, 1.0F);
  std::vector<float> out(8);
  double const before = t.train_on_batch(x, y).loss;
  CHECK(t.train_on_batch(x, y).loss < before);
  t.predict_on_batch(x, out);
  CHECK(out[0] == out[6]);
  std::vector<float> const short_x(11);
  refuses<data_error>([&] { t.train_on_batch(short_x, y); }, {"samples", "4", "3", "11"});
  refuses<data_error>([&] { t.predict_on_batch(short_x, out); }, {"samples", "11"});
  out.resize(7);
  refuses<data_error>([&] { t.predict_on_batch(x, out); }, {"outputs", "7"});
  trainer c = compile<network<features<3>, dense<2>, softmax>>(reference{}, sgd{});
  refuses<option_error>([&] { c.train_on_batch(x, y); }, {"categorical_crossentropy", "needs class labels"});
  std::vector<std::int32_t> const labels(4);
  CHECK(std::isfinite(c.train_on_batch(x, labels).loss));
  trainer h = compile<hidden>(reference{}, sgd{}, {.loss = loss::huber});
  refuses<option_error>([&] { h.train_on_batch(x, labels); },
                        {"needs float targets", "found std::int32_t labels; pass floats"});
}

TEST_CASE("a batch given by addresses trains as one given by spans") {
  std::vector<float> const x(12, 0.5F), y{1, 2, 3, 4, 5, 6, 7, 8};
  trainer spans = compile<hidden>(reference{}, sgd{}, {.loss = loss::mean_squared_error});
  trainer addresses = compile<hidden>(reference{}, sgd{}, {.loss = loss::mean_squared_error});
  for (int step = 0; step < 2; ++step)
    CHECK(spans.train_on_batch(x, y).loss == addresses.train_on_batch(x.data(), y.data(), 4).loss);
  trainer c = compile<network<features<3>, dense<2>, softmax>>(reference{}, sgd{});
  refuses<option_error>([&] { c.train_on_batch(x.data(), y.data(), 4); }, {"needs class labels"});
}

TEST_CASE("an empty batch is called that") {
  trainer t = compile<hidden>(reference{}, sgd{}, {.loss = loss::mean_squared_error});
  trainer c = compile<network<features<3>, dense<2>, softmax>>(reference{}, sgd{});
  std::vector<float> const x(12, 0.5F);
  std::vector<float> none, one(1);
  refuses<data_error>([&] { t.predict_on_batch(x, none); }, {"predict_on_batch: outputs", "the batch is empty"});
  refuses<data_error>(
      [&] { t.predict_on_batch(x, one); },
      {"outputs must be 2 numbers of type float for each sample; found 1, which is not a multiple of 2"});
  refuses<data_error>([&] { t.train_on_batch(x, none); }, {"train_on_batch: values", "the batch is empty"});
  refuses<data_error>([&] { c.train_on_batch(x, std::vector<std::int32_t>{}); }, {"labels", "the batch is empty"});
}

TEST_CASE("classes for a regression, and values for a classifier, are named before sizes") {
  std::vector<float> const x(12, 0.5F), y(5, 1.0F);
  std::vector<std::int32_t> const five(4, 5), zeros(4), seven(7);
  trainer t = compile<linear>(reference{}, sgd{}, {.loss = loss::mean_squared_error});
  for (auto const& labels : {five, zeros, seven}) {
    refuses<option_error>([&] { t.train_on_batch(x, labels); },
                          {"one number per sample, so its targets must be floats", "pass floats"});
    refuses<option_error>(
        [&] { t.train_on_batch(x.data(), labels.data(), static_cast<int>(labels.size())); },
        {"one number per sample, so its targets must be floats", "pass floats"});  // also where all labels are 0
  }
  trainer c = compile<network<features<3>, dense<2>, softmax>>(reference{}, sgd{});
  refuses<option_error>([&] { c.train_on_batch(x, y); }, {"needs class labels", "std::int32_t labels"});
  trainer h = compile<hidden>(reference{}, sgd{}, {.loss = loss::huber});
  refuses<option_error>([&] { h.train_on_batch(x, seven); }, {"needs float targets", "pass floats"});
  trainer m = compile<hidden>(reference{}, sgd{}, {.loss = loss::mean_squared_error});
  CHECK(std::isfinite(m.train_on_batch(x, zeros).loss));
  refuses<data_error>([&] { m.train_on_batch(x, five); }, {"0 to 1; found 5", "float values"});
}

TEST_CASE("binary cross-entropy takes values of 0 to 1 only, of a network that ends in sigmoid") {
  compile_options const binary{.loss = loss::binary_crossentropy};
  trainer t = compile<network<features<1>, dense<2>, sigmoid>>(reference{}, sgd{}, binary);
  dataset const good = in_memory_values({1}, {1, 2, 3}, 2, {0, 1, 0.5F, 0.25F, 1, 0});
  dataset const bad = in_memory_values({1}, {1, 2, 3}, 2, {0, 1, 0.5F, -0.25F, 43, 0});
  CHECK(std::isfinite(t.fit(good, {.batch_size = 3, .validation = &good}).epochs[0].validation.loss));
  std::vector<std::string> const first{"binary_crossentropy", "0 to 1; found -0.25", "output 1 of sample 1"};
  refuses<data_error>([&] { t.fit(bad, {.batch_size = 3}); }, first);
  refuses<data_error>([&] { t.fit(good, {.batch_size = 3, .validation = &bad}); }, first);
  refuses<data_error>([&] { t.evaluate(bad); }, first);
  refuses<data_error>([&] { t.evaluate(bad.subset(2, 1)); }, {"evaluate", "found 43", "output 0 of sample 0"});
  std::vector<float> const x{1, 2}, y{0, 1, 1.5F, 1};
  refuses<data_error>([&] { t.train_on_batch(x, y); }, {"train_on_batch", "found 1.5", "output 0 of sample 1"});
  CHECK(t.steps() == 1);
  using shares = network<features<3>, dense<2>, softmax>;
  refuses<option_error>([&] { compile<shares>(reference{}, sgd{}, binary); }, {"sigmoid", "found softmax"});
}

TEST_CASE("fit needs no options") {
  trainer t = compile<linear>(reference{}, sgd{}, {.loss = loss::mean_squared_error});
  CHECK(t.fit(line(64)).epochs.size() == 1);
}

TEST_CASE("a NaN in the data is called that") {
  CHECK(detail::message({-std::nan(""), " and ", -1.5}) == "nan and -1.5");
  trainer t = compile<hidden>(reference{}, sgd{.learning_rate = 0.1}, {.loss = loss::mean_squared_error});
  std::vector<float> x(12, 0.5F), y(8, 1.0F);
  y[3] = NAN;
  refuses<training_error>([&] { t.train_on_batch(x, y); },
                          {"; target value 1 of sample 1 of the batch is nan: correct the data"});
  t = compile<hidden>(reference{}, sgd{.learning_rate = 0.1}, {.loss = loss::mean_squared_error});
  y[3] = 1, x[5] = INFINITY;
  refuses<training_error>([&] { t.train_on_batch(x, y); },
                          {"; number 2 of sample 1 of the batch is inf before the first layer: correct the data"});
  dataset bad = line(8, 2);
  bad.mean = std::make_shared<std::vector<float> const>(std::vector<float>{0, NAN, 0});
  refuses<training_error>([&] { t.fit(bad, {.batch_size = 4}); },
                          {"epoch 1, batch 1", "; number 1 of sample 0 of the batch is nan", "its mean"});
  t = compile<hidden>(reference{}, sgd{.learning_rate = 1e20}, {.loss = loss::mean_squared_error});
  refuses<training_error>([&] { t.fit(line(80, 2), {.batch_size = 4}); }, {"smaller learning rate"});
}

TEST_CASE("a confusion matrix of one output for two classes") {
  dataset const two = in_memory_classes({1}, {-2, -1, 1, 2, 3}, 2, {0, 1, 1, 1, 0});
  trainer t = compile<network<features<1>, dense<1>, sigmoid>>(reference{}, sgd{}, {.loss = loss::binary_crossentropy});
  float const weight = 1, bias = 0;
  t.engine().write_parameter(0, &weight), t.engine().write_parameter(1, &bias);
  confusion_matrix counts;
  scores const s = t.evaluate(two, 4, &counts);
  CHECK(counts.count(0, 0) == 1);
  CHECK(counts.count(0, 1) == 1);
  CHECK(counts.count(1, 0) == 1);
  CHECK(counts.count(1, 1) == 2);
  CHECK(counts.accuracy() == approx(s.acc));
}

TEST_CASE("a data set of other samples names the input that would fit") {
  auto t = compile<network<features<6>, dense<1>>>(reference{}, sgd{}, {.loss = loss::mean_squared_error});
  refuses<option_error>([&] { t.evaluate(in_memory_values({5}, std::vector<float>(5), 1, {1})); },
                        {"takes samples of 6x1x1", "has 5x1x1", "features<5>"});
  refuses<option_error>([&] { t.evaluate(in_memory_values({1, 2, 3}, std::vector<float>(6), 1, {1})); },
                        {"has 1x2x3", "image<1, 2, 3>"});
}

TEST_CASE("R2 loses no digits far from 0, and is 0 where nothing was seen or nothing differs") {
  CHECK(regression_scores{}.r2() == 0);
  refuses<option_error>(
      [] {
        regression_scores one;
        dataset const d = in_memory_values({1}, {1, 2}, 1, {1, 2});
        compile<network<features<1>, dense<1>>>(reference{}, sgd{}, {.loss = loss::huber}).evaluate(d, 2, &one);
        one.r2(1);
      },
      {"output", "1"});
  std::vector<float> x, y;
  for (int i = 0; i < 2000; ++i)
    x.push_back(static_cast<float>(i % 2)), y.push_back(16'777'215.0F + static_cast<float>(i % 2));
  dataset const far = in_memory_values({1}, x, 1, y);
  trainer t = compile<network<features<1>, dense<1>>>(reference{}, sgd{}, {.loss = loss::mean_squared_error});
  float const weight = 1, bias = 16'777'215.0F;
  t.engine().write_parameter(0, &weight), t.engine().write_parameter(1, &bias);
  regression_scores scores;
  t.evaluate(far, 64, &scores);
  CHECK(scores.r2() == approx(1));
  dataset const same = in_memory_values({1}, std::vector<float>(100), 1, std::vector<float>(100, 0.1F));
  t.evaluate(same, 64, &scores);
  CHECK(scores.r2() == 0);
}

TEST_CASE("a data set owns the numbers of a vector, whichever it was given") {
  dataset const kept = [] {
    std::vector<float> const numbers(64, 0.5F), wanted(64, 1.0F);
    return in_memory_values({1}, numbers, 1, wanted);
  }();
  CHECK(*kept.reals(63) == 0.5F);
  refuses<data_error>([&] { mean_picture(kept); }, {"mean_picture", "normalize"});
}

TEST_CASE("what does not fit is refused before the first step") {
  dataset const train = line(20), two = line(20, 2);
  dataset const classes = in_memory_classes({3}, std::vector<float>(60), 2, std::vector<std::int32_t>(20));
  trainer values = compile<linear>(reference{}, sgd{}, {.loss = loss::mean_squared_error});
  trainer labels = compile<network<features<3>, dense<2>, softmax>>(reference{}, sgd{});
  refuses<option_error>([&] { labels.fit(two, {}); }, {"categorical_crossentropy", "2 values", "mean_squared_error"});
  refuses<option_error>([&] { labels.fit(train, {}); }, {"has 1 value;"});
  refuses<option_error>([&] { values.fit(two, {.batch_size = 4}); }, {"output has 1 number,", "2 values"});
  refuses<option_error>([&] { values.fit(classes, {.batch_size = 4}); }, {"output has 1 number,", "2 classes"});
  using pixels = network<image<1, 3, 1>, conv2d<1, 1>>;
  dataset const flat = in_memory_classes({1, 3, 1}, std::vector<float>(60), 3, std::vector<std::int32_t>(20));
  trainer maps = compile<pixels>(reference{}, sgd{}, {.loss = loss::mean_squared_error});
  refuses<option_error>([&] { maps.fit(flat, {.batch_size = 4}); }, {"1x3x1", "flatten"});
  refuses<option_error>([&] { compile<linear>(reference{}, sgd{}, {.loss = loss::binary_crossentropy}); }, {"sigmoid"});
  refuses<option_error>([&] { compile<linear>(reference{}, sgd{}, {.loss = loss::huber, .label_smoothing = 0.1}); },
                        {"label_smoothing"});
  confusion_matrix counts;
  refuses<option_error>([&] { values.evaluate(train, 4, &counts); }, {"confusion_matrix", "regression_scores"});
  regression_scores scores;
  refuses<option_error>([&] { labels.evaluate(classes, 4, &scores); }, {"regression_scores", "confusion_matrix"});
  refuses<option_error>(
      [&] { values.fit(train, {.batch_size = 4, .callbacks = {early_stopping<train_accuracy>({.patience = 2})}}); },
      {"acc", "no accuracy"});
  dataset normal = train;
  normalize(normal);
  refuses<option_error>([&] { values.fit(train, {.batch_size = 4, .validation = &normal}); },
                        {"found one for the validation data only", "normalize"});

  refuses<data_error>([] { in_memory_values({2}, {1, 2, 3}, 1, {1}); }, {"2 numbers", "found 3"});
  refuses<data_error>([] { in_memory_values({2}, {1, 2}, 2, {1}); }, {"values"});
  refuses<data_error>([] { in_memory_values({2}, {1, NAN}, 1, {1}); }, {"nan", "number 1 of sample 0"});
  refuses<data_error>([] { in_memory_values({2}, {1, 2}, 1, {INFINITY}); }, {"values", "inf"});
  refuses<data_error>([] { in_memory_classes({1}, {1, 2}, 2, {0, 2}); }, {"labels", "2"});
  refuses<option_error>([] { in_memory_classes({1}, {1, 2}, 0, {0, 0}); }, {"classes", "1 or more"});
}

TEST_CASE("a table is read, column by column") {
  temporary_directory const folder;
  std::string const path = (folder / "table.csv");
  auto const write = [&](std::string const& text) { std::ofstream(path) << text; };
  write("id,a,\"the \"\"b\"\", quoted\",price\r\n1,0.5,-2e1,10\r\n\r\n2, +1.5 ,\"7\",20");
  dataset const values = read_csv_values(path, {"price"}, {.ignore = {"id"}});
  dataset const same = read_csv_values(path, "price", {.ignore = {"id"}});
  CHECK((same.size == values.size && same.values == 1 && same.sample == values.sample));
  CHECK(same.storage->values == values.storage->values);
  CHECK(values.sample == shape{2});
  CHECK(values.size == 2);
  CHECK(std::vector<float>(values.reals(1), values.reals(1) + 2) == std::vector<float>{1.5F, 7});
  CHECK(*values.wanted(1) == 20);
  write("a,b\n+5,1e-50\n");
  dsl::dataset const tiny = read_csv_values(path, {"b"});
  CHECK(*tiny.reals(0) == 5);
  CHECK(*tiny.wanted(0) == 0);
  write("a,b\n1,10\n2,20\n3,30\n4,40\n5,50\n");
  dataset const drawn = read_csv_values(path, {"b"}, {.shuffle_seed = 1});
  std::vector<float> order;
  for (std::int64_t i = 0; i < 5; ++i) {
    order.push_back(*drawn.reals(i));
    CHECK(*drawn.wanted(i) == 10 * order.back());
  }
  CHECK(order != std::vector<float>{1, 2, 3, 4, 5});
  CHECK(std::accumulate(order.begin(), order.end(), 0.0F) == 15);
  write("1;0.5;yes\n2;0;no\n3;1;yes\n");
  dataset const classes = read_csv_classes(path, "2", {}, {.separator = ';', .header = false});
  CHECK(classes.classes == 2);
  CHECK(classes.class_name(classes.label(0)) == "yes");
  CHECK(classes.class_name(0) == "no");
  refuses<data_error>([&] { read_csv_classes(path, "2", {"yes"}, {.separator = ';', .header = false}); },
                      {"found no", "line 2"});
  refuses<data_error>([&] { read_csv_classes(path, "2", {"yes", "no", "yes"}, {.separator = ';', .header = false}); },
                      {"found \"yes\" twice"});
  struct wrong {
    char const* text;
    std::vector<std::string> words;
  };
  for (wrong const& w :
       {wrong{"a,b\n1,2\n3\n", {"2 fields", "found 1", "line 3"}},
        {"a,b\n1,2,3\n", {"found 3"}},
        {"a,b\n\n,3\n", {"column a; found an empty", "line 3"}},
        {"a,b\n1x,3\n", {"1x", ".ignore = {\"a\"}"}},
        {"a;b\n1;3\n", {"named b; found a;b", ".separator = ';'"}},
        {"a,b\n+-5,3\n", {"+-5"}},
        {"a,b\n1\r2,3\n", {"1\\x0d2"}},
        {"a,b\n1,nan\n", {"column b; found nan"}},
        {"a,b\n1e99,3\n", {"1e99"}},
        {"a,c\n1,3\n", {"exactly one column named b", "a, c"}},
        {"b,b\n1,3\n", {"exactly one column named b"}},
        {"a,b\n", {"line of data"}},
        {"", {"line of data"}},
        {"b\n1\n", {"must have an input column besides the targets; found 1 column, and none besides"}},
        {"a,b\n\"1,2\n", {"quote", "line 2"}}}) {
    INFO(w.text);
    write(w.text);
    refuses<data_error>([&] { read_csv_values(path, {"b"}); }, w.words);
  }
  for (std::string const& text : {std::string("\xff\xfe"
                                              "a\0,\0b\0\n\0",
                                              10),
                                  std::string("\xfe\xff\0a\0,\0b", 8)}) {
    std::ofstream(path, std::ios::binary) << text;
    refuses<data_error>([&] { read_csv_values(path, {"b"}); },
                        {"must be UTF-8", "found the byte order mark of UTF-16; save it again as CSV in UTF-8"});
  }
  std::ofstream(path, std::ios::binary) << std::string("a\0,\0b\0\n\0", 8);
  refuses<data_error>([&] { read_csv_values(path, {"b"}); }, {"found a NUL byte, as in UTF-16"});
  refuses<data_error>([&] { read_csv_values((folder / "none.csv"), {"b"}); }, {"none.csv", "No such file"});
}
