// SPDX-License-Identifier: MIT
#include "support/catch.hpp"
#include "support/larger.hpp"
#include "support/warnings.hpp"
#include "support/words.hpp"

#include <dsl/dsl.hpp>
#include <dsl/towers.hpp>
#include <dsl/data/with_weights.hpp>
#include <dsl/io/checkpoint.hpp>
#include <dsl/training/check_derivative.hpp>
#include <dsl/training/fingerprint.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

// Losses outside the library, which a program gives to compile().

namespace {

using namespace dsl;
using namespace dsl::test;

/// The library's own losses again, as a program would write them.
struct own_huber {
  double delta = 1;
  double value(double y, double t) const {
    double const d = std::abs(y - t);
    return d <= delta ? d * d / 2 : delta * (d - delta / 2);
  }
  double derivative(double y, double t) const { return std::max(-delta, std::min(delta, y - t)); }
};
struct own_squares {  // of a sample
  double value(std::span<double const> y, std::span<double const> t) const {
    double sum = 0;
    for (std::size_t i = 0; i < y.size(); ++i) sum += (y[i] - t[i]) * (y[i] - t[i]);
    return sum / static_cast<double>(y.size());
  }
  void derivative(std::span<double const> y, std::span<double const> t, std::span<double> to) const {
    for (std::size_t i = 0; i < y.size(); ++i) to[i] += 2 * (y[i] - t[i]) / static_cast<double>(y.size());
  }
};
/// A loss that depends on the order of a sample's outputs, and whose derivative leaves most of them out.
struct only_the_last {
  double value(std::span<double const> y, std::span<double const> t) const {
    return std::log(std::cosh(y.back() - t.front()));
  }
  void derivative(std::span<double const> y, std::span<double const> t, std::span<double> to) const {
    to.back() += std::tanh(y.back() - t.front());
  }
};
struct wrong_sign {
  double value(double y, double t) const { return (y - t) * (y - t); }
  double derivative(double y, double t) const { return y > 2 ? 2 * (t - y) : 2 * (y - t); }
};
struct not_finite {
  double value(double y, double) const { return std::log(y); }
  double derivative(double y, double) const { return 1 / y; }
};

dataset numbers(int samples, shape const& sample, int values) {
  std::vector<float> in, wanted;
  for (int i = 0; i < samples * static_cast<int>(sample.size()); ++i)
    in.push_back(static_cast<float>((i * 37 + i / 5) % 23) / 11 - 1);
  for (int i = 0; i < samples * values; ++i) wanted.push_back(static_cast<float>((i * 13 + i / 3) % 17) / 5 - 1.5F);
  return in_memory_values(sample, std::move(in), values, std::move(wanted));
}

using rows = network<features<5>, dense<6>, relu, dense<4>>;
using maps = network<image<3, 4, 3>, conv2d<18, 3>>;
/// Its three losses are of one size, and those of "outer" and "inner" give their gradients to one value.
using meeting = network<features<5>, dense<6>, dsl::tanh,
                        named_output<"outer", dense<4>, named_output<"inner", flatten>>, dense<4>>;

/// Returns the losses of a training and of an evaluation, and then the predictions.
template <class Network, class Executor>
std::vector<double> trained(Executor const& on, any_loss const& l, dataset const& data, towers const& t = {}) {
  trainer net = compile<Network>(on, sgd{.learning_rate = 0.05, .momentum = 0.5}, t, {.loss = l, .seed = 3});
  std::vector<double> all;
  for (epoch_record const& e : net.fit(data, {.epochs = 3, .batch_size = 7}).epochs) {
    all.push_back(e.train.loss);
    CHECK_FALSE(e.train.has_acc());
  }
  all.push_back(net.evaluate(data, 8).loss);
  for (float const y : net.predict(data)) all.push_back(static_cast<double>(y));
  return all;
}

void agree(std::vector<double> const& found, std::vector<double> const& wanted, double relative) {
  REQUIRE(found.size() == wanted.size());
  double largest = 0, worst = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    largest = std::max(largest, std::abs(wanted[i]));
    worst = larger(worst, std::abs(found[i] - wanted[i]));
  }
  CHECK(largest > 0.1);
  CHECK(worst <= relative * largest);
}

}  // namespace

TEST_CASE("a loss of one's own trains as the library's with the same formula does") {
  // in double only the derivative's order of divisions differs; predictions are read as floats
  dataset const flat = numbers(28, {5}, 4), of_maps = numbers(28, {3, 4, 3}, 18 * 12);
  agree(trained<rows>(reference<double>{}, own_huber{}, flat), trained<rows>(reference<double>{}, loss::huber, flat),
        1e-6);
  agree(trained<rows>(reference<double>{}, own_squares{}, flat),
        trained<rows>(reference<double>{}, loss::mean_squared_error, flat), 1e-6);
  agree(trained<meeting>(reference<double>{}, own_squares{}, flat),
        trained<meeting>(reference<double>{}, loss::mean_squared_error, flat), 1e-6);
  // 12 steps in float, each of which rounds once or twice more
  agree(trained<maps>(reference{}, own_squares{}, of_maps),
        trained<maps>(reference{}, loss::mean_squared_error, of_maps), 1e-4);
  agree(trained<maps>(native{}, own_squares{}, of_maps), trained<maps>(native{}, loss::mean_squared_error, of_maps),
        1e-4);
  agree(trained<maps>(native{}, own_huber{}, of_maps), trained<maps>(native{}, loss::huber, of_maps), 1e-4);
}

TEST_CASE("a loss of one's own sees the outputs of a sample in the order channel, row, column") {
  dataset const data = numbers(14, {3, 4, 3}, 18 * 12);
  for (int executor = 0; executor < 2; ++executor) {
    trainer net = executor == 0 ? compile<maps>(reference{}, sgd{}, {.loss = only_the_last{}})
                                : compile<maps>(native{}, sgd{}, {.loss = only_the_last{}});
    std::vector<float> const y = net.predict(data);
    double wanted = 0;
    for (std::size_t n = 0; n < 14; ++n)
      wanted += std::log(std::cosh(static_cast<double>(y[n * 216 + 215]) -
                                   static_cast<double>(data.wanted(static_cast<std::int64_t>(n))[0])));
    CHECK(net.evaluate(data, 5).loss == approx(wanted / 14).epsilon(1e-12));
  }
}

TEST_CASE("a loss of one's own works with towers, sample weights and class numbers") {
  dataset const data = numbers(28, {5}, 4);
  agree(trained<rows>(reference<double>{}, own_huber{}, data, {.count = 3}),
        trained<rows>(reference<double>{}, own_huber{}, data), 1e-6);
  std::vector<float> weights(28, 1);
  weights[3] = 5, weights[20] = 0;
  dataset const weighted = with_weights(data, weights);
  agree(trained<rows>(reference<double>{}, own_huber{}, weighted),
        trained<rows>(reference<double>{}, loss::huber, weighted), 1e-6);
  CHECK(trained<rows>(reference<double>{}, own_huber{}, weighted) !=
        trained<rows>(reference<double>{}, own_huber{}, data));

  std::vector<float> in(40, 0.5F);
  for (std::size_t i = 0; i < 40; i += 3) in[i] = -1;
  dataset const classes = in_memory_classes({5}, in, 4, {0, 1, 2, 3, 3, 2, 1, 0});
  agree(trained<rows>(reference<double>{}, own_huber{}, classes),
        trained<rows>(reference<double>{}, loss::huber, classes), 1e-6);
  trainer net = compile<rows>(reference{}, sgd{}, {.loss = own_huber{}});
  std::vector<std::int32_t> const labels{0};
  CHECK(has(thrown<option_error>([&] { net.train_on_batch(std::span<float const>(in).first(5), labels); }),
            "needs float targets; found std::int32_t labels"));
}

TEST_CASE("check_derivative finds a wrong derivative, and names sample, output and both numbers") {
  std::vector<double> const y{0.5, -1.5, 3, 0.25, 1.75, -2}, t{1, 0.25, 0.5, 0.125, -4, 2.5};
  check_derivative(own_huber{}, y, t, 2);
  check_derivative(own_huber{0.3}, y, t, 3);
  check_derivative(own_squares{}, y, t, 3);
  check_derivative(only_the_last{}, y, t, 6);
  check_derivative(own_squares{}, std::vector{1e6, 2.0}, std::vector{3.0, -1e5},
                   2);  // 0.5 in 1e6 is in the tolerance's scale
  std::string const found = thrown<option_error>([&] { check_derivative(wrong_sign{}, y, t, 2); });
  CHECK(has(found, "wrong_sign: derivative() must return the derivative of value(); found -2.5 instead of 2.5"));
  CHECK(has(found, "for output 0 of sample 1, where y is 3, its target 0.5 and the loss of the sample 3.13"));
  check_derivative(wrong_sign{}, std::span(y).first(2), std::span(t).first(2));
  CHECK(has(thrown<option_error>([&] { check_derivative(not_finite{}, std::vector{-1.0}, std::vector{0.0}); }),
            "output 0 of sample 0"));
  CHECK(has(thrown<option_error>([&] { check_derivative(loss::huber, y, t); }), "found one of dsl::loss"));
  CHECK(has(thrown<option_error>([&] { check_derivative(own_huber{}, y, t, 4); }), "found 6 outputs and 6 targets"));
  CHECK(has(thrown<option_error>([&] { check_derivative(own_huber{}, y, std::span(t).first(5)); }), "5 targets"));
  CHECK(has(thrown<option_error>([&] { check_derivative(own_huber{}, {}, {}); }), "found 0 outputs"));
}

TEST_CASE("a state of a loss of one's own resumes with the same one alone") {
  dataset const data = numbers(28, {5}, 4);
  auto const made = [](any_loss const& l) { return compile<rows>(reference{}, sgd{}, {.loss = l}); };
  trainer first = made(own_huber{0.5});
  std::string const state = checkpoint(first, first.fit(data, {.batch_size = 7}));
  trainer same = made(own_huber{0.5});
  CHECK(restore(same, state, "a.state").epochs.size() == 1);
  CHECK(same.predict(data) == first.predict(data));
  for (any_loss const& other : {any_loss(own_huber{0.6}), any_loss(own_squares{}), any_loss(loss::huber)}) {
    trainer t = made(other);
    CHECK(has(thrown<file_error>([&] { restore(t, state, "a.state"); }), "differs in its optimizer, its loss"));
  }
  trainer again = made(wrong_sign{});
  auto const hash = [](trainer& t) { return detail::fingerprint_of(t.engine().options(), t.graph()); };
  trainer nan_somewhere = made(not_finite{}), nan_as_before = made(not_finite{});
  CHECK(hash(nan_somewhere) == hash(nan_as_before));
  CHECK(hash(again) != hash(nan_somewhere));
}

TEST_CASE("what a loss of one's own computes is not trusted") {
  struct throws {
    double value(double, double) const { throw std::out_of_range("no such target"); }
    double derivative(double, double) const { return 0; }
  };
  struct bad {
    double value(double y, double) const { return y * std::numeric_limits<double>::quiet_NaN(); }
    double derivative(double, double) const { return 0; }
  };
  dataset const data = numbers(14, {5}, 4);
  trainer t = compile<rows>(reference{}, sgd{}, {.loss = bad{}});
  CHECK(has(thrown<training_error>([&] { t.fit(data, {.batch_size = 7}); }), "loss: it became nan in epoch 1"));
  trainer u = compile<rows>(native{}, sgd{}, {.loss = throws{}});
  CHECK_THROWS_AS(u.fit(data, {.batch_size = 7}), std::out_of_range);
  CHECK(has(thrown<option_error>([] { compile<rows>(reference{}, sgd{}, {.loss = loss::custom}); }),
            "write .loss = my_loss{}"));
}
