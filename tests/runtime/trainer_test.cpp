// SPDX-License-Identifier: MIT
// Tests what fit, evaluate, predict and train_on_batch promise, on pictures that are easy to classify.
#include "support/one_batch.hpp"
#include "support/catch.hpp"
#include "support/running_moments.hpp"
#include "support/warnings.hpp"

#include <dsl/data/augment.hpp>
#include <dsl/dsl.hpp>
#include <dsl/executors/dropout.hpp>
#include <dsl/executors/host/engine.hpp>
#include <dsl/executors/host/loss.hpp>
#include <dsl/executors/host/update.hpp>
#include <dsl/executors/reference/engine.hpp>
#include <dsl/training/initialize.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

using namespace dsl;

namespace {

/// Returns 1x4x4 pictures of three classes: bright on the left, bright on the right, bright at the bottom, with some
/// noise.
dataset toys(int count, std::uint64_t seed = 1) {
  detail::random_stream random(seed, detail::purpose::user, 0);
  std::vector<std::uint8_t> pixels;
  std::vector<std::int32_t> labels;
  for (int n = 0; n < count; ++n) {
    int const label = static_cast<int>(random.below(3));
    labels.push_back(label);
    for (int i = 0; i < 16; ++i) {
      bool const bright = label == 0 ? i % 4 < 2 : label == 1 ? i % 4 >= 2 : i >= 8;
      pixels.push_back(static_cast<std::uint8_t>((bright ? 150 : 20) + random.below(80)));
    }
  }
  dataset data = in_memory_dataset({1, 4, 4}, 3, std::move(pixels), std::move(labels));
  data.mean = mean_picture(data);
  return data;
}

/// Returns other pictures of the same kind, with the training set's mean.
dataset more_toys(dataset const& train, int count) {
  dataset data = toys(count, 2);
  data.mean = train.mean;
  return data;
}

using model = network<image<1, 4, 4>, batch_norm<0.9>, conv2d<4, 3>, relu, dropout<0.2>, flatten, dense<3>, softmax>;

trainer make_trainer(std::uint64_t seed = 1, double rate = 0.05) {
  return compile<model>(reference{}, sgd{.learning_rate = rate, .momentum = 0.9}, {.seed = seed});
}
std::vector<float> weights(trainer& t) {
  std::vector<float> all;
  for (int k = 0; k < t.graph().size.parameters; ++k) {
    auto const count = static_cast<std::size_t>(t.graph().parameters[k].count());
    all.resize(all.size() + count);
    t.engine().read_parameter(k, all.data() + all.size() - count);
  }
  return all;
}
template <class T>
bool same_bits(std::vector<T> const& a, std::vector<T> const& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}
std::vector<double> figures(history const& h) {
  std::vector<double> all;
  for (epoch_record const& e : h.epochs)
    all.insert(all.end(), {e.train.loss, e.train.acc, e.validation.loss, e.validation.acc, e.learning_rate});
  return all;
}

/// Runs f, which must throw an E whose message contains all the words.
template <class E, class F>
void must_throw(F f, std::initializer_list<char const*> words) {
  try {
    f();
  } catch (E const& e) {
    INFO(e.what());
    for (char const* word : words) {
      INFO("without \"" << word << "\"");
      CHECK(std::string(e.what()).find(word) != std::string::npos);
    }
    return;
  } catch (std::exception const& e) {
    FAIL_CHECK("another exception: " << e.what());
    return;
  }
  FAIL_CHECK("nothing thrown; expected \"" << *words.begin() << "\"");
}

}  // namespace

TEST_CASE("fit: history, steps and validation", "[trainer]") {
  dataset const train = toys(50), test = more_toys(train, 29);
  trainer t = make_trainer();
  history const h = t.fit(train, {.epochs = 4, .batch_size = 8, .validation = &test});
  REQUIRE(h.epochs.size() == 4);
  CHECK(t.steps() == 4 * (50 / 8));
  for (std::size_t e = 0; e < 4; ++e) {
    CHECK(h.epochs[e].epoch == static_cast<int>(e));
    CHECK(h.epochs[e].validated);
    CHECK(h.epochs[e].learning_rate == 0.05);
    CHECK(h.epochs[e].seconds > 0);
    CHECK(h.epochs[e].images_per_second > 0);
    CHECK((h.epochs[e].train.acc >= 0 && h.epochs[e].train.acc <= 1));
  }
  // 29 pictures in batches of 8, 8, 8, 5 or in one batch: each picture counts the same
  for (int batch : {1, 5, 8, 29, 100}) {
    scores const s = t.evaluate(test, batch);
    CHECK(s.loss == approx(h.epochs[3].validation.loss).epsilon(1e-5));
    CHECK(s.acc == approx(h.epochs[3].validation.acc));
  }
  CHECK_FALSE(t.fit(train, {.batch_size = 8}).epochs[0].validated);
  CHECK(t.steps() == 5 * 6);
}

TEST_CASE("predict gives what evaluate counts", "[trainer]") {
  dataset const data = toys(29);
  trainer t = make_trainer();
  t.fit(data, {.epochs = 3, .batch_size = 8});
  std::vector<float> const p = t.predict(data, 8);
  REQUIRE(p.size() == 29 * 3);
  double loss = 0, right = 0;
  for (int n = 0; n < 29; ++n) {
    float const* const row = p.data() + static_cast<std::ptrdiff_t>(n) * 3;
    CHECK(row[0] + row[1] + row[2] == approx(1).epsilon(1e-5));
    loss -= std::log(static_cast<double>(row[data.label(n)]));
    right += std::max_element(row, row + 3) - row == data.label(n);
  }
  scores const s = t.evaluate(data, 8);
  CHECK(s.loss == approx(loss / 29).epsilon(1e-5));
  CHECK(s.acc == approx(right / 29));

  std::vector<float> pictures(29 * 16), one(29 * 3);
  for (std::size_t i = 0; i < pictures.size(); ++i)
    pictures[i] = static_cast<float>(data.pixels(static_cast<std::int64_t>(i / 16))[i % 16]) - (*data.mean)[i % 16];
  t.predict_on_batch(pictures.data(), 29, one.data());
  for (std::size_t i = 0; i < one.size(); ++i) CHECK(one[i] == approx(p[i]).epsilon(1e-5));
}

TEST_CASE("evaluate and predict change nothing", "[trainer]") {
  dataset const data = toys(40);
  trainer a = make_trainer(), b = make_trainer();
  a.fit(data, {.epochs = 2, .batch_size = 10});
  b.fit(data, {.epochs = 1, .batch_size = 10});
  b.evaluate(data), b.predict(data, 7);
  b.fit(data, {.epochs = 2, .batch_size = 10, .initial_epoch = 1});
  CHECK(same_bits(weights(a), weights(b)));
}

TEST_CASE("training learns", "[trainer]") {
  dataset const train = toys(240), test = more_toys(train, 90);
  trainer t = make_trainer();
  double const untrained = t.evaluate(test).loss;
  history const h = t.fit(train, {.epochs = 12, .batch_size = 16, .validation = &test});
  CHECK(h.epochs.back().train.loss < 0.3 * h.epochs.front().train.loss);
  CHECK(h.epochs.back().validation.loss < 0.1 * untrained);
  CHECK(h.epochs.back().validation.acc > 0.97);
}

TEST_CASE("train_on_batch is a step of fit", "[trainer]") {
  dataset const data = toys(8);
  trainer a = make_trainer(), b = make_trainer();
  history const h = a.fit(data, {.epochs = 1, .batch_size = 8, .shuffle = false});
  std::vector<float> pictures(8 * 16);
  for (std::size_t i = 0; i < pictures.size(); ++i)
    pictures[i] = static_cast<float>(data.pixels(static_cast<std::int64_t>(i / 16))[i % 16]) - (*data.mean)[i % 16];
  scores const s = b.train_on_batch(pictures.data(), data.storage->labels.data(), 8);
  CHECK(s.loss == h.epochs[0].train.loss);
  CHECK(s.acc == h.epochs[0].train.acc);
  CHECK(same_bits(weights(a), weights(b)));
}

// ---- callbacks -----------------------------------------------------------------------------------------------------
namespace {

struct diary : callback {
  std::vector<std::string> lines;
  int stop_behind_epoch = -1;
  void note(char const* what, fit_run const& r) {
    lines.push_back(std::string(what) + " " + std::to_string(r.epoch) + " " + std::to_string(r.step));
  }
  void on_train_begin(fit_run& r) override { note("train begin", r); }
  void on_epoch_begin(fit_run& r) override { note("epoch begin", r); }
  void on_batch_end(fit_run& r) override {
    note("batch end", r);
    CHECK(r.current.train.loss > 0);
    CHECK(r.steps == 2);
    CHECK(r.batch_size == 10);
    if (r.epoch == stop_behind_epoch) r.stop = true;
  }
  void on_epoch_end(fit_run& r) override {
    note("epoch end", r);
    CHECK(r.past.epochs.size() == static_cast<std::size_t>(r.epoch) + 1);
    CHECK(r.past.epochs.back().train.loss == r.current.train.loss);
  }
  void on_train_end(fit_run& r) override { note("train end", r); }
};

}  // namespace

TEST_CASE("callbacks are called in order", "[trainer]") {
  dataset const data = toys(25);
  trainer t = make_trainer();
  auto const first = std::make_shared<diary>();
  history const h = t.fit(data, {.epochs = 2, .batch_size = 10, .callbacks = {first}});
  CHECK(h.epochs.size() == 2);
  CHECK(first->lines == std::vector<std::string>{"train begin 0 0", "epoch begin 0 0", "batch end 0 0", "batch end 0 1",
                                                 "epoch end 0 2", "epoch begin 1 2", "batch end 1 0", "batch end 1 1",
                                                 "epoch end 1 2", "train end 2 2"});
}

TEST_CASE("stop ends the run after its epoch", "[trainer]") {
  dataset const data = toys(25);
  trainer t = make_trainer();
  auto const stopper = std::make_shared<diary>();
  stopper->stop_behind_epoch = 1;
  CHECK(t.fit(data, {.epochs = 5, .batch_size = 10, .callbacks = {stopper}}).epochs.size() == 2);
  CHECK(t.steps() == 4);  // the last batch of the second epoch was trained, too
  CHECK(stopper->lines.back().starts_with("train end"));
}

TEST_CASE("a schedule sets and records the learning rate", "[trainer]") {
  struct rates : callback {
    std::vector<double> seen;
    void on_batch_end(fit_run& r) override { seen.push_back(r.learning_rate); }
  };
  dataset const data = toys(16);
  trainer t = make_trainer();
  auto const seen = std::make_shared<rates>();
  history const h =
      t.fit(data, {.epochs = 4, .batch_size = 8, .callbacks = {learning_rate_schedule{poly_decay{0.2, 4, 2.0}}, seen}});
  for (std::size_t e = 0; e < 4; ++e) {
    double const wanted = 0.2 * std::pow(1 - static_cast<double>(e) / 4, 2);
    CHECK(h.epochs[e].learning_rate == approx(wanted));
    CHECK(seen->seen[2 * e] == approx(wanted));
    CHECK(seen->seen[2 * e + 1] == approx(wanted));
  }
  CHECK(t.learning_rate() == approx(0.2 / 16));
  CHECK(poly_decay{5e-3, 70, 1.0}(0) == 5e-3);
  CHECK(poly_decay{5e-3, 70, 1.0}(35) == approx(2.5e-3));

  // the changed rate is the one in effect: 0 changes no trainable weight
  trainer still = make_trainer();
  std::vector<float> const before = weights(still);
  still.fit(data, {.epochs = 2, .batch_size = 8, .callbacks = {learning_rate_schedule{[](int) { return 0.0; }}}});
  std::vector<float> const after = weights(still);
  CHECK(before[0] == after[0]);  // gamma
  CHECK(before[2] != after[2]);  // the running mean
  CHECK(before.back() == after.back());
}

TEST_CASE("a rate set after an epoch is the next one's, of another fit, too", "[trainer]") {
  struct halve : callback {
    void on_epoch_end(fit_run& run) override { run.learning_rate /= 2; }
  };
  dataset const data = toys(16);
  trainer at_once = make_trainer(), one_by_one = make_trainer();
  at_once.fit(data, {.epochs = 3, .batch_size = 8, .callbacks = {halve{}}});
  for (int e = 0; e < 3; ++e) {
    history const h =
        one_by_one.fit(data, {.epochs = e + 1, .batch_size = 8, .callbacks = {halve{}}, .initial_epoch = e});
    CHECK(h.epochs[0].learning_rate == 0.05 / (1 << e));
  }
  CHECK(at_once.learning_rate() == 0.05 / 8);
  CHECK(one_by_one.learning_rate() == 0.05 / 8);
  CHECK(same_bits(weights(at_once), weights(one_by_one)));
}

namespace {

/// Sets rates at every kind of moment, with `set`.
template <class Set>
struct gives_rates : callback {
  Set set;
  explicit gives_rates(Set s) : set(s) {}
  void on_train_begin(fit_run& run) override { set(run, 0.04); }
  void on_epoch_begin(fit_run& run) override {
    if (run.epoch == 2) set(run, 0.01);
  }
  void on_batch_end(fit_run& run) override {
    if (run.step == 0) set(run, run.learning_rate / 2);
  }
  void on_epoch_end(fit_run& run) override { set(run, 0.03 / (run.epoch + 1)); }
};
struct gives_up : callback {
  void on_batch_end(fit_run&) override { throw training_error("enough"); }
};

}  // namespace

TEST_CASE("in a callback the trainer's set_learning_rate is the run's", "[trainer]") {
  dataset const data = toys(16);
  trainer by_run = make_trainer(), by_trainer = make_trainer();
  auto const figures_of = [&](trainer& t, auto set) {
    return figures(t.fit(data, {.epochs = 3, .batch_size = 8, .callbacks = {gives_rates{set}}}));
  };
  auto const wanted = figures_of(by_run, [](fit_run& run, double rate) { run.learning_rate = rate; });
  auto const found = figures_of(by_trainer, [](fit_run& run, double rate) { run.trainer.set_learning_rate(rate); });
  CHECK(same_bits(found, wanted));
  CHECK(same_bits(weights(by_trainer), weights(by_run)));
  CHECK(by_run.learning_rate() == 0.01);
  CHECK(by_trainer.learning_rate() == 0.01);

  // at every moment of a run there is one rate
  struct compares : callback {
    void on_batch_end(fit_run& run) override {
      run.learning_rate = 0.5 / static_cast<double>(run.step + 1);
      CHECK(run.trainer.learning_rate() == run.learning_rate);
    }
    void on_epoch_end(fit_run& run) override {
      CHECK(run.trainer.learning_rate() == 0.25);
      run.trainer.set_learning_rate(0.125);
      CHECK(run.learning_rate == 0.125);
    }
  };
  trainer one = make_trainer();
  one.fit(data, {.epochs = 2, .batch_size = 8, .callbacks = {compares{}}});
  CHECK(one.learning_rate() == 0.125);

  // after the run the rate is the trainer's own again, however the run ended
  must_throw<training_error>([&] { by_run.fit(data, {.batch_size = 8, .callbacks = {gives_up{}}}); }, {"enough"});
  for (trainer* t : {&by_run, &by_trainer}) {
    t->set_learning_rate(0.025);
    CHECK(t->learning_rate() == 0.025);
    CHECK(t->fit(data, {.batch_size = 8}).epochs[0].learning_rate == 0.025);
  }
}

namespace {

struct falling {  // a schedule whose rate is negative in its third epoch
  double operator()(int epoch) const { return 0.1 - 0.05 * (epoch + 1) * (epoch > 1 ? 1 : 0); }
};
struct sets_rate : callback {
  int epoch;
  std::int64_t step;
  double rate;
  sets_rate(int e, std::int64_t s, double r) : epoch(e), step(s), rate(r) {}
  void on_batch_end(fit_run& run) override {
    if (run.epoch == epoch && run.step == step) run.learning_rate = rate;
  }
};

}  // namespace

TEST_CASE("a learning rate that is none is refused before its step, by the name of who gave it", "[trainer]") {
  double const nan = std::numeric_limits<double>::quiet_NaN();
  double const infinite = std::numeric_limits<double>::infinity();
  dataset const data = toys(16);
  auto const refuses = [&](std::vector<callback_handle> const& callbacks, std::uint64_t steps,
                           std::initializer_list<char const*> words) {
    trainer t = make_trainer();
    must_throw<option_error>([&] { t.fit(data, {.epochs = 4, .batch_size = 8, .callbacks = callbacks}); }, words);
    CHECK(t.steps() == steps);  // two per epoch
    for (float w : weights(t)) CHECK(std::isfinite(w));
  };
  refuses({learning_rate_schedule{falling{}}}, 4, {"learning_rate_schedule: falling", "-0.05", "epoch 3"});
  refuses({learning_rate_schedule{[](int) { return -1.0; }}}, 0, {"learning_rate_schedule", "-1", "epoch 1"});
  refuses({learning_rate_schedule{[=](int epoch) { return epoch < 1 ? 0.1 : nan; }}}, 2, {"nan", "epoch 2"});
  refuses({learning_rate_schedule{[=](int) { return infinite; }}}, 0, {"inf", "epoch 1"});
  refuses({learning_rate_schedule{poly_decay{-0.1, 4, 1.0}}}, 0, {"poly_decay", "-0.1", "epoch 1"});
  // a schedule that ends before the run does
  refuses({learning_rate_schedule{poly_decay{0.1, 2, 1.0}}}, 6, {"poly_decay", "set for 2 epochs; found epoch 4"});
  refuses({learning_rate_schedule{poly_decay{0.1, 2, 2.0}}}, 6, {"poly_decay", "set for 2 epochs; found epoch 4"});
  // what a callback leaves after the last step is not the trainer's either
  struct spoils : callback {
    void on_train_end(fit_run& run) override { run.learning_rate = -1; }
  };
  trainer spoilt = make_trainer();
  spoilt.fit(data, {.epochs = 1, .batch_size = 8, .callbacks = {spoils{}}});
  CHECK(spoilt.learning_rate() == 0.05);
  // a user's callback, between two steps and after the last one
  refuses({sets_rate{1, 0, -0.5}}, 3, {"learning_rate", "-0.5", "epoch 2 after 1 batch; a callback"});
  refuses({sets_rate{0, 1, nan}}, 2, {"learning_rate", "nan", "epoch 1 after 2 batches", "callback"});

  trainer t = make_trainer();
  must_throw<option_error>([&] { t.set_learning_rate(-1e-3); }, {"set_learning_rate", "-0.001"});
  must_throw<option_error>([&] { t.set_learning_rate(-1e-9); }, {"set_learning_rate", "found -1e-09"});
  must_throw<option_error>([&] { t.set_learning_rate(nan); }, {"set_learning_rate", "nan"});
  CHECK(t.learning_rate() == 0.05);
  CHECK(poly_decay{0.1, 2, 1.0}(2) == 0);
}

// ---- invalid options and failures -----------------------------------------------------------------------------------
TEST_CASE("options that make no sense are refused before the first step", "[trainer]") {
  dataset const data = toys(20);
  trainer t = make_trainer();
  auto const fit = [&](fit_options const& o) { return [&, o] { t.fit(data, o); }; };
  must_throw<option_error>(fit({.epochs = 0}), {"epochs", "1 or more", "0"});
  must_throw<option_error>(fit({.epochs = -3, .batch_size = 8}), {"epochs", "-3"});
  must_throw<option_error>(fit({.batch_size = 0}), {"batch_size", "1 or more", "0"});
  must_throw<option_error>(fit({.batch_size = -1}), {"batch_size", "-1"});
  must_throw<option_error>(fit({.batch_size = 21}), {"batch_size", "21", "20"});
  must_throw<option_error>(fit({.epochs = 2, .batch_size = 8, .initial_epoch = 2}), {"initial_epoch", "2"});
  must_throw<option_error>(fit({.epochs = 2, .batch_size = 8, .initial_epoch = -1}), {"initial_epoch", "-1"});
  must_throw<option_error>(fit({.batch_size = 8, .prefetch = -1}), {"prefetch", "-1"});
  must_throw<option_error>(fit({.batch_size = 8, .loader_threads = 0}), {"threads", "0"});

  dataset wide = data, classes = data;
  wide.sample = {1, 2, 8};
  classes.classes = 4;
  dataset const empty = data.first(0);
  auto const both = [&](dataset const& d, std::initializer_list<char const*> words) {
    must_throw<option_error>([&] { t.fit(d, {.batch_size = 8}); }, words);
    must_throw<option_error>([&] { t.evaluate(d); }, words);
    must_throw<option_error>([&] { t.fit(data, {.batch_size = 8, .validation = &d}); }, words);
  };
  both(wide, {"1x4x4", "1x2x8"});
  both(classes, {"3", "4", "classes"});
  both(empty, {"no samples"});
  dataset bare = data;
  bare.mean = nullptr;
  must_throw<option_error>([&] { t.fit(data, {.batch_size = 8, .validation = &bare}); },
                           {"same mean", "for the training data only", "validation.mean = train.mean"});
  must_throw<option_error>([&] { t.fit(bare, {.batch_size = 8, .validation = &data}); },
                           {"same mean", "for the validation data only"});
  dataset const own_mean = toys(20, 2);
  must_throw<option_error>([&] { t.fit(data, {.batch_size = 8, .validation = &own_mean}); },
                           {"same mean", "two different ones", "validation.mean = train.mean"});
  must_throw<option_error>([&] { t.predict(wide); }, {"1x4x4", "1x2x8"});
  must_throw<option_error>([&] { t.predict(empty); }, {"no samples"});
  CHECK(t.predict(classes).size() == 20 * 3);  // labels don't matter to predict
  must_throw<option_error>([&] { t.evaluate(data, 0); }, {"evaluate: batch_size", "0"});
  must_throw<option_error>([&] { t.predict(data, -2); }, {"predict: batch_size", "-2"});
  CHECK(t.steps() == 0);
}

TEST_CASE("a batch of one's own is checked", "[trainer]") {
  trainer t = make_trainer();
  std::vector<float> const x(2 * 16);
  std::int32_t const negative[] = {0, -1}, large[] = {3, 0};
  float out[3];
  must_throw<option_error>([&] { t.train_on_batch(x.data(), negative, 0); }, {"size", "0"});
  must_throw<option_error>([&] { t.predict_on_batch(x.data(), -1, out); }, {"size", "-1"});
  must_throw<data_error>([&] { t.train_on_batch(x.data(), negative, 2); }, {"labels", "0 to 2", "-1", "sample 1"});
  must_throw<data_error>([&] { t.train_on_batch(x.data(), large, 2); }, {"labels", "0 to 2", "3", "sample 0"});
  int const program = t.engine().prepare(mode::inference, 2);
  must_throw<option_error>([&] { t.engine().run(program, test::one_batch{x.data(), {}, 3}); }, {"2", "3"});
}

TEST_CASE("a trainer without an engine is refused", "[trainer]") {
  must_throw<option_error>([] { trainer(nullptr, 0.1); }, {"trainer: it needs an engine", "found none"});
}

TEST_CASE("optimizers and compile refuse numbers that make no sense", "[trainer]") {
  double const nan = std::numeric_limits<double>::quiet_NaN();
  auto const make = [](sgd const& s, compile_options const& o = {}) {
    return [=] { compile<model>(reference{}, s, o); };
  };
  must_throw<option_error>(make({.learning_rate = -1}), {"learning_rate", "-1"});
  must_throw<option_error>(make({.learning_rate = nan}), {"learning_rate"});
  must_throw<option_error>(make({.momentum = 1}), {"momentum", "1"});
  must_throw<option_error>(make({.momentum = -0.1}), {"momentum"});
  must_throw<option_error>(make({.nesterov = true}), {"nesterov", "momentum"});
  must_throw<option_error>(make({.weight_decay = -1e-4}), {"weight_decay"});
  must_throw<option_error>(make({}, {.batch_norm_momentum = 1}), {"batch_norm_momentum"});
  must_throw<option_error>(make({}, {.batch_norm_momentum = nan}), {"batch_norm_momentum"});
}

TEST_CASE("a loss that is no number ends training and says where", "[trainer]") {
  struct counter : callback {
    int batches = 0;
    int epochs = 0;
    void on_batch_end(fit_run&) override { ++batches; }
    void on_epoch_end(fit_run&) override { ++epochs; }
  };
  dataset const data = toys(40);
  trainer t = make_trainer();
  auto const c = std::make_shared<counter>();
  auto const explode = learning_rate_schedule{[](int epoch) { return epoch < 1 ? 0.01 : 1e29; }};
  try {
    t.fit(data, {.epochs = 3, .batch_size = 8, .callbacks = {explode, c}});
    FAIL("training went on");
  } catch (training_error const& e) {
    std::string const what = e.what();
    INFO(what);
    CHECK(c->epochs == 1);
    CHECK(what.find("epoch 2") != std::string::npos);
    CHECK(what.find("batch " + std::to_string(c->batches - 5 + 1)) != std::string::npos);
    CHECK(what.find("learning rate") != std::string::npos);
  }
}

TEST_CASE("data without a normalisation get that of the weights; another one is refused", "[trainer]") {
  dataset const train = toys(24);
  dataset bare = train, same_numbers = more_toys(train, 10), another = toys(10, 2), scaled = train;
  bare.mean = nullptr;
  same_numbers.mean = std::make_shared<std::vector<float> const>(*train.mean);
  scaled.deviation = std::make_shared<std::vector<float> const>(train.mean->size(), 2.0F);

  trainer t = make_trainer();
  CHECK(t.normalization().empty());
  t.evaluate(bare);  // nothing is known yet
  t.evaluate(train);
  t.fit(train, {.batch_size = 8, .validation = &same_numbers});
  CHECK(t.normalization() == normalization_of(train));
  t.evaluate(same_numbers);
  CHECK(t.predict(bare) == t.predict(train));
  CHECK(t.evaluate(bare).loss == t.evaluate(train).loss);
  must_throw<option_error>([&] { t.predict(another); },
                           {"predict: the data set must have the normalisation of the data", "the mean ",
                            " instead of ", "of the first input", "leave out its mean"});
  must_throw<option_error>([&] { t.evaluate(scaled); },
                           {"evaluate: the data set", "found a deviation of the first input instead of none"});
  must_throw<option_error>([&] { t.fit(another, {.batch_size = 8}); }, {"fit: the data set", "forget_normalization()"});
  CHECK(t.normalization() == normalization_of(train));
  t.forget_normalization();
  t.fit(another, {.batch_size = 8});
  must_throw<option_error>([&] { t.predict(train); }, {"predict: the data set"});

  trainer without = make_trainer();
  without.fit(bare, {.batch_size = 8});
  must_throw<option_error>([&] { without.evaluate(train); }, {"a mean of the first input instead of none"});
  trainer refused = make_trainer();
  struct refuses : callback {
    void on_restore(fit_run&) override { throw file_error("damaged"); }
  };
  CHECK_THROWS_AS(refused.fit(train, {.batch_size = 8, .callbacks = {refuses{}}}), file_error);  // nothing is trained
  refused.evaluate(another);
}

TEST_CASE("a fit on data without a normalisation uses that of the weights", "[trainer]") {
  dataset const train = toys(24), check = more_toys(train, 8);
  dataset bare = train, bare_check = check;
  bare.mean = bare_check.mean = nullptr;
  auto const figures_of = [&](dataset const& second, dataset const& validation) {
    trainer t = make_trainer();
    t.fit(train, {.batch_size = 8});
    history const h = t.fit(second, {.batch_size = 8, .validation = &validation});
    return std::pair(figures(h), weights(t));
  };
  CHECK(figures_of(train, check) == figures_of(bare, bare_check));
}

TEST_CASE("a normalisation must fit the network", "[trainer]") {
  trainer t = make_trainer();
  auto const numbers = [](std::size_t count, float x) { return std::make_shared<std::vector<float> const>(count, x); };
  std::size_t const all = toys(1).mean->size();
  must_throw<data_error>([&] { t.set_normalization({{{"", numbers(3, 1)}}}); },
                         {"the mean of the first input must have", "found 3"});
  must_throw<data_error>([&] { t.set_normalization({{{"", nullptr, numbers(all, 0)}}}); },
                         {"deviation of the first input must be finite and not 0", "found 0 as number 0"});
  must_throw<data_error>([&] { t.set_normalization({{{"weather", numbers(3, 1)}}}); }, {"lacks input \"weather\""});
  t.set_normalization({{{"", numbers(all, 0.5F)}}});
  CHECK((*t.normalization().find("")->mean)[0] == 0.5F);
  must_throw<data_error>([&] { normalize_as(in_memory_dataset({1, 1, 1}, 1, {0}, {0}), t.normalization()); },
                         {"normalize_as", "must have 1 number each"});
}

// ---- the same bits --------------------------------------------------------------------------------------------------
TEST_CASE("the seed alone decides, whatever the loader's threads and depth", "[trainer]") {
  dataset const data = toys(60), test = more_toys(data, 20);
  auto const run = [&](std::uint64_t seed, int threads, int prefetch, bool cache) {
    trainer t = make_trainer(seed);
    history const h = t.fit(data, {.epochs = 3,
                                   .batch_size = 8,
                                   .validation = &test,
                                   .augment = shift_and_flip{.width = 0.3, .height = 0.3},
                                   .prefetch = prefetch,
                                   .loader_threads = threads,
                                   .cache = cache});
    return std::pair(figures(h), weights(t));
  };
  auto const [h, w] = run(1, 1, 0, false);
  for (int threads : {1, 2, 3})
    for (int prefetch : {0, 1, 2, 3})
      for (bool cache : {false, true}) {
        INFO(threads << " threads, prefetch " << prefetch << (cache ? ", cached" : ""));
        auto const [h2, w2] = run(1, threads, prefetch, cache);
        CHECK(same_bits(h, h2));
        CHECK(same_bits(w, w2));
      }
  CHECK_FALSE(same_bits(w, run(2, 1, 0, false).second));
}

TEST_CASE("a run in two pieces is the run in one", "[trainer]") {
  dataset const data = toys(60);
  trainer whole = make_trainer(), pieces = make_trainer();
  history const h = whole.fit(data, {.epochs = 4, .batch_size = 8});
  history const a = pieces.fit(data, {.epochs = 1, .batch_size = 8});
  history const b = pieces.fit(data, {.epochs = 4, .batch_size = 8, .initial_epoch = 1});
  CHECK(a.epochs.size() == 1);
  REQUIRE(b.epochs.size() == 3);
  CHECK(b.epochs[0].epoch == 1);
  CHECK(b.epochs[2].train.loss == h.epochs[3].train.loss);
  CHECK(same_bits(weights(whole), weights(pieces)));
}

// ---- optimizers -----------------------------------------------------------------------------------------------------
TEST_CASE("sgd: one step from p = 1, g = 0.5, v = 0.2 at rate 0.1", "[trainer]") {
  auto const step = [](update_rule const& r, double p_wanted, double v_wanted) {
    double p = 1, v = 0.2;
    double const g = 0.5;
    host::update_by_sgd<double>({&r, 0.1, 0, 1, &p, &g, &v, 1, 1});
    CHECK(p == approx(p_wanted).epsilon(1e-14));
    CHECK(v == approx(v_wanted).epsilon(1e-14));
  };
  step({}, 0.95, 0.2);
  step({.weight_decay = 0.01}, 0.949, 0.2);
  // Keras: v = m v - r g; p += v, or p += m v - r g
  step({.momentum = 0.9}, 1.13, 0.13);
  step({.momentum = 0.9, .nesterov = true}, 1.067, 0.13);
  step({.momentum = 0.9, .weight_decay = 0.01}, 1.129, 0.129);
  step({.momentum = 0.9, .weight_decay = 0.01, .nesterov = true}, 1.0651, 0.129);
  // PyTorch: v = m v + g; p -= r v, or p -= r (g + m v)
  step({.momentum = 0.9, .rate_in_velocity = false}, 0.932, 0.68);
  step({.momentum = 0.9, .nesterov = true, .rate_in_velocity = false}, 0.8888, 0.68);
  step({.momentum = 0.9, .weight_decay = 0.01, .nesterov = true, .rate_in_velocity = false}, 0.8869, 0.69);
}

TEST_CASE("sgd: two steps of a network of three numbers, by hand", "[trainer]") {
  // y = w x + b with x = (1, 2) and target 1; loss (y - 1)^2. From w = (0.5, -0.25), b = 0: y = 0, gradient (-2, -4,
  // -2).
  using line = network<features<2>, dense<1>>;
  auto const two_steps = [](sgd const& s, double second_rate) {
    trainer t = compile<line>(reference<double>{}, s, {.loss = loss::mean_squared_error});
    float const w[] = {0.5F, -0.25F}, b[] = {0}, x[] = {1, 2};
    float const target = 1;
    t.engine().write_parameter(0, w);
    t.engine().write_parameter(1, b);
    CHECK(t.train_on_batch(x, &target, 1).loss == 1);
    t.set_learning_rate(second_rate);
    double const loss = t.train_on_batch(x, &target, 1).loss;
    auto& host = dynamic_cast<host::engine<double>&>(t.engine());
    return std::array{loss, host.parameter_data(0)[0], host.parameter_data(0)[1], host.parameter_data(1)[0]};
  };
  auto const check = [](std::array<double, 4> const& found, std::array<double, 4> const& wanted) {
    for (std::size_t i = 0; i < 4; ++i) CHECK(found[i] == approx(wanted[i]).epsilon(1e-12));
  };
  // rate 0.1: w = (0.7, 0.15), b = 0.2; y = 1.2, gradient (0.4, 0.8, 0.4)
  check(two_steps({.learning_rate = 0.1}, 0.1), {0.04, 0.66, 0.07, 0.16});
  check(two_steps({.learning_rate = 0.1, .momentum = 0.9}, 0.1), {0.04, 0.84, 0.43, 0.34});
  // with a smaller rate in the second step, Keras's velocity keeps the old rate, PyTorch's does not
  check(two_steps({.learning_rate = 0.1, .momentum = 0.9}, 0.01), {0.04, 0.876, 0.502, 0.376});
  check(two_steps({.learning_rate = 0.1, .momentum = 0.9, .rate_in_velocity = false}, 0.01),
        {0.04, 0.714, 0.178, 0.214});
}

TEST_CASE("compile's options decide how the running moments of four numbers move, by hand", "[trainer]") {
  for (auto const& [options, wanted] : test::moved_by_one_sample()) {
    INFO("momentum " << options.batch_norm_momentum << (options.unbiased_running_variance ? ", unbiased" : ""));
    test::running_moments const now =
        test::moments_behind_step(compile<test::known_moments<0.8>>(reference{}, sgd{.learning_rate = 0}, options), 1);
    CHECK(now.mean == approx(wanted.mean).epsilon(1e-6));
    CHECK(now.variance == approx(wanted.variance).epsilon(1e-6));
  }
}

// ---- initial weights ------------------------------------------------------------------------------------------------

TEST_CASE("initialize: the numbers that Philox gives for a seed and a parameter's number", "[trainer]") {
  // The numbers were computed from the definition of Philox4x32-10 (Salmon et al. 2011) by an independent program: the
  // key is the seed, the counter is (block, 4, parameter, 0), and the upper 24 bits of each word are a fraction of
  // -limit to limit with limit = sqrt(6 / (fan_in + fan_out)).
  auto const begins = [](graph_view const& g, std::uint64_t seed, int k, std::vector<float> const& wanted) {
    INFO("seed " << seed << ", parameter " << k);
    auto const e = reference{}.make_engine(g, {});
    initialize(*e, seed);
    std::vector<float> all(static_cast<std::size_t>(g.parameters[k].count()));
    e->read_parameter(k, all.data());
    REQUIRE(all.size() >= wanted.size());
    for (std::size_t i = 0; i < wanted.size(); ++i) CHECK(all[i] == approx(wanted[i]).margin(1e-6));
  };
  using flat = network<features<4>, dense<3>, dense<2>>;
  // the limits are sqrt(6/7) and sqrt(6/5); the fifth number is in the second block
  begins(flat::view(), 7, 0, {-0.0471768F, 0.8468767F, 0.8688608F, -0.0463337F, 0.8643467F});
  begins(flat::view(), 7, 2, {-0.8664456F, -0.4064423F, 0.6022843F, 0.2397354F, 0.2048737F});
  begins(flat::view(), (std::uint64_t{1} << 32) + 7, 0, {-0.8518754F, -0.8152732F, -0.3548055F, 0.6172370F});
  for (int bias : {1, 3}) begins(flat::view(), 7, bias, {0, 0});

  // the fans of a 3x3 convolution are 2*9 and 3*9: limit sqrt(6/45), and the bits of the dense layer above
  using pictures = network<image<2, 4, 4>, conv2d<3, 3>, batch_norm<>, flatten, dense<2>, softmax>;
  begins(pictures::view(), 7, 0, {-0.0186068F, 0.3340127F, 0.3426833F, -0.0182742F, 0.3409029F});
  begins(pictures::view(), 7, 1, {0, 0, 0});
  for (int k = 2; k < 6; ++k) {
    role const r = pictures::view().parameters[k].role;
    float const v = r == role::gamma || r == role::moving_variance ? 1.0F : 0.0F;
    REQUIRE((v == 1 || r == role::beta || r == role::moving_mean));
    begins(pictures::view(), 7, k, {v, v, v});
  }
}

TEST_CASE("initialize: an optimizer's slots begin at 0, again, too", "[trainer]") {
  using flat = network<features<4>, dense<3>>;
  auto const e = reference{}.make_engine(flat::view(), {.update = {.momentum = 0.9}});
  std::vector<float> numbers(12, 5);
  e->write_slot(0, 0, numbers.data());
  initialize(*e, 7);
  e->read_slot(0, 0, numbers.data());
  for (float v : numbers) CHECK(v == 0);
}

// ---- layers ---------------------------------------------------------------------------------------------------------
TEST_CASE("dropout keeps its share and scales it up", "[trainer]") {
  int const count = 100'000;
  std::vector<double> const ones(count, 1.0);
  auto const drop = [&](dropout_draw const& draw) {
    std::vector<double> y(ones.size());
    shape const s{10, 100, 100};
    plain::dropout<double>({ones.data(), s, 1, 1, 10, 0}, {y.data(), s, 1, 1, 10, 0}, draw, 0, false);
    return y;
  };
  for (float rate : {0.0F, 0.1F, 0.5F, 0.9F}) {
    std::vector<double> const y = drop({.seed = 3, .step = 8, .node = 2, .rate = rate});
    double const q = static_cast<double>(rate);
    double kept = 0, scaled = 0;
    for (double v : y) kept += v != 0, scaled += std::abs(v - 1 / (1 - q)) < 1e-12;
    CHECK(kept == scaled);
    CHECK(std::abs(kept / count - (1 - q)) <= 4 * std::sqrt(q * (1 - q) / count));  // four standard deviations
  }
  // other seeds, steps and layers draw other numbers: half of the values agree
  dropout_draw const draw{.seed = 3, .step = 8, .node = 2, .rate = 0.5F};
  std::vector<double> const y = drop(draw);
  CHECK(y == drop(draw));
  for (dropout_draw other :
       {dropout_draw{4, 8, 2, 0.5F}, {3, 9, 2, 0.5F}, {3, 8, 5, 0.5F}, {3ULL + (1ULL << 32), 8, 2, 0.5F}}) {
    std::vector<double> const z = drop(other);
    double same = 0;
    for (std::size_t i = 0; i < y.size(); ++i) same += y[i] == z[i];
    CHECK(same / count == approx(0.5).margin(0.01));
  }
}

TEST_CASE("stochastic_depth keeps its share of whole samples and scales them up", "[trainer]") {
  int const samples = 20'000;
  shape const s{3, 1, 2};
  std::vector<double> x(static_cast<std::size_t>(samples * s.size()));
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = 1 + static_cast<double>(i % 7);
  // whether each sample is kept; all values of a sample must be the same multiple
  auto const kept_by = [&](dropout_draw const& draw) {
    std::vector<double> y(x.size());
    plain::stochastic_depth<double>({x.data(), s, samples, 1, 3, 0}, {y.data(), s, samples, 1, 3, 0}, draw, false);
    std::vector<bool> kept;
    int wrong = 0;
    for (std::size_t i = 0; i < y.size(); ++i) {
      if (i % 6 == 0) kept.push_back(y[i] != 0);
      double const wanted = kept.back() ? x[i] / (1 - static_cast<double>(draw.rate)) : 0;
      wrong += std::abs(y[i] - wanted) > 1e-12;
    }
    CHECK(wrong == 0);
    return kept;
  };
  for (float rate : {0.0F, 0.1F, 0.5F, 0.75F}) {
    std::vector<bool> const kept = kept_by({.seed = 3, .step = 8, .node = 2, .rate = rate});
    double const q = static_cast<double>(rate), share = static_cast<double>(std::ranges::count(kept, true)) / samples;
    CHECK(std::abs(share - (1 - q)) <= 4 * std::sqrt(q * (1 - q) / samples));  // four standard deviations
  }
  // a tower that begins at a later sample of the batch draws what the whole batch draws for these samples
  dropout_draw const draw{.seed = 3, .step = 8, .node = 2, .rate = 0.5F};
  std::vector<bool> const kept = kept_by(draw);
  dropout_draw later = draw;
  later.first = 100;
  std::vector<bool> const shifted = kept_by(later);
  CHECK(std::equal(kept.begin() + 100, kept.end(), shifted.begin()));
  CHECK(kept == kept_by(draw));
  for (dropout_draw other :
       {dropout_draw{4, 8, 2, 0.5F}, {3, 9, 2, 0.5F}, {3, 8, 5, 0.5F}, {3ULL + (1ULL << 32), 8, 2, 0.5F}}) {
    std::vector<bool> const z = kept_by(other);
    double same = 0;
    for (std::size_t i = 0; i < kept.size(); ++i) same += kept[i] == z[i];
    CHECK(std::abs(same / samples - 0.5) <= 4 * std::sqrt(0.25 / samples));
  }
}

TEST_CASE("dropout in a network: other values each step, none in inference", "[trainer]") {
  // y is the mean of 2000 ones, of which 70 % are kept as 1 / 0.7; the loss (y - 1)^2 has the mean 0.3 / 0.7 / 2000
  using mean = network<features<2000>, dropout<0.3>, dense<1>>;
  trainer t = compile<mean>(reference{}, sgd{.learning_rate = 0}, {.loss = loss::mean_squared_error});
  std::vector<float> const w(2000, 1.0F / 2000), x(4 * 2000, 1.0F);
  float const targets[4] = {1, 1, 1, 1};
  t.engine().write_parameter(0, w.data());
  double sum = 0;
  std::vector<double> losses;
  for (int step = 0; step < 100; ++step) losses.push_back(t.train_on_batch(x.data(), targets, 4).loss);
  for (double l : losses) sum += l;
  CHECK(sum / 100 == approx(0.3 / 0.7 / 2000).epsilon(4 * std::sqrt(2.0 / 400)));  // chi squared, 400 samples
  CHECK(losses[0] != losses[1]);
  float y[4];
  t.predict_on_batch(x.data(), 4, y);
  for (float v : y) CHECK(v == approx(1).epsilon(1e-4));  // two thousand roundings
}

namespace {

/// A user's layer made of nodes and words: x + a softplus-like function of a convolution of x.
struct bend {
  static constexpr char const* name = "bend";
  template <class T>
  static T value(T x) {
    return x / (1 + std::abs(x));
  }
  template <class T>
  static T derivative(T x) {
    T const d = 1 + std::abs(x);
    return 1 / (d * d);
  }
};
struct own_layer {
  static constexpr value lower(builder& b, value in) {
    value const bent = elementwise<bend>::lower(b, conv2d<4, 3>::lower(b, in));
    value const both[] = {in, bent};
    return b.append({.kind = op::add}, both, 2, in.shape);
  }
};

}  // namespace

TEST_CASE("a user's own layer trains", "[trainer]") {
  using own = network<image<1, 4, 4>, batch_norm<0.9>, conv2d<4, 1>, own_layer, own_layer, flatten, dense<3>, softmax>;
  dataset const data = toys(120);
  trainer t = compile<own>(reference{}, sgd{.learning_rate = 0.02, .momentum = 0.9});
  history const h = t.fit(data, {.epochs = 8, .batch_size = 12});
  CHECK(h.epochs.back().train.loss < 0.2 * h.epochs.front().train.loss);
  CHECK(t.evaluate(data).acc > 0.97);
}

namespace {

struct four : sequential<relu, relu, relu, relu> {};
struct sixteen : sequential<four, four, four, four> {};
struct sixty_four : sequential<sixteen, sixteen, sixteen, sixteen> {};
struct many : sequential<sixty_four, sixty_four, sixty_four, sixty_four> {};
struct too_many : sequential<many, many, many, many> {};

int plans_seen = 0;

}  // namespace

TEST_CASE("plans are checked as the program makes them, where that was asked", "[trainer]") {
  dataset const data = toys(24);
  plans_seen = 0;
  plan_checker const count = [](graph_view const& g, plan const& p) {
    ++plans_seen;
    return verify(g, p);
  };
  trainer t = compile<model>(reference{}, sgd{}, {.verify = count});
  t.fit(data, {.batch_size = 12, .validation = &data});
  CHECK(plans_seen == 2);  // training and evaluation
  CHECK(compile<model>(reference{}, sgd{}).engine().options().verify == nullptr);

  trainer refused = compile<model>(reference{}, sgd{}, {.verify = [](graph_view const&, plan const&) {
                                     return plan_verdict{plan_rule::live_buffers_do_not_overlap, 3, 0};
                                   }});
  must_throw<executor_error>([&] { refused.fit(data, {.batch_size = 12}); },
                             {"plan: ", explain(plan_rule::live_buffers_do_not_overlap), "step 3"});
}

TEST_CASE("the plans of a network too long for the compiler are always checked", "[trainer]") {
  using long_one = network<image<1, 4, 4>, too_many, flatten, dense<3>, softmax>;
  trainer t = compile<long_one>(reference{}, sgd{.learning_rate = 0.01});
  CHECK(t.engine().options().verify == &verify);
  CHECK(std::isfinite(t.fit(toys(24), {.batch_size = 12}).epochs.front().train.loss));
}

TEST_CASE("a batch that memory does not suffice for is refused, again and again, and loses nothing", "[trainer]") {
  trainer t = make_trainer();
  std::vector<float> y(3);
  float const picture[16] = {};
  for (int times = 0; times < 2; ++times)
    CHECK_THROWS_AS(t.predict_on_batch(picture, 2'000'000'000, y.data()), executor_error);
  t.predict_on_batch(picture, 1, y.data());
  CHECK(y[0] + y[1] + y[2] == Approx(1));
  CHECK(t.evaluate(toys(10), 2'000'000'000).loss > 0);  // limited to what there is
  CHECK(t.fit(toys(24), {.batch_size = 12, .prefetch = 2'000'000'000}).epochs.size() == 1);
}

TEST_CASE("an engine refuses programs and batches that can't be", "[trainer]") {
  trainer t = make_trainer();
  engine& e = t.engine();
  int const evaluation = e.prepare(mode::evaluation, 1);
  float const picture[16] = {};
  CHECK_THROWS_AS(e.run(evaluation, test::one_batch{picture, {}, 1, 0, 0}), option_error);
  CHECK_THROWS_AS(e.run(evaluation + 1, test::one_batch{picture, {}, 1, 0, 0}), option_error);
  CHECK_THROWS_AS(e.metrics(-1), option_error);
  float numbers[64] = {};
  int const running = 2;  // a moving mean: it has no optimizer slot
  for (int k : {-1, 99}) {
    CHECK_THROWS_AS(e.read_parameter(k, numbers), option_error);
    CHECK_THROWS_AS(e.write_parameter(k, numbers), option_error);
    CHECK_THROWS_AS(e.read_slot(0, k, numbers), option_error);
  }
  CHECK_THROWS_AS(e.write_slot(1, 0, numbers), option_error);
  CHECK_THROWS_AS(e.write_slot(0, running, numbers), option_error);
}

namespace {

struct meddler : callback {
  void on_epoch_begin(fit_run& run) override { run.steps = 1000, run.batch_size = 1; }
};

}  // namespace

TEST_CASE("a callback that writes what it should only read does no harm", "[trainer]") {
  dataset const data = toys(29);  // two batches of 12 are 24
  auto const trained = [&](fit_options o) {
    o.batch_size = 12;
    return make_trainer().fit(data, o).epochs.at(0);
  };
  auto const pictures = [](epoch_record const& e) { return e.images_per_second * e.seconds; };
  epoch_record const meddled = trained({.callbacks = {meddler{}}}), undisturbed = trained({});
  CHECK(meddled.train.loss == undisturbed.train.loss);
  CHECK(meddled.train.acc == undisturbed.train.acc);
  CHECK(pictures(meddled) == approx(24).epsilon(1e-9));
  CHECK(pictures(undisturbed) == approx(24).epsilon(1e-9));
  CHECK(pictures(trained({.validation = &data})) > 24 * (1 + 1e-9));  // the seconds include both
  CHECK_THROWS_AS(callback_handle(std::shared_ptr<meddler>{}), option_error);
}

TEST_CASE("options out of range are refused", "[trainer]") {
  for (double momentum : {-0.5, 1.0, 2.0, std::numeric_limits<double>::quiet_NaN()})
    CHECK_THROWS_AS(compile<model>(reference{}, sgd{}, {.batch_norm_momentum = momentum}), option_error);
  for (double share : {-5.0, 1.5, 1e30, std::numeric_limits<double>::quiet_NaN()}) {
    CHECK_THROWS_AS(augmentation(shift_and_flip{.width = share}), option_error);
    CHECK_THROWS_AS(augmentation(shift_and_flip{.height = share}), option_error);
  }
  must_throw<option_error>([] { poly_decay{1, 0, 1}(0); }, {"poly_decay: epochs must be 1 or more; found 0"});
  CHECK_THROWS_AS(synthetic_pictures(1LL << 50, 1, 0), option_error);
}

TEST_CASE("bytes of a batch without samples are refused", "[trainer]") {
  int const batch = static_cast<int>(make_trainer().steps());  // 0, but not a constant
  must_throw<option_error>([&] { static_cast<void>(model::training_bytes(batch)); },
                           {"batch", "at least one sample", "0"});
  must_throw<option_error>([&] { static_cast<void>(model::inference_bytes(batch - 2)); }, {"batch", "found -2"});
  CHECK(model::training_bytes(batch + 1) > 0);
}

namespace {

struct own_softmax_op : detail::elementwise_op<bend> {
  static constexpr shape output(shape in) { return in; }
};

}  // namespace

TEST_CASE("cross-entropy is for probabilities", "[trainer]") {
  using logits = network<image<1, 4, 4>, flatten, dense<3>>;
  using squashed = network<image<1, 4, 4>, flatten, dense<3>, sigmoid>;
  auto const make = [](auto net, compile_options const& o) {
    return [=] { compile<typename decltype(net)::type>(reference{}, sgd{}, o); };
  };
  must_throw<option_error>(make(std::type_identity<logits>{}, {}),
                           {"loss: categorical_crossentropy", "softmax", "dense"});
  must_throw<option_error>(make(std::type_identity<squashed>{}, {.seed = 1}),
                           {"softmax", "sigmoid", "mean_squared_error"});
  make(std::type_identity<squashed>{}, {.loss = loss::mean_squared_error})();
  // a layer that only renames a softmax, and one that may be a softmax of the user's own
  make(std::type_identity<network<image<1, 4, 4>, flatten, dense<3>, softmax, flatten>>{}, {})();
  make(std::type_identity<network<image<1, 4, 4>, flatten, dense<3>, custom<own_softmax_op>>>{}, {})();
}

namespace {

/// Computes the loss of one sample among `whole`, whether it counts as correct, and the gradient.
struct lost {
  double loss, right;
  std::vector<double> gradient;
};
template <class T = double>
lost loss_of(std::vector<T> const& y, std::int32_t label, bool from_logits, int whole = 1) {
  double metrics[2] = {3, 3};  // from the previous batch
  std::vector<T> gradient(y.size(), T(9));
  int const outputs = static_cast<int>(y.size());
  host::compute_loss<T>(loss::categorical_crossentropy, from_logits, {y.data(), {outputs, 1, 1}, 1, 1, outputs, 0},
                        &label, metrics, {gradient.data(), {outputs, 1, 1}, 1, 1, outputs, 0}, whole);
  return {metrics[0], metrics[1], {gradient.begin(), gradient.end()}};
}

}  // namespace

TEST_CASE("cross-entropy stays finite where the right class has probability 0", "[trainer]") {
  // without a softmax before it, a probability counts as at least 1e-7, as in Keras: -log 1e-7, and its slope there
  lost const worst = loss_of({0, 1, 0, 0}, 0, false);
  CHECK(worst.loss == approx(16.118095650958).epsilon(1e-12));
  CHECK(worst.right == 0);
  CHECK(worst.gradient[0] == approx(-1e7).epsilon(1e-12));
  for (std::size_t i = 1; i < 4; ++i) CHECK(worst.gradient[i] == 0);
  CHECK(loss_of({0, 1, 0, 0}, 0, false, 4).gradient[0] == approx(-2.5e6).epsilon(1e-12));
  CHECK(loss_of<float>({0, 1, 0, 0}, 0, false).gradient[0] == approx(-1e7).epsilon(1e-6));
  lost const small = loss_of({1e-6, 1 - 1e-6, 0, 0}, 0, false);  // is not
  CHECK(small.loss == approx(13.815510557964).epsilon(1e-12));
  CHECK(small.gradient[0] == approx(-1e6).epsilon(1e-12));
  // with a softmax, whose gradient is bounded anyway, it counts down to 1e-37: 37 log 10
  lost const softmaxed = loss_of({0, 1, 0, 0}, 0, true);
  CHECK(softmaxed.loss == approx(85.195648440779).epsilon(1e-12));
  CHECK(softmaxed.gradient == std::vector<double>{-1, 1, 0, 0});
  // NaN does not become a number
  double const nan = std::numeric_limits<double>::quiet_NaN();
  for (bool const from_logits : {true, false}) {
    lost const none = loss_of({nan, 1, 0, 0}, 0, from_logits);
    CHECK(std::isnan(none.loss));
    CHECK(std::isnan(none.gradient[0]));
  }
}

TEST_CASE("of outputs that are equal the first is the answer", "[trainer]") {
  for (std::int32_t const label : {0, 1, 2, 3}) {
    CHECK(loss_of({.25, .25, .5, .5}, label, false).right == (label == 2 ? 1 : 0));
    CHECK(loss_of({.25, .25, .25, .25}, label, true).right == (label == 0 ? 1 : 0));
  }
}

TEST_CASE("one dense layer can't learn the synthetic pictures", "[trainer]") {
  using flat = network<image<3, 32, 32>, flatten, dense<10>, softmax>;
  synthetic const data = synthetic_pictures(1000, 500, 1);
  trainer t = compile<flat>(reference{}, sgd{.learning_rate = 3e-5, .momentum = 0.9});
  double best = 0, learnt = 0;
  for (epoch_record const& e : t.fit(data.train, {.epochs = 6, .batch_size = 20, .validation = &data.test}).epochs)
    best = std::max(best, e.validation.acc), learnt = std::max(learnt, e.train.acc);
  CHECK(learnt > 0.3);  // it does learn
  CHECK(best < 0.6);
}
