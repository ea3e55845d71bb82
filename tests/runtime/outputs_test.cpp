// SPDX-License-Identifier: MIT
#include "support/one_batch.hpp"
#include "support/catch.hpp"
#include "support/larger.hpp"
#include "support/random_graph.hpp"
#include "support/words.hpp"

#include <dsl/callbacks.hpp>
#include <dsl/dsl.hpp>
#include <dsl/placement.hpp>
#include <dsl/towers.hpp>
#include <dsl/data/pixel_classes.hpp>
#include <dsl/executors/host/engine.hpp>
#include <dsl/executors/reference/engine.hpp>
#include <dsl/training/initialize.hpp>
#include <dsl/training/fingerprint.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// Networks with several outputs: their losses, metrics, gradients and predictions, and what is refused.

namespace {

using namespace dsl;
using namespace dsl::test;

template <int Device>
using two_heads_on =
    network<image<2, 6, 6>, conv2d<6, 3>, batch_norm<>, relu,
            named_output<"early", on<device<Device>, conv2d<17, 1>, relu, flatten, dense<3>, softmax>>, conv2d<5, 3>,
            relu, named_output<"late", on<device<Device>, global_avg_pool2d, dense<3>, softmax>>,
            on<device<Device>, dropout<0.1>, flatten, dense<3>, softmax>>;
using two_heads = two_heads_on<0>;
static_assert(output_count(two_heads::view()) == 3);
static_assert(verified<two_heads> && verified<two_heads, 4, mode::evaluation> &&
              verified<two_heads, 4, mode::inference>);
static_assert(verified<two_heads_on<1>>);
static_assert(verified<pipeline<3, two_heads>, 8>);

/// A head within a head: the outer one's softmax is read by the inner one, and gets two gradients.
using nested =
    network<features<4>, dense<6>, relu,
            named_output<"outer", dense<3>, softmax, named_output<"inner", dense<5>, dsl::tanh, dense<3>, softmax>>,
            dense<3>, softmax>;
static_assert(verified<nested>);

dataset drawn(int samples, std::uint64_t seed = 3) {
  dice d(seed);
  std::vector<float> pictures;
  std::vector<std::int32_t> labels;
  for (int n = 0; n < samples; ++n) {
    float sum = 0;
    for (int i = 0; i < 72; ++i) {
      pictures.push_back(static_cast<float>(d.below(2001)) / 1000 - 1);
      sum += pictures.back();
    }
    labels.push_back(sum < -3 ? 0 : sum < 3 ? 1 : 2);
  }
  return in_memory_classes({2, 6, 6}, std::move(pictures), 3, std::move(labels));
}

/// Returns -log p[label] from an output's probabilities, in double.
double crossentropy(std::vector<float> const& p, std::span<std::int32_t const> labels) {
  double sum = 0;
  for (std::size_t n = 0; n < labels.size(); ++n)
    sum -= std::log(static_cast<double>(p[3 * n + static_cast<std::size_t>(labels[n])]));
  return sum / static_cast<double>(labels.size());
}

}  // namespace

TEST_CASE("outputs: evaluate's losses are those of predict's numbers, and loss is their weighted sum") {
  dataset const data = drawn(10);
  trainer t = compile<two_heads>(reference<double>{}, sgd{}, {.loss_weights = {{"late", 0.25}, {"early", 3}}});
  scores const s = t.evaluate(data, 4);
  std::vector<std::int32_t> labels;
  for (std::int64_t i = 0; i < data.size; ++i) labels.push_back(data.label(i));
  REQUIRE(s.outputs.size() == 3);
  CHECK((s.outputs[0].name == "main" && s.outputs[1].name == "early" && s.outputs[2].name == "late"));
  for (output_scores const& o : s.outputs) {
    std::vector<float> const p = t.predict_output(o.name, data, 3);
    REQUIRE(p.size() == 30);
    CHECK(o.loss == approx(crossentropy(p, labels)).epsilon(1e-6));  // probabilities as floats
    int right = 0;
    for (std::size_t n = 0; n < 10; ++n)
      right += std::max_element(&p[3 * n], &p[3 * n] + 3) - &p[3 * n] == labels[n] ? 1 : 0;
    CHECK(o.acc == approx(right / 10.0));
  }
  CHECK(s.loss == approx(s.outputs[0].loss + 3 * s.outputs[1].loss + 0.25 * s.outputs[2].loss).epsilon(1e-12));
  CHECK(s.acc == s.outputs[0].acc);
  CHECK(t.predict(data) == t.predict_output("main", data));
  CHECK(t.predict(data) != t.predict_output("early", data));
  refuses<option_error>([&] { t.predict_output("other", data); }, {"main, early, late", "found other"});
}

TEST_CASE("outputs: gradients are those of the weighted sum of losses, by finite differences") {
  auto const check = [](auto network, int inputs, dsl::loss kind, target_kind targets) {
    using model = decltype(network);
    engine_options const options{
        .seed = 5, .update = sgd{}.rule(), .loss = kind, .verify = &verify, .loss_weights = {0.5, 2, 0.7}};
    auto const e = reference<double>{}.make_engine(model::view(), options);
    initialize(*e, 1);
    auto& host = dynamic_cast<host::engine<double>&>(*e);
    int const program = e->prepare(mode::training, 3, targets);
    dice d(2);
    std::vector<float> x, values;
    for (int i = 0; i < 3 * inputs; ++i) x.push_back(static_cast<float>(d.below(2001)) / 1000 - 1);
    for (int i = 0; i < 9; ++i) values.push_back(static_cast<float>(d.below(100)) / 100);
    std::vector<std::int32_t> const labels{2, 0, 1};
    auto const loss = [&] {
      e->run(program, test::one_batch{x.data(), {labels.data(), values.data()}, 3, 4});
      return e->metrics(program).loss / 3;
    };
    double worst = 0, largest = 0;
    for (int k = 0; k < model::view().size.parameters; ++k) {
      if (!model::view().parameters[k].trainable()) continue;
      long long const count = model::view().parameters[k].count();
      for (long long i = 0; i < count; i += 1 + count / 5) {
        loss();
        double const slope = host.parameter_gradient_data(k)[i];
        double& p = host.parameter_data(k)[i];
        double const at = p, h = 1e-5;
        p = at + h;
        double const above = loss();
        p = at - h;
        double const below = loss();
        p = at;
        worst = larger(worst, std::abs(slope - (above - below) / (2 * h)));
        largest = std::max(largest, std::abs(slope));
      }
    }
    CHECK(largest > 0.01);
    CHECK(worst < 1e-7);  // of second order: h^2 times a third derivative of at most about 100, and rounding / h
  };
  check(nested{}, 4, loss::categorical_crossentropy, target_kind::classes);
  check(nested{}, 4, loss::mean_squared_error, target_kind::values);
  check(
      network<features<4>, dense<6>, dsl::tanh,
              named_output<"outer", dense<3>, sigmoid, named_output<"inner", dense<3>, sigmoid>>, dense<3>, sigmoid>{},
      4, loss::binary_crossentropy, target_kind::values);
  // Two losses whose gradients meet at one value.
  check(network<features<4>, dense<3>, named_output<"aux", softmax>, softmax>{}, 4, loss::categorical_crossentropy,
        target_kind::classes);
  check(network<features<4>, dense<6>, dsl::tanh, named_output<"outer", dense<3>, named_output<"inner", flatten>>,
                dense<3>>{},
        4, loss::mean_squared_error, target_kind::values);
}

TEST_CASE("outputs: weights of losses are given once and are numbers") {
  using model = network<features<4>, named_output<"aux", dense<3>, softmax>, dense<3>, softmax>;
  refuses<option_error>([] { compile<model>(reference{}, sgd{}, {.loss_weights = {{"aux", 1}, {"aux", 0.5}}}); },
                        {"aux", "twice"});
  refuses<option_error>([] { compile<model>(reference{}, sgd{}, {.loss_weights = {{"aux", 1e39}}}); },
                        {"loss_weights", "less than 1e30"});
}

TEST_CASE("outputs: a head of weight 0 changes no bit of the rest, and is not trained itself") {
  using plain =
      network<image<2, 6, 6>, conv2d<6, 3>, batch_norm<>, relu, conv2d<5, 3>, relu, flatten, dense<3>, softmax>;
  using with = network<image<2, 6, 6>, conv2d<6, 3>, batch_norm<>, relu, conv2d<5, 3>, relu,
                       named_output<"head", global_avg_pool2d, dense<3>, softmax>, flatten, dense<3>, softmax>;
  dataset const data = drawn(40);
  trainer a = compile<plain>(reference<double>{}, adam{.learning_rate = 0.01});
  trainer b = compile<with>(reference<double>{}, adam{.learning_rate = 0.01}, {.loss_weights = {{"head", 0}}});
  auto const head = [](graph_view const& g, int k) { return g.scopes[g.nodes[g.parameters[k].node].scope].parent > 0; };
  std::vector<int> shared;  // b's parameters outside the head
  for (int k = 0; k < b.graph().size.parameters; ++k)
    if (!head(b.graph(), k)) shared.push_back(k);
  REQUIRE(static_cast<int>(shared.size()) == a.graph().size.parameters);
  auto const read = [](trainer& t, int k) {
    std::vector<float> numbers(static_cast<std::size_t>(t.graph().parameters[k].count()));
    t.engine().read_parameter(k, numbers.data());
    return numbers;
  };
  std::vector<std::vector<float>> before;
  for (int k = 0; k < b.graph().size.parameters; ++k) before.push_back(read(b, k));
  for (int k = 0; k < a.graph().size.parameters; ++k)
    a.engine().write_parameter(k, before[static_cast<std::size_t>(shared[static_cast<std::size_t>(k)])].data());
  history const x = a.fit(data, {.epochs = 2, .batch_size = 8}), y = b.fit(data, {.epochs = 2, .batch_size = 8});
  CHECK(x.epochs[1].train.loss == y.epochs[1].train.loss);
  for (int k = 0; k < b.graph().size.parameters; ++k)
    if (head(b.graph(), k)) CHECK(read(b, k) == before[static_cast<std::size_t>(k)]);
  for (int k = 0; k < a.graph().size.parameters; ++k) CHECK(read(a, k) == read(b, shared[static_cast<std::size_t>(k)]));
  CHECK(x.epochs[0].train.outputs.empty());
}

TEST_CASE("outputs: towers, micro-batches, devices and executors learn the same, to rounding") {
  dataset const train = drawn(66), test = drawn(7, 9);
  fit_options const fit{.epochs = 2, .batch_size = 11, .validation = &test};
  compile_options const checked{.loss_weights = {{"early", 0.3}}, .verify = &verify};
  trainer one = compile<two_heads>(reference<double>{}, sgd{.learning_rate = 0.1}, checked);
  history const a = one.fit(train, fit);
  CHECK(a.epochs[1].train.loss < a.epochs[0].train.loss);
  REQUIRE(a.epochs[0].train.outputs.size() == 3);
  auto const agrees = [&](trainer t, trainer& with, double epsilon) {
    history const b = t.fit(train, fit), c = with.fit(train, fit);
    for (std::size_t e = 0; e < 2; ++e)
      for (auto const s : {&epoch_record::train, &epoch_record::validation}) {
        scores const &mine = b.epochs[e].*s, &theirs = c.epochs[e].*s;
        CHECK(mine.loss == approx(theirs.loss).epsilon(epsilon));
        REQUIRE((mine.outputs.size() == 3 && theirs.outputs.size() == 3));
        for (std::size_t k = 0; k < 3; ++k) {
          CHECK(mine.outputs[k].loss == approx(theirs.outputs[k].loss).epsilon(epsilon));
          CHECK(mine.outputs[k].acc == approx(theirs.outputs[k].acc).margin(0.05));
        }
      }
    for (char const* name : {"main", "early", "late"}) {
      std::vector<float> const p = t.predict_output(name, test, 5), q = with.predict_output(name, test, 7);
      REQUIRE(p.size() == q.size());
      for (std::size_t i = 0; i < p.size(); ++i) CHECK(p[i] == approx(q[i]).margin(1e-6 + epsilon));
    }
  };
  auto const fresh = [&] { return compile<two_heads>(reference<double>{}, sgd{.learning_rate = 0.1}, checked); };
  trainer moved = fresh(), exact = fresh();
  agrees(compile<two_heads_on<1>>(reference<double>{}, sgd{.learning_rate = 0.1}, checked), moved, 1e-9);
  agrees(compile<two_heads>(native{}, sgd{.learning_rate = 0.1}, checked), exact, 1e-3);
  // each part of a batch is normalised by itself, so these are compared with one another
  trainer towers = compile<replicate<2, two_heads>>(reference<double>{}, sgd{.learning_rate = 0.1}, checked);
  agrees(compile<replicate<2, two_heads_on<1>>>(reference<double>{}, sgd{.learning_rate = 0.1}, checked), towers, 1e-9);
  trainer parts = compile<pipeline<4, two_heads>>(reference<double>{}, sgd{.learning_rate = 0.1}, checked);
  agrees(compile<pipeline<4, two_heads_on<1>>>(reference<double>{}, sgd{.learning_rate = 0.1}, checked), parts, 1e-9);
  using nested_parts = pipeline<3, nested>;
  dice d(8);
  std::vector<float> x;
  std::vector<std::int32_t> labels;
  for (int i = 0; i < 44; ++i) x.push_back(static_cast<float>(d.below(100)) / 50 - 1);
  for (int i = 0; i < 11; ++i) labels.push_back(d.below(3));
  trainer whole = compile<nested>(reference<double>{}, sgd{.learning_rate = 0.1}, {.verify = &verify});
  trainer split = compile<nested_parts>(reference<double>{}, sgd{.learning_rate = 0.1}, {.verify = &verify});
  trainer spread = compile<replicate<3, nested>>(reference<double>{}, sgd{.learning_rate = 0.1}, {.verify = &verify});
  for (int step = 0; step < 3; ++step) {
    scores const s = whole.train_on_batch(x, labels);
    for (scores const& other : {split.train_on_batch(x, labels), spread.train_on_batch(x, labels)}) {
      CHECK(s.loss == approx(other.loss).epsilon(1e-9));
      REQUIRE(other.outputs.size() == 3);
      for (std::size_t k = 0; k < 3; ++k) CHECK(s.outputs[k].loss == approx(other.outputs[k].loss).epsilon(1e-9));
    }
  }
}

TEST_CASE("outputs: the checker refuses a plan whose losses are not each output's own, once") {
  for (plan_options const& o : {plan_options{.batch = 4}, plan_options{.batch = 6, .micro_batches = 2},
                                plan_options{.batch = 4, .mode = mode::evaluation}}) {
    graph_view const g = two_heads::view();
    plan const whole = make_plan(g, o);
    REQUIRE(verify(g, whole).holds());
    std::vector<int> losses;
    for (int s = 0; s < whole.steps.size(); ++s)
      if (whole.steps[s].what == action::loss) losses.push_back(s);
    REQUIRE(static_cast<int>(losses.size()) == 3 * micro_batches_of(o));
    for (int const s : losses)
      for (int const other : losses) {
        if (s == other || whole.steps[s].micro != whole.steps[other].micro) continue;
        int const first = whole.steps[s].first_operand, theirs = whole.steps[other].first_operand;
        for (int i = 0; i < whole.steps[s].operands; ++i) {
          if (whole.operands[first + i].what == content::labels) continue;  // all compare with the same ones
          plan p = whole;
          p.operands[first + i] = whole.operands[theirs + i];
          CHECK_FALSE(verify(g, p).holds());
          p = whole;
          p.operands[first + i].buffer = whole.operands[theirs + i].buffer;
          CHECK_FALSE(verify(g, p).holds());
        }
        plan p = whole;
        p.steps[s] = whole.steps[other];
        CHECK_FALSE(verify(g, p).holds());
      }
    plan p = whole;
    for (operand const& x : whole.operands)
      if (x.what == content::metrics && x.index == 2)
        p.buffers[x.buffer].last = losses.back(), p.buffers[x.buffer].offset = 0;
    CHECK_FALSE(verify(g, p).holds());
  }
}

TEST_CASE("outputs: they learn") {
  dataset const train = drawn(600), test = drawn(100, 5);
  trainer t = compile<two_heads>(native{}, adam{.learning_rate = 0.01});
  scores const s = t.fit(train, {.epochs = 20, .batch_size = 20, .validation = &test}).epochs.back().validation;
  for (output_scores const& o : s.outputs) CHECK(o.acc > 0.6);  // by chance: about 0.4
}

TEST_CASE("outputs: several pixels with a class, and batches without any") {
  using model = network<image<1, 4, 4>, conv2d<4, 3>, relu, named_output<"early", conv2d<2, 1>, softmax2d>,
                        conv2d<2, 3>, softmax2d>;
  dice d(6);
  std::vector<float> x;
  std::vector<std::int32_t> labels;
  for (int i = 0; i < 16 * 12; ++i) {
    x.push_back(static_cast<float>(d.below(100)) / 100);
    labels.push_back(i < 32 || d.percent(20) ? -1 : x.back() > 0.5F);
  }
  dataset const data = in_memory_pixel_classes({1, 4, 4}, std::move(x), 2, labels);
  trainer t = compile<model>(reference<double>{}, adam{.learning_rate = 0.05}, {.verify = &verify});
  trainer towers = compile<replicate<2, model>>(reference<double>{}, adam{.learning_rate = 0.05}, {.verify = &verify});
  fit_options const fit{.epochs = 15, .batch_size = 2};
  scores const a = t.fit(data, fit).epochs.back().train, b = towers.fit(data, fit).epochs.back().train;
  CHECK(a.loss == approx(b.loss).epsilon(1e-6));
  REQUIRE((a.outputs.size() == 2 && b.outputs.size() == 2));
  for (std::size_t k = 0; k < 2; ++k) {
    CHECK(a.outputs[k].loss == approx(b.outputs[k].loss).epsilon(1e-6));
    CHECK(a.outputs[k].acc > 0.9);
  }
  CHECK(a.loss == approx(a.outputs[0].loss + a.outputs[1].loss).epsilon(1e-12));
}

TEST_CASE("outputs: monitors are typed, and name an output of the network") {
  dataset const data = drawn(16);
  trainer t = compile<two_heads>(reference{}, sgd{});
  auto const stop = std::make_shared<early_stopping<val_output_loss<"late">>>(early_stopping_options{.patience = 1000});
  static_assert(std::string_view(val_output_accuracy<"late">::name) == "val_late_acc");
  static_assert(std::string_view(output_loss<"main">::name) == "main_loss");
  static_assert(output_accuracy<"late">::more_is_better && !output_accuracy<"late">::of_validation);
  history const h = t.fit(data, {.epochs = 2, .batch_size = 8, .validation = &data, .callbacks = {stop}});
  epoch_record const& e = h.epochs[1];
  CHECK(val_output_loss<"late">::of(e) == e.validation.outputs[2].loss);
  CHECK(output_accuracy<"early">::of(e) == e.train.outputs[1].acc);
  refuses<option_error>([&] { t.fit(data, {.batch_size = 8, .callbacks = {early_stopping<output_loss<"other">>()}}); },
                        {"its output must be one of main, early, late; found other"});
  trainer plain = compile<network<image<2, 6, 6>, flatten, dense<3>, softmax>>(reference{}, sgd{});
  refuses<option_error>(
      [&] { plain.fit(data, {.batch_size = 8, .callbacks = {early_stopping<output_loss<"main">>()}}); },
      {"has only one output", "found a metric of an output main"});
}

TEST_CASE("outputs: weights and losses that do not suit them are refused") {
  auto const with = [](std::vector<output_weight> weights) {
    compile<two_heads>(reference{}, sgd{}, {.loss_weights = std::move(weights)});
  };
  refuses<option_error>([&] { with({{"other", 1}}); }, {"main, early, late", "found other"});
  refuses<option_error>([&] { with({{"late", -1}}); }, {"loss_weights", "at least 0", "-1"});
  refuses<option_error>([&] { with({{"late", std::numeric_limits<double>::quiet_NaN()}}); }, {"loss_weights"});
  refuses<option_error>([&] { with({{"late", 0}, {"early", 0}, {"main", 0}}); }, {"at least one", "above 0"});
  with({{"late", 0}, {"early", 0}});
  using unfinished = network<features<4>, dense<6>, relu, named_output<"head", dense<3>>, dense<3>, softmax>;
  refuses<option_error>([&] { compile<unfinished>(reference{}, sgd{}, {.seed = 1}); },
                        {"softmax", "dense", "the end of output head"});
  compile<unfinished>(reference{}, sgd{}, {.loss = loss::mean_squared_error});
  engine_options const one{}, ones{.loss_weights = {1, 1, 1}}, two{.loss_weights = {1, 1, 0.5}};
  CHECK(detail::fingerprint_of(one, two_heads::view()) == detail::fingerprint_of(ones, two_heads::view()));
  CHECK(detail::fingerprint_of(one, two_heads::view()) != detail::fingerprint_of(two, two_heads::view()));
}
