// SPDX-License-Identifier: MIT
// Tests predictors: what they hold, weights that several of them share, and what is refused.
#include "support/catch.hpp"
#include "support/words.hpp"

#include <dsl/dsl.hpp>
#include <dsl/executors/host/engine.hpp>
#include <dsl/training/predictor.hpp>

#include <memory>
#include <thread>
#include <utility>
#include <vector>

using namespace dsl;
using dsl::test::refuses;

namespace {

// A convolution with a batch_norm that is folded into it, an unrolled one, Winograd, groups, and a dense layer.
using small = network<image<3, 16, 16>, conv_module<32, 3, 3>, conv2d<32, 3>, conv2d<16, 3, groups<2>>, relu,
                      global_avg_pool2d, flatten, dense<5>, softmax>;
using other = network<image<3, 16, 16>, conv2d<4, 3>, flatten, dense<5>, softmax>;

std::vector<float> images(int count, int salt = 0) {
  std::vector<float> all(static_cast<std::size_t>(count) * 3 * 16 * 16);
  for (std::size_t i = 0; i < all.size(); ++i)
    all[i] = static_cast<float>((i * 37 + i / 11 + static_cast<std::size_t>(salt) * 101) % 251) / 250;
  return all;
}

std::vector<float> outputs_of(predictor& p, std::vector<float> const& x) {
  std::vector<float> y(x.size() / (3 * 16 * 16) * 5);
  p.predict(x, y);
  return y;
}

float* first_parameter(predictor& p) { return dynamic_cast<host::engine<float>&>(p.engine()).parameter_data(0); }

trainer trained(int epochs = 1) {
  trainer t = compile<small>(native{.threads = 1}, sgd{.learning_rate = 0.05}, {.seed = 3});
  std::vector<std::int32_t> const labels{0, 1, 2, 3};
  for (int i = 0; i < epochs; ++i) t.train_on_batch(images(4), labels);
  return t;
}

/// An executor that has weights of its own, whatever it is told.
struct unsharing {
  std::unique_ptr<engine> make_engine(graph_view const& g, engine_options o) const {
    o.weights = nullptr;
    return reference{}.make_engine(g, o);
  }
};

}  // namespace

TEST_CASE("a predictor of MiniGoogLeNet for one image holds what its type and its executor say", "[predictor]") {
  using model = network<image<3, 32, 32>, minigooglenet<10>>;
  native const on{.threads = 1};
  auto t = compile<model>(on, sgd{});
  predictor first = make_predictor<model>(on, t);
  std::vector<float> const x(3 * 32 * 32, 0.5F);
  std::vector<float> y(10), z(10);
  first.predict(x, y);
  long long const arena = model::inference_bytes(1, on.target());
  CHECK(first.engine().arena_bytes() == arena);
  CHECK(first.bytes() == arena + first.engine().executor_bytes());
  CHECK(first.bytes() < model::training_bytes(1, on.target()) + first.engine().executor_bytes());

  // A second one has only activations and scratch memory of its own.
  long long const shared = first.weights()->bytes();
  CHECK(shared > 4LL * model::parameter_count);
  predictor second = make_predictor<model>(on, first.weights());
  second.predict(x, z);
  CHECK(y == z);
  CHECK(second.bytes() == first.bytes());  // which counts what it shares
  CHECK(first.weights()->bytes() == shared);
  CHECK(first_parameter(second) == first_parameter(first));
}

TEST_CASE("eight threads with one set of weights get the bits of one thread", "[predictor]") {
  trainer t = trained();
  predictor alone = make_predictor<small>(native{.threads = 1}, t);
  std::vector<std::vector<float>> wanted;
  for (int i = 0; i < 8; ++i) wanted.push_back(outputs_of(alone, images(1 + i % 3, i)));
  CHECK(wanted[0] != wanted[3]);

  predictor first = make_predictor<small>(native{.threads = 1}, t);
  std::vector<predictor> all;
  for (int i = 0; i < 8; ++i) all.push_back(make_predictor<small>(native{.threads = 1}, first.weights()));
  std::vector<int> same(8);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < 8; ++i)
    threads.emplace_back([&, i] {
      for (std::size_t round = 0; round < 8; ++round) {  // all batch sizes in all threads, in different orders
        std::size_t const which = (i + round) % 8;
        same[i] +=
            outputs_of(all[i], images(1 + static_cast<int>(which) % 3, static_cast<int>(which))) == wanted[which];
      }
    });
  for (std::thread& one : threads) one.join();
  CHECK(same == std::vector<int>(8, 8));
  outputs_of(first, images(1));
  CHECK(first.weights()->bytes() == alone.weights()->bytes());  // the kernels are packed once
  for (predictor& p : all) CHECK(first_parameter(p) == first_parameter(first));
}

TEST_CASE("executors with other instructions, threads or algorithms share weights", "[predictor]") {
  trainer t = trained();
  auto const x = images(2);
  native const executors[] = {{.threads = 1},
                              {.threads = 2},
                              {.threads = 1, .instructions = instructions::baseline},
                              {.threads = 1, .winograd = false}};
  std::vector<predictor> sharing;
  for (native const& on : executors) sharing.push_back(make_predictor<small>(on, t.engine().weights()));
  for (std::size_t i = 0; i < sharing.size(); ++i) {
    predictor own = make_predictor<small>(executors[i], t);
    CHECK(outputs_of(sharing[i], x) == outputs_of(own, x));
    CHECK(first_parameter(sharing[i]) == first_parameter(sharing[0]));
  }
  predictor plain = make_predictor<small>(reference{}, t.engine().weights());
  CHECK(outputs_of(plain, x).size() == 10);
}

TEST_CASE("weights change only while one engine has them", "[predictor]") {
  trainer t = trained();
  std::vector<std::int32_t> const labels{0, 1, 2, 3};
  auto const x = images(4);
  {
    predictor p = make_predictor<small>(native{.threads = 1}, t.engine().weights());
    auto const before = outputs_of(p, x);
    refuses<option_error>([&] { t.train_on_batch(x, labels); },
                          {"weights", "a single trainer or predictor uses them", "found 2 that share them"});
    std::vector<float> kernel(static_cast<std::size_t>(t.graph().parameters[0].count()));
    t.engine().read_parameter(0, kernel.data());
    refuses<option_error>([&] { p.engine().write_parameter(0, kernel.data()); }, {"weights", "found 2"});
    CHECK(outputs_of(p, x) == before);
  }
  predictor copy = make_predictor<small>(native{.threads = 1}, t);
  auto const before = outputs_of(copy, x);
  t.train_on_batch(x, labels);
  CHECK(outputs_of(copy, x) == before);
  predictor later = make_predictor<small>(native{.threads = 1}, t.engine().weights());  // packed again
  auto const after = outputs_of(later, x);
  CHECK(after != before);
  std::vector<float> by_trainer(after.size());
  t.predict_on_batch(x, by_trainer);
  CHECK(after == by_trainer);
  predictor fresh = make_predictor<small>(native{.threads = 1}, t);  // which shares no packed kernel
  CHECK(outputs_of(fresh, x) == after);
}

TEST_CASE("a data set's outputs are the trainer's", "[predictor]") {
  trainer t = trained();
  predictor p = make_predictor<small>(native{.threads = 1}, t);
  dataset const data = in_memory_classes({3, 16, 16}, images(5), 5, {0, 1, 2, 3, 4});
  CHECK(p.predict(data, 2) == t.predict(data, 2));
  CHECK(p.predict_output("main", data, 2) == p.predict(data, 2));
}

TEST_CASE("a predictor returns the outputs of samples, which may be a list", "[predictor]") {
  trainer t = trained();
  predictor p = make_predictor<small>(native{.threads = 1}, t);
  CHECK(p.predict(images(3)) == outputs_of(p, images(3)));
  refuses<data_error>([&] { p.predict(std::vector<float>(3 * 16 * 16 - 1)); }, {"samples", "768", "767"});
  refuses<data_error>([&] { p.predict(std::vector<float>(3 * 16 * 16 + 1)); }, {"samples", "768", "769"});
  refuses<data_error>([&] { p.predict(std::vector<float>{}); }, {"samples", "768"});

  // Five numbers in braces are a sample. They must not become the members of a dataset.
  using table = network<features<5>, dense<2>>;
  dataset data = in_memory_values({5}, {1, 2, 3, 4, 5, 7, 5, 3, 2, 2}, 2, {0, 1, 1, 0});
  normalize(data);
  trainer of_rows = compile<table>(reference{}, sgd{}, {.loss = loss::mean_squared_error});
  of_rows.fit(data, {.batch_size = 2});
  predictor row = make_predictor<table>(reference{}, of_rows);
  CHECK(row.predict({1, 2, 3, 4, 5}) == row.predict(data.first(1)));
  refuses<data_error>([&] { row.predict({1, 2, 3}); }, {"samples", "5", "3"});
}

TEST_CASE("predictors refuse what they cannot predict with", "[predictor]") {
  trainer t = trained();
  predictor empty = make_predictor<small>(reference{});
  std::vector<float> y(5);
  refuses<option_error>([&] { empty.predict(images(1), y); },
                        {"predictor", "weights", "found none", "load_weights(p, path)"});
  refuses<option_error>([&] { empty.predict(images(1)); }, {"predictor", "weights", "found none"});
  auto const weights = t.engine().weights();
  refuses<option_error>([&] { make_predictor<other>(reference{}, weights); }, {"weights", "another network"});
  refuses<option_error>([&] { make_predictor<other>(reference{}, t); },
                        {"make_predictor: the trainer must have the predictor's network; found another network: its "
                         "first operation that differs is conv2d with the result 32x16x16 in layer 0.0 (conv_module > "
                         "conv2d), where the predictor's network has conv2d with the result 4x16x16 in layer 0 "
                         "(conv2d); give make_predictor the type of the trainer's network"});
  using plain = network<features<3>, dense<5>, relu>;
  using deeper = network<features<3>, dense<5>, relu, dropout<0.5>>;
  using renamed = network<features<3>, named<"head", dense<5>>, relu>;
  trainer u = compile<plain>(reference{}, sgd{}, {.loss = loss::mean_squared_error});
  refuses<option_error>([&] { make_predictor<deeper>(reference{}, u); }, {"it has 3 operations instead of 4; give"});
  refuses<option_error>([&] { make_predictor<renamed>(reference{}, u); }, {"its layers have other names, or other"});
  refuses<option_error>([&] { make_predictor<small>(reference<double>{}, weights); }, {"type of numbers"});
  refuses<option_error>([&] { make_predictor<small>(reference{}, nullptr); }, {"make_predictor", "found null"});
  refuses<executor_error>([&] { make_predictor<small>(unsharing{}, weights); }, {"share weights", "its own"});
  predictor p = make_predictor<small>(reference{}, weights);
  refuses<data_error>([&] { p.predict(images(2), y); }, {"samples"});
}
