// SPDX-License-Identifier: MIT
// Compares optimizers with recurrences in double, written here as in Keras's and PyTorch's sources; also tests
// gradients clipped on one device, on several and by towers, smoothed labels, invalid options, and a checkpoint.
#include "support/one_batch.hpp"
#include "support/catch.hpp"
#include "support/recurrences.hpp"
#include "support/words.hpp"

#include <dsl/dsl.hpp>
#include <dsl/executors/host/loss.hpp>
#include <dsl/executors/host/squares.hpp>
#include <dsl/executors/host/update.hpp>
#include <dsl/executors/reference/engine.hpp>
#include <dsl/io/checkpoint.hpp>
#include <dsl/placement.hpp>
#include <dsl/towers.hpp>
#include <dsl/towers/engine.hpp>
#include <dsl/towers/consistency_check.hpp>
#include <dsl/training/initialize.hpp>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace {

using namespace dsl;
using dsl::test::recurrence;
using dsl::test::recurrences;

using model = network<image<3, 8, 8>, conv2d<4, 3>, relu, max_pool2d<2, 2>, flatten, dense<3>, softmax>;
using placed = network<image<3, 8, 8>, conv2d<4, 3>, relu, on<device<1>, max_pool2d<2, 2>, flatten, dense<3>, softmax>>;

bool const silent = (on_warning = [](char const*) {}, true);

// The memory that a network needs with an optimizer is a constant.
static_assert(sgd{}.slots() == 0 && sgd{.momentum = 0.9}.slots() == 1);
static_assert(adam{}.slots() == 2 && adamw{}.slots() == 2);
static_assert(
    verify(model::view(), make_plan(model::view(), {.batch = 4, .optimizer_slots = 2, .gradient_norm = true})).holds());
static_assert(rmsprop{}.slots() == 1 && rmsprop{.momentum = 0.9, .centered = true}.slots() == 3);
static_assert(model::training_bytes(4, {}, adam{}.slots()) ==
              model::training_bytes(4, {}, 0) +
                  2 * (model::training_bytes(4, {}, 1) - model::training_bytes(4, {}, 0)));

struct batch_of {
  std::vector<float> images;
  std::vector<std::int32_t> labels;
};
batch_of batch_at(graph_view const& g, int step, int size) {
  batch_of b;
  long long const each = g.output_shape(g.nodes[0]).size();
  for (long long i = 0; i < size * each; ++i)
    b.images.push_back(static_cast<float>(std::sin(0.37 * static_cast<double>(i) + 1.3 * step)));
  for (int n = 0; n < size; ++n) b.labels.push_back((n + step) % 3);
  return b;
}

std::vector<double> parameters_of(engine& e) {
  std::vector<double> all;
  auto* const exact = dynamic_cast<plain::engine<double>*>(&e);
  for (int k = 0; k < e.graph().size.parameters; ++k) {
    std::vector<float> v(static_cast<std::size_t>(e.graph().parameters[k].count()));
    e.read_parameter(k, v.data());
    if (exact)
      all.insert(all.end(), exact->parameter_data(k), exact->parameter_data(k) + v.size());
    else
      all.insert(all.end(), v.begin(), v.end());
  }
  return all;
}
std::vector<double> gradients_of(plain::engine<double>& e) {
  std::vector<double> all;
  for (int k = 0; k < e.graph().size.parameters; ++k)
    all.insert(all.end(), e.parameter_gradient_data(k), e.parameter_gradient_data(k) + e.graph().parameters[k].count());
  return all;
}
double length(std::vector<double> const& v) {
  double sum = 0;
  for (double x : v) sum += x * x;
  return std::sqrt(sum);
}
double distance(std::vector<double> const& a, std::vector<double> const& b) {
  REQUIRE(a.size() == b.size());
  std::vector<double> d(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) d[i] = a[i] - b[i];
  return length(d) / length(b);
}

template <class Network>
engine_options options_for(update_rule const& rule) {
  return {.seed = 3, .update = rule, .verify = &verify, .micro_batches = detail::micro_batches<Network>};
}

void train_step(engine& e, int s, int size, double rate = 0.05) {
  int const program = e.prepare(mode::training, size);
  batch_of const b = batch_at(e.graph(), s, size);
  e.run(program, test::one_batch{b.images.data(), {b.labels.data()}, size, static_cast<std::uint64_t>(s), rate});
}

template <class Network>
std::vector<double> trained(update_rule const& rule, towers const& t, int steps = 12, int size = 10) {
  engine_options o = options_for<Network>(rule);
  if (Network::device_count > 1) o.make_thread_team = &host::make_thread_team;
  std::unique_ptr<engine> const e = make_towers(reference<double>{}, Network::view(), o, t);
  initialize(*e, 3);
  for (int s = 0; s < steps; ++s) train_step(*e, s, size);
  auto* const group = dynamic_cast<detail::towers_engine*>(e.get());
  if (!group) return parameters_of(*e);
  for (int i = 1; i < t.count; ++i) CHECK(parameters_of(group->at(i)) == parameters_of(group->at(0)));  // bit by bit
  return parameters_of(group->at(0));
}

std::string message_of(update_rule (*rule)()) {
  try {
    rule();
  } catch (option_error const& e) {
    return e.what();
  }
  return "";
}

}  // namespace

TEST_CASE("optimizers: every rule follows its recurrence in double, at a changing rate", "[trainer]") {
  for (recurrence const& wanted : recurrences()) {
    INFO(wanted.name);
    int const count = 37, steps = 30;
    std::vector<double> p, p_wanted, gradient(count);
    std::vector<double> slots(static_cast<std::size_t>(count * wanted.rule.slots()));
    for (int i = 0; i < count; ++i) p.push_back(std::sin(i + 1.0));
    p_wanted = p;
    std::vector<test::recurrence_state> state(count);
    for (int s = 0; s < steps; ++s) {
      double const rate = 0.01 / (1 + s);
      for (int i = 0; i < count; ++i) gradient[static_cast<std::size_t>(i)] = std::cos(0.7 * i * s + i) * (i % 5);
      host::update<double>({&wanted.rule, rate, static_cast<std::uint64_t>(s), 1, p.data(), gradient.data(),
                            slots.data(), count, count});
      for (std::size_t i = 0; i < p.size(); ++i) wanted.step(state[i], s + 1, rate, p_wanted[i], gradient[i]);
    }
    for (std::size_t i = 0; i < p.size(); ++i) CHECK(p[i] == approx(p_wanted[i]).epsilon(1e-11));
  }
}

TEST_CASE("optimizers: rules that differ in where epsilon is or when decay comes give other weights", "[trainer]") {
  auto const after = [](update_rule const& r) {
    double p = 1, slots[3] = {};
    for (std::uint64_t s = 0; s < 3; ++s) {
      double const g = 1e-7;  // near epsilon, so that the place of epsilon matters
      host::update<double>({&r, 0.1, s, 1, &p, &g, slots, 1, 1});
    }
    return p;
  };
  CHECK(std::fabs(after(adam{.epsilon = 1e-8}.rule()) -
                  after(adam{.epsilon = 1e-8, .corrected_epsilon = true}.rule())) > 1e-2);
  CHECK(std::fabs(after(rmsprop{}.rule()) - after(rmsprop{.epsilon_in_root = true}.rule())) > 1e-2);
  CHECK(std::fabs(after(adam{.weight_decay = 0.01}.rule()) - after(adamw{.weight_decay = 0.01}.rule())) > 1e-2);
  double const coupled = after(rmsprop{.weight_decay = 0.01}.rule());
  CHECK(std::fabs(coupled - after(rmsprop{.weight_decay = 0.01, .decoupled_decay = true}.rule())) > 1e-2);
}

TEST_CASE("optimizers: an engine's step is that of its rule, with the trainer's count of steps", "[trainer]") {
  for (recurrence const& wanted : recurrences()) {
    INFO(wanted.name);
    plain::engine<double> e(model::view(), options_for<model>(wanted.rule), reference<double>::target);
    initialize(e, 3);
    std::vector<double> p = parameters_of(e);
    std::vector<test::recurrence_state> state(p.size());
    for (int s = 0; s < 4; ++s) {
      train_step(e, s, 6);
      std::vector<double> const g = gradients_of(e);
      for (std::size_t i = 0; i < p.size(); ++i) wanted.step(state[i], s + 1, 0.05, p[i], g[i]);
    }
    CHECK(distance(parameters_of(e), p) < 1e-12);
  }
}

TEST_CASE("optimizers: towers of unequal parts train as one device", "[trainer][towers]") {
  for (update_rule const& rule :
       {adam{}.rule(), adamw{.weight_decay = 0.1}.rule(), rmsprop{.momentum = 0.9, .centered = true}.rule(),
        sgd{.momentum = 0.9, .clip = {.norm = 0.3}}.rule(), adam{.clip = {.norm = 0.3, .value = 0.05}}.rule()}) {
    std::vector<double> const one = trained<model>(rule, {});
    CHECK(distance(trained<model>(rule, {.count = 3}), one) < 1e-9);
    CHECK(distance(trained<model>(rule, {.count = 4, .policy = all_reduce}), one) < 1e-9);
    // one of the towers is empty
    CHECK(distance(trained<model>(rule, {.count = 3}, 12, 2), trained<model>(rule, {}, 12, 2)) < 1e-9);
  }
}

TEST_CASE("clipping: the gradients of all devices together are brought to the norm, then to the value", "[trainer]") {
  auto const moved = [](gradient_clip const& clip, std::vector<double>& gradient) {
    update_rule const rule = sgd{.clip = clip}.rule();
    plain::engine<double> e(model::view(), options_for<model>(rule), reference<double>::target);
    initialize(e, 3);
    std::vector<double> const before = parameters_of(e);
    train_step(e, 0, 6, 1);
    gradient = gradients_of(e);
    std::vector<double> by = parameters_of(e);
    for (std::size_t i = 0; i < by.size(); ++i) by[i] = before[i] - by[i];
    return by;
  };
  std::vector<double> g;
  std::vector<double> const free = moved({}, g);
  double const whole = length(g);
  CHECK(length(free) == approx(whole).epsilon(1e-12));

  CHECK(moved({.norm = 2 * whole}, g) == free);  // to the bit
  std::vector<double> by = moved({.norm = whole / 3}, g);
  CHECK(length(g) == approx(whole).epsilon(1e-14));  // the gradients do not change
  for (std::size_t i = 0; i < by.size(); ++i) CHECK(by[i] == approx(g[i] / 3).epsilon(1e-9).margin(1e-12));
  by = moved({.norm = whole / 3, .norm_epsilon = whole}, g);  // PyTorch adds 1e-6 there
  for (std::size_t i = 0; i < by.size(); ++i) CHECK(by[i] == approx(g[i] / 6).epsilon(1e-9).margin(1e-12));

  double const most = std::fabs(*std::max_element(g.begin(), g.end())) / 4;
  by = moved({.value = most}, g);
  for (std::size_t i = 0; i < by.size(); ++i)
    CHECK(by[i] == approx(std::clamp(g[i], -most, most)).epsilon(1e-9).margin(1e-12));
  by = moved({.norm = whole / 2, .value = most}, g);
  for (std::size_t i = 0; i < by.size(); ++i)
    CHECK(by[i] == approx(std::clamp(g[i] / 2, -most, most)).epsilon(1e-9).margin(1e-12));
}

TEST_CASE("clipping: a value bounds the gradient and not what L2 decay adds to it", "[trainer]") {
  // As in PyTorch, gradients are clipped before the optimizer sees them. The rate is 0.1, and 0.1 times p = 10 is 1.
  update_rule const rule = sgd{.weight_decay = 0.1, .clip = {.value = 0.5}}.rule();
  auto const after = [&](double g) {
    double p = 10;
    host::update_by_sgd<double>({&rule, 0.1, 0, 1, &p, &g, nullptr, 1, 1});
    return p;
  };
  CHECK(after(0) == approx(9.9).epsilon(1e-14));
  CHECK(after(7) == approx(9.85).epsilon(1e-14));
  CHECK(after(-7) == approx(9.95).epsilon(1e-14));
}

TEST_CASE("clipping: a network on two devices, also in micro-batches and towers, is clipped as a whole", "[trainer]") {
  update_rule const rule = adam{.clip = {.norm = 0.2}}.rule();
  std::vector<double> const one = trained<model>(rule, {});
  CHECK(distance(trained<model>(adam{}.rule(), {}), one) > 1e-6);  // weight decay has an effect here
  CHECK(distance(trained<placed>(rule, {}), one) < 1e-9);
  CHECK(distance(trained<pipeline<3, placed>>(rule, {}), one) < 1e-9);
  CHECK(distance(trained<placed>(rule, {.count = 2}), one) < 1e-9);
}

TEST_CASE("clipping: squares are added up in an order of their own, whatever shares they come in", "[trainer]") {
  std::vector<float> v(3 * host::square_chunk + 777);
  double exact = 0;
  for (std::size_t i = 0; i < v.size(); ++i) {
    v[i] = static_cast<float>(std::sin(0.01 * static_cast<double>(i)));
    exact += static_cast<double>(v[i]) * static_cast<double>(v[i]);
  }
  auto const count = static_cast<long long>(v.size());
  double const all = host::sum_of_squares(v.data(), count);
  CHECK(all == approx(exact).epsilon(1e-13));
  CHECK(host::square_chunks(count) == 4);
  update_rule const rule{.clip = {.norm = 1}}, torch{.clip = {.norm = 1, .norm_epsilon = 1e-6}};
  CHECK(rule.scale_for(0) == 1);
  CHECK(rule.scale_for(1) == 1);
  CHECK(rule.scale_for(4) == 0.5);
  CHECK(torch.scale_for(1) == 1 / (1 + 1e-6));  // PyTorch scales a gradient of exactly that length, too
  CHECK(torch.scale_for(0.9) == 1);
  v[5] = std::nanf("");
  CHECK(std::isnan(rule.scale_for(host::sum_of_squares(v.data(), count))));
}

TEST_CASE("label smoothing: loss and gradient are those of the smoothed target", "[trainer]") {
  double const s = 0.2;
  int const classes = 4;
  double logits[] = {0.3, -1, 2, 0.1}, probabilities[4];
  std::int32_t const label = 3;
  auto const softmax = [&] {
    double sum = 0;
    for (int i = 0; i < classes; ++i) sum += probabilities[i] = std::exp(logits[i]);
    for (double& p : probabilities) p /= sum;
  };
  auto const target = [&](int i) { return (i == label ? 1 - s : 0) + s / classes; };
  auto const loss_now = [&] {
    softmax();
    double all = 0;
    for (int i = 0; i < classes; ++i) all -= target(i) * std::log(probabilities[i]);
    return all;
  };
  double const wanted = loss_now();
  for (bool const from_logits : {true, false}) {
    softmax();
    double metrics[2] = {}, gradient[4] = {};
    host::compute_loss<double>(loss::categorical_crossentropy, from_logits,
                               {probabilities, {classes, 1, 1}, 1, 1, 4, 0}, &label, metrics,
                               {gradient, {classes, 1, 1}, 1, 1, 4, 0}, 1, false, s);
    CHECK(metrics[0] == approx(wanted).epsilon(1e-14));
    CHECK(metrics[1] == 0);
    for (int i = 0; i < classes; ++i) {
      double const analytic = from_logits ? probabilities[i] - target(i) : -target(i) / probabilities[i];
      CHECK(gradient[i] == approx(analytic).epsilon(1e-14));
      if (!from_logits) continue;
      double const h = 1e-6, at = logits[i];
      logits[i] = at + h;
      double const above = loss_now();
      logits[i] = at - h;
      double const below = loss_now();
      logits[i] = at;
      softmax();
      CHECK(gradient[i] == approx((above - below) / (2 * h)).epsilon(1e-7));
    }
  }
}

TEST_CASE("label smoothing: training and evaluation have it; other losses refuse it", "[trainer]") {
  synthetic const pictures = synthetic_pictures(64, 32, 1);
  using small = network<image<3, 32, 32>, avg_pool2d<8, 8>, flatten, dense<10>, softmax>;
  auto const evaluated = [&](double smoothing) {
    trainer t = compile<small>(reference{}, sgd{}, {.seed = 1, .label_smoothing = smoothing});
    return t.evaluate(pictures.test, 16).loss;
  };
  trainer t = compile<small>(reference{}, sgd{}, {.seed = 1});
  std::vector<float> const p = t.predict(pictures.test, 16);
  double wanted = 0;
  for (std::int64_t n = 0; n < 32; ++n)
    for (int i = 0; i < 10; ++i)
      wanted -= ((i == pictures.test.label(n) ? 0.9 : 0) + 0.01) *
                std::log(std::max(1e-37, static_cast<double>(p[static_cast<std::size_t>(10 * n + i)])));
  CHECK(evaluated(0.1) == approx(wanted / 32).epsilon(1e-5));
  CHECK(evaluated(0) != evaluated(0.1));
  for (double wrong : {-0.1, 1.0, std::nan("")})
    CHECK_THROWS_AS(compile<small>(reference{}, sgd{}, {.label_smoothing = wrong}), option_error);
  CHECK(test::thrown<option_error>(
            [] { compile<small>(reference{}, sgd{}, {.loss = loss::mean_squared_error, .label_smoothing = 0.1}); }) ==
        "label_smoothing: it needs the loss categorical_crossentropy; found 0.1 with mean_squared_error; leave it "
        "out, or change the loss");
}

TEST_CASE("optimizers: numbers that make no sense are told by their names", "[trainer]") {
  CHECK(message_of([] { return adam{.beta_1 = 1}.rule(); }) ==
        "adam: beta_1 must be at least 0 and less than 1; found 1");
  CHECK(message_of([] { return adam{.beta_2 = -1}.rule(); }) ==
        "adam: beta_2 must be at least 0 and less than 1; found -1");
  CHECK(message_of([] { return adamw{.epsilon = 0}.rule(); }) ==
        "adamw: epsilon must be at least 1e-30 and less than 1e30; found 0");
  CHECK(message_of([] { return adamw{.epsilon = 1e-31}.rule(); }) ==
        "adamw: epsilon must be at least 1e-30 and less than 1e30; found 1e-31");
  CHECK(message_of([] { return rmsprop{.rho = 1.0000001}.rule(); }) ==
        "rmsprop: rho must be at least 0 and less than 1; found 1.0000001");
  CHECK(message_of([] { return adamw{.weight_decay = -1}.rule(); }) ==
        "adamw: weight_decay must be at least 0 and less than 1e30; found -1");
  CHECK(message_of([] { return rmsprop{.rho = 2}.rule(); }) ==
        "rmsprop: rho must be at least 0 and less than 1; found 2");
  CHECK(message_of([] { return rmsprop{.momentum = 1}.rule(); }) ==
        "rmsprop: momentum must be at least 0 and less than 1; found 1");
  CHECK(message_of([] { return sgd{.clip = {.norm = -1}}.rule(); }) ==
        "sgd: clip.norm must be at least 0 (which clips nothing) and less than 1e30; found -1");
  CHECK(
      message_of([] { return adam{.clip = {.value = std::nan("")}}.rule(); }).starts_with("adam: clip.value must be"));
}

TEST_CASE("optimizers: processes with other numbers, and checkpoints of another rule, are found", "[trainer]") {
  update_rule const rules[] = {sgd{}.rule(),
                               sgd{.momentum = 0.9}.rule(),
                               adam{}.rule(),
                               adam{.corrected_epsilon = true}.rule(),
                               adam{.beta_1 = 0.8}.rule(),
                               adam{.beta_2 = 0.99}.rule(),
                               adam{.weight_decay = 0.004}.rule(),
                               adamw{}.rule(),
                               adam{.clip = {.norm = 1}}.rule(),
                               adam{.clip = {.value = 1}}.rule(),
                               adam{.clip = {.norm = 1, .norm_epsilon = 1e-6}}.rule(),
                               rmsprop{}.rule(),
                               rmsprop{.epsilon_in_root = true}.rule(),
                               sgd{.weight_decay = 0.1}.rule(),
                               sgd{.weight_decay = 0.1, .decoupled_decay = true}.rule(),
                               rmsprop{.centered = true}.rule()};
  auto const fingerprint = [](engine_options const& o) { return detail::fingerprint_of(o, graph_view{}); };
  for (auto const& a : rules)
    for (auto const& b : rules) {
      engine_options x{.update = a}, y{.update = b};
      CHECK((fingerprint(x) == fingerprint(y)) == (&a == &b));
    }
  CHECK(fingerprint({.label_smoothing = 0.1}) != fingerprint({}));
}

TEST_CASE("optimizers: a training with slots goes on from a checkpoint with the same bits", "[trainer]") {
  synthetic const pictures = synthetic_pictures(96, 16, 1);
  using small = network<image<3, 32, 32>, avg_pool2d<8, 8>, flatten, dropout<0.2>, dense<10>, softmax>;
  auto const made = [] {
    return compile<small>(reference{}, adamw{.learning_rate = 0.01, .clip = {.norm = 0.5}},
                          {.seed = 5, .label_smoothing = 0.1});
  };
  trainer whole = made(), first = made(), second = made();
  whole.fit(pictures.train, {.epochs = 3, .batch_size = 16});
  history const past = first.fit(pictures.train, {.epochs = 2, .batch_size = 16});
  CHECK(whole.engine().options().update.slots() == 2);
  std::string const bytes = checkpoint(first, past);
  restore(second, bytes, "here");
  second.fit(pictures.train, {.epochs = 3, .batch_size = 16, .initial_epoch = 2});
  CHECK(detail::fingerprint_of(second.engine()) == detail::fingerprint_of(whole.engine()));
  for (int slot : {0, 1}) {  // both slots are compared
    std::uint64_t const before = detail::fingerprint_of(second.engine());
    std::vector<float> numbers(static_cast<std::size_t>(second.graph().parameters[0].count()));
    second.engine().read_slot(slot, 0, numbers.data());
    numbers.back() += 1;
    second.engine().write_slot(slot, 0, numbers.data());
    CHECK(detail::fingerprint_of(second.engine()) != before);
  }
  trainer other = compile<small>(reference{}, adam{.learning_rate = 0.01}, {.seed = 5});
  CHECK_THROWS_AS(restore(other, bytes, "here"), file_error);
}
