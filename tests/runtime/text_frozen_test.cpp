// SPDX-License-Identifier: MIT
// Layers within frozen<...>: what training must not change, what it must change all the same, and that nothing of a
// frozen body is planned which only training needs. That plans and gradients are right is what random networks with
// frozen nodes show elsewhere: plan_mutation, gradients and the conformance tests.
#include "support/catch.hpp"
#include "support/temporary_directory.hpp"
#include "support/words.hpp"

#include <dsl/dsl.hpp>
#include <dsl/executors/native.hpp>
#include <dsl/io/checkpoint.hpp>
#include <dsl/towers.hpp>

#include <cmath>
#include <string>
#include <vector>

using namespace dsl;

namespace {

struct body : sequential<conv2d<16, 3>, batch_norm<>, relu, max_pool2d<2>, conv2d<16, 3>, relu> {};
using image_8 = image<3, 8, 8>;
using whole = network<image_8, body, dropout<0.3>, flatten, dense<4>, softmax>;
using headed = network<image_8, frozen<body>, dropout<0.3>, flatten, dense<4>, softmax>;
/// A layer that learns in front of a frozen one: gradients go through.
using between = network<image_8, conv2d<16, 3>, batch_norm<>, relu, frozen<conv2d<16, 3>, batch_norm<>, relu>, flatten,
                        dense<4>, softmax>;
using nothing_learns = network<image_8, frozen<body>, flatten, frozen<dense<4>>, softmax>;

static_assert(verified<headed> && verified<between> && verified<nothing_learns>);
static_assert(headed::parameter_count == whole::parameter_count);
// The head alone has gradients and slots: its weights and bias, on lines of 64 bytes each.
static_assert(headed::trainable_parameter_count == 16 * 4 * 4 * 4 + 4);
static_assert(2 * headed::training_bytes(64) < whole::training_bytes(64));
static_assert(headed::inference_bytes(64) == whole::inference_bytes(64));

std::vector<std::vector<float>> parameters_of(trainer& t) {
  std::vector<std::vector<float>> all;
  for (int k = 0; k < t.graph().size.parameters; ++k) {
    all.emplace_back(static_cast<std::size_t>(t.graph().parameters[k].count()));
    t.engine().read_parameter(k, all.back().data());
  }
  return all;
}

dataset pictures(std::int64_t count = 48) {
  std::vector<float> numbers(static_cast<std::size_t>(count * 3 * 8 * 8));
  std::vector<std::int32_t> labels;
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i * i % 23) / 11 - 1;
  for (std::int64_t i = 0; i < count; ++i) labels.push_back(static_cast<std::int32_t>(i % 4));
  return in_memory_classes({3, 8, 8}, std::move(numbers), 4, std::move(labels));
}

/// Running statistics that are neither 0 nor 1.
void make_worn(trainer& t) {
  for (int k = 0; k < t.graph().size.parameters; ++k) {
    parameter const& p = t.graph().parameters[k];
    std::vector<float> v(static_cast<std::size_t>(p.count()));
    t.engine().read_parameter(k, v.data());
    for (std::size_t i = 0; i < v.size(); ++i) v[i] += p.is_statistic() ? 0.1F * static_cast<float>(i % 5) : 0.01F;
    t.engine().write_parameter(k, v.data());
  }
}

template <class Model, class Executor>
void check_that_it_stays(Executor const& on) {
  trainer t = compile<Model>(on, adam{.learning_rate = 1e-2}, {.seed = 3});
  make_worn(t);
  auto const before = parameters_of(t);
  t.fit(pictures(), {.epochs = 2, .batch_size = 7});
  auto const after = parameters_of(t);
  for (int k = 0; k < t.graph().size.parameters; ++k) {
    parameter const& p = t.graph().parameters[k];
    if (p.role == role::bias && t.graph().nodes[p.node].kind == op::conv2d && !p.frozen) continue;  // cancelled
    INFO("parameter " << k << " of node " << p.node);
    CHECK((before[static_cast<std::size_t>(k)] == after[static_cast<std::size_t>(k)]) == p.frozen);
  }
}

}  // namespace

TEST_CASE("frozen: training changes nothing of it, and everything else", "[frozen]") {
  check_that_it_stays<headed>(reference<float>{});
  check_that_it_stays<between>(reference<float>{});
  check_that_it_stays<headed>(native{.threads = 2});
  check_that_it_stays<between>(native{.threads = 2});
  check_that_it_stays<replicate<2, between>>(reference<float>{});
  check_that_it_stays<replicate<3, headed>>(native{.threads = 1});
}

TEST_CASE("frozen: towers learn what one device does", "[frozen][towers]") {
  // With a batch_norm that learns each tower would have moments of its own.
  trainer head = compile<headed>(reference<double>{}, sgd{.learning_rate = 0.1}, {.seed = 5});
  trainer heads = compile<replicate<2, headed>>(reference<double>{}, sgd{.learning_rate = 0.1}, {.seed = 5});
  head.fit(pictures(), {.epochs = 1, .batch_size = 16});
  heads.fit(pictures(), {.epochs = 1, .batch_size = 16});
  auto const a = parameters_of(head), b = parameters_of(heads);
  for (std::size_t k = 0; k < a.size(); ++k)
    for (std::size_t i = 0; i < a[k].size(); ++i) CHECK(a[k][i] == approx(b[k][i]).epsilon(1e-5).margin(1e-6));
}

namespace {

/// Takes files of From's to To's trainer: weights alone, and those of a whole state.
template <class From, class To, class Optimizer>
void check_files(Optimizer const& rule) {
  test::temporary_directory const here;
  trainer learnt = compile<From>(reference<float>{}, rule, {.seed = 1});
  history const past = learnt.fit(pictures(), {.epochs = 1, .batch_size = 8});
  save_weights(learnt, here / "w");
  write_checkpoint(checkpoint(learnt, past), here / "state");
  for (char const* file : {"w", "state"}) {
    INFO(file);
    trainer t = compile<To>(reference<float>{}, rule, {.seed = 2});
    load_weights(t, here / file);
    CHECK(parameters_of(t) == parameters_of(learnt));
  }
  trainer t = compile<To>(reference<float>{}, rule, {.seed = 1});
  test::refuses<file_error>([&] { restore(t, read_checkpoint(here / "state"), "a state"); }, {"frozen part"});
  trainer again = compile<From>(reference<float>{}, rule, {.seed = 1});
  restore(again, read_checkpoint(here / "state"), "a state");
  again.fit(pictures(), {.epochs = 2, .batch_size = 8, .initial_epoch = 1});
  trainer undisturbed = compile<From>(reference<float>{}, rule, {.seed = 1});
  undisturbed.fit(pictures(), {.epochs = 2, .batch_size = 8});
  CHECK(parameters_of(again) == parameters_of(undisturbed));
}

/// As many slots in another place.
using first_frozen = network<image_8, frozen<conv2d<3, 3>>, relu, conv2d<3, 3>, flatten, dense<4>, softmax>;
using second_frozen = network<image_8, conv2d<3, 3>, relu, frozen<conv2d<3, 3>>, flatten, dense<4>, softmax>;

}  // namespace

TEST_CASE("frozen: weights go between a network and its frozen twin, a run's state does not", "[frozen]") {
  check_files<whole, headed>(sgd{});
  check_files<whole, headed>(adam{});
  check_files<headed, whole>(sgd{.momentum = 0.9});
  check_files<first_frozen, second_frozen>(sgd{.momentum = 0.9});
}

TEST_CASE("frozen: a network in which nothing learns is an error before the first step", "[frozen]") {
  trainer t = compile<nothing_learns>(reference<float>{}, sgd{});
  test::refuses<option_error>([&] { t.fit(pictures(), {.epochs = 1, .batch_size = 8}); },
                              {"fit: the network must have a parameter to train; found ", "all of them frozen"});
  CHECK(t.evaluate(pictures()).loss > 0);
}
