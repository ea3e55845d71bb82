// SPDX-License-Identifier: MIT
#include "support/catch.hpp"
#include "support/words.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <dsl/data/pixel_classes.hpp>
#include <dsl/data/with_weights.hpp>
#include <dsl/dsl.hpp>
#include <dsl/executors/host/loss.hpp>
#include <dsl/executors/host/pixel_loss.hpp>
#include <dsl/executors/host/value_loss.hpp>
#include <dsl/placement.hpp>
#include <dsl/towers.hpp>
#include <dsl/training/fingerprint.hpp>
#include "support/random_graph.hpp"

// Tests weights of samples and classes: the factor of each loss, in every way to process a batch.

namespace {

using namespace dsl;
using namespace dsl::test;

using model = network<features<3>, dense<8>, dsl::tanh, dense<3>, softmax>;

/// Returns `count` samples, followed by the first `again` of them once more.
dataset drawn(int count, int again = 0) {
  dice d(3);
  std::vector<float> x;
  std::vector<std::int32_t> labels;
  for (int i = 0; i < 3 * count; ++i) x.push_back(static_cast<float>(d.below(1000)) / 500 - 1);
  for (int i = 0; i < count; ++i) labels.push_back(x[static_cast<std::size_t>(3 * i)] > 0 ? 2 : d.below(2));
  x.insert(x.end(), x.begin(), x.begin() + 3 * again);
  labels.insert(labels.end(), labels.begin(), labels.begin() + again);
  return in_memory_classes({3}, std::move(x), 3, std::move(labels));
}

std::vector<double> gradients_of(dataset const& data, compile_options const& o, double share) {
  trainer t = compile<model>(reference<double>{}, sgd{.learning_rate = 1}, o);
  std::vector<float> before(24), after(24);
  t.engine().read_parameter(0, before.data());
  t.fit(data, {.batch_size = static_cast<int>(data.size), .shuffle = false});
  t.engine().read_parameter(0, after.data());
  std::vector<double> all;
  for (std::size_t i = 0; i < 24; ++i) all.push_back(share * static_cast<double>(before[i] - after[i]));
  return all;
}

using dsl::test::refuses;

}  // namespace

TEST_CASE("weights: each loss is multiplied with its own, and the mean is over the samples") {
  shape const two{2};
  double const y[] = {0.25, 0.75, 0.5, 0.5};
  float const weights[] = {3, 0.5F};
  double metrics[2], gradient[4];
  view<double> const to{gradient, two, 2, 1, 2, 0};
  std::int32_t const labels[] = {0, 1};
  host::compute_loss<double>(loss::categorical_crossentropy, true, {y, two, 2, 1, 2, 0}, labels, metrics, to, 0, false,
                             0, weights);
  CHECK(metrics[0] == approx(-3 * std::log(0.25) - 0.5 * std::log(0.5)));
  CHECK(metrics[1] == 0);
  CHECK(gradient[1] == approx(3 * 0.75 / 2));
  CHECK(gradient[3] == approx(0.5 * -0.5 / 2));
  float const wanted[] = {0, 1, 0, 1};
  host::compute_value_loss<double>(loss::mean_squared_error, false, {y, two, 2, 1, 2, 0}, wanted, metrics, to, 0, false,
                                   weights);
  CHECK(metrics[0] == approx(3 * 0.0625 + 0.5 * 0.25));
  CHECK(gradient[0] == approx(3 * 2 * 0.25 / 4));
  CHECK(gradient[2] == approx(0.5 * 2 * 0.5 / 4));
  host::compute_pixel_loss<double>(true, {y, {2, 1, 2}, 1, 1, 2, 0}, labels, metrics, {gradient, {2, 1, 2}, 1, 1, 2, 0},
                                   2, false, 0, weights);
  CHECK(metrics[0] == approx(-3 * std::log(0.25) - 0.5 * std::log(0.5)));
  CHECK(gradient[0] == approx(3 * -0.75 / 2));
  CHECK(gradient[1] == approx(0.5 * 0.75 / 2));
}

TEST_CASE("weights: twice the weight is a sample that is there twice") {
  std::vector<float> weights(10, 1.0F);
  for (std::size_t i = 0; i < 4; ++i) weights[i] = 2;
  auto const a = gradients_of(with_weights(drawn(10), weights), {}, 10);
  auto const b = gradients_of(drawn(10, 4), {}, 14);
  for (std::size_t i = 0; i < a.size(); ++i) CHECK(a[i] == approx(b[i]).margin(1e-5));  // weights are read as floats

  dataset const data = drawn(10);
  std::vector<float> of_classes;
  for (int i = 0; i < 10; ++i) of_classes.push_back(data.label(i) == 2 ? 5.0F : data.label(i) == 1 ? 0.5F : 1.0F);
  auto const c = gradients_of(data, {.class_weights = {1, 0.5F, 5}}, 1);
  auto const d = gradients_of(with_weights(data, of_classes), {}, 1);
  CHECK(c == d);
  CHECK(c != gradients_of(data, {}, 1));

  trainer fitted = compile<model>(reference<double>{}, sgd{.learning_rate = 1}, {.class_weights = {1, 0.5F, 5}});
  trainer stepped =
      compile<replicate<2, model>>(reference<double>{}, sgd{.learning_rate = 1}, {.class_weights = {1, 0.5F, 5}});
  std::vector<float> const x(data.reals(0), data.reals(0) + 30);
  std::vector<std::int32_t> const labels(data.labels(0), data.labels(0) + 10);
  double const loss_of_fit = fitted.fit(data, {.batch_size = 10, .shuffle = false}).epochs[0].train.loss;
  CHECK(stepped.train_on_batch(x, labels).loss == approx(loss_of_fit));
}

TEST_CASE("weights: towers, micro-batches and epochs' scores") {
  std::vector<float> weights;
  for (int i = 0; i < 66; ++i) weights.push_back(static_cast<float>(i % 7) / 2);
  dataset const train = with_weights(drawn(66), weights);
  fit_options const fit{.epochs = 3, .batch_size = 22, .validation = &train};
  compile_options const o{.class_weights = {1, 2, 0.25F}};
  trainer one = compile<model>(reference<double>{}, sgd{.learning_rate = 0.2}, o);
  trainer three = compile<replicate<3, model>>(reference<double>{}, sgd{.learning_rate = 0.2}, o);
  trainer piped = compile<pipeline<4, model>>(reference<double>{}, sgd{.learning_rate = 0.2}, o);
  history const a = one.fit(train, fit);
  for (trainer* t : {&three, &piped}) {
    history const b = t->fit(train, fit);
    for (std::size_t e = 0; e < 3; ++e) {
      CHECK(a.epochs[e].train.loss == approx(b.epochs[e].train.loss).epsilon(1e-9));
      CHECK(a.epochs[e].validation.loss == approx(b.epochs[e].validation.loss).epsilon(1e-9));
    }
  }
  std::vector<float> const y = one.predict(train);
  double sum = 0, right = 0;  // in evaluation all classes have the same weight
  for (int i = 0; i < 66; ++i) {
    float const* const p = y.data() + 3 * i;
    sum -= static_cast<double>(weights[static_cast<std::size_t>(i)]) * std::log(static_cast<double>(p[train.label(i)]));
    right += p[train.label(i)] >= std::max({p[0], p[1], p[2]}) ? 1 : 0;
  }
  scores const s = one.evaluate(train, 10);
  CHECK(s.loss == approx(sum / 66).epsilon(1e-5));
  CHECK(s.acc == approx(right / 66));
  dataset const part = train.subset(40, 20);
  CHECK(part.weight(3) == weights[43]);
  CHECK(fingerprint(part) != fingerprint(drawn(66).subset(40, 20)));
}

TEST_CASE("weights: a class a pixel, and what does not fit") {
  dice d(4);
  std::vector<float> x;
  std::vector<std::int32_t> labels;
  for (int i = 0; i < 20 * 9; ++i)
    x.push_back(static_cast<float>(d.below(100)) / 100), labels.push_back(d.below(4) - 1);
  using map = network<image<1, 3, 3>, conv2d<3, 1>, softmax2d>;
  dataset const data = in_memory_pixel_classes({1, 3, 3}, x, 3, labels);
  trainer plain = compile<map>(reference<double>{}, sgd{.learning_rate = 0.1});
  trainer heavy = compile<map>(reference<double>{}, sgd{.learning_rate = 0.1}, {.class_weights = {4, 4, 4}});
  fit_options const fit{.batch_size = 20, .shuffle = false};
  CHECK(heavy.fit(data, fit).epochs[0].train.loss == approx(4 * plain.fit(data, fit).epochs[0].train.loss));
  trainer third = compile<map>(reference<double>{}, sgd{.learning_rate = 0.1}, {.class_weights = {0, 0, 1}});
  third.fit(data, {.epochs = 200, .batch_size = 20});
  std::vector<float> const y = third.predict(data);
  for (std::size_t i = 0; i < 9; ++i) CHECK(y[18 + i] > 0.8F);  // no other class counts

  auto const with = [](std::vector<float> weights) {
    compile<model>(reference{}, sgd{}, {.class_weights = std::move(weights)});
  };
  refuses<option_error>([&] { with({1, 2}); },
                        {"class_weights: there must be one for each of the network's 3 classes; found 2"});
  refuses<option_error>([&] { with({1, 2, -1}); }, {"class_weights", "at least 0", "-1"});
  refuses<option_error>([&] { with({1, 2, NAN}); }, {"class_weights", "nan"});
  refuses<option_error>([&] { with({0, 0, 0}); }, {"class_weights: at least one must be above 0; found only zeros"});
  refuses<option_error>(
      [&] { compile<model>(reference{}, sgd{}, {.loss = loss::mean_squared_error, .class_weights = {1, 1, 1}}); },
      {"class_weights: there must be none unless the loss is categorical_crossentropy; found 3"});
  refuses<data_error>([] { with_weights(drawn(3), {1, 2}); }, {"3 samples", "found 2"});
  refuses<data_error>([] { with_weights(drawn(3), {1, 2, -3}); }, {"0 or more", "-3", "sample 2"});
  refuses<data_error>([] { with_weights(drawn(3), {1, INFINITY, 3}); }, {"inf"});
  refuses<option_error>([] { batch_loader wrong(drawn(3), {.batch_size = 3, .class_weights = {1}}); },
                        {"one weight for each of the ", " classes of the data set; found 1"});
}
