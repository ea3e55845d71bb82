// SPDX-License-Identifier: MIT
// Tests that the trainer announces each batch that the loader has already made to the engine, and tells the engine
// which batch was announced.
#include <dsl/dsl.hpp>

#include <algorithm>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/drawn.hpp"
#include "support/listening_engine.hpp"

using namespace dsl;
using dsl::test::drawn_data;
using dsl::test::keras_rules;
using dsl::test::listening;

namespace {

using model = network<image<3, 4, 4>, conv2d<4, 3>, relu, flatten, dense<5>, softmax>;

}  // namespace

TEST_CASE("trainer: batches that have been made are announced while a step runs, and change nothing", "[trainer]") {
  dataset const data = drawn_data({3, 4, 4}, 5, 130);
  trainer plain(reference<>{}.make_engine(model::view(), keras_rules), 1e-5);
  auto made = std::make_unique<listening>(reference<>{}.make_engine(model::view(), keras_rules));
  listening& heard = *made;
  trainer t(std::move(made), 1e-5);
  auto const heard_since = [&](int& before) { return heard.announced - std::exchange(before, heard.announced); };
  int before = 0;
  fit_options const o{.epochs = 3, .batch_size = 8, .validation = &data};
  history const a = t.fit(data, o), b = plain.fit(data, o);
  for (std::size_t e = 0; e < 3; ++e) {
    CHECK(a.epochs[e].train.loss == b.epochs[e].train.loss);
    CHECK(a.epochs[e].validation.loss == b.epochs[e].validation.loss);
  }
  int const of_fit = heard_since(before);
  CHECK(of_fit > 0);
  CHECK(of_fit <= 3 * (15 + 15));  // the first of an epoch is not announced, nor the short last one of the validation
  CHECK(t.evaluate(data, 8).loss == plain.evaluate(data, 8).loss);
  CHECK(heard_since(before) > 0);
  CHECK(t.predict(data, 8) == plain.predict(data, 8));
  CHECK(heard_since(before) > 0);
  heard.waits = false;
  t.fit(data, {.epochs = 1, .batch_size = 8, .prefetch = 0});  // there is no thread that could make a batch
  CHECK(heard_since(before) == 0);
}

TEST_CASE("batch_loader: the coming batch is the next one", "[data]") {
  dataset const data = drawn_data({3, 4, 4}, 5, 40);
  batch_loader loader(data, {.batch_size = 8, .prefetch = 2});
  CHECK(loader.coming() == nullptr);  // before start()
  for (int epoch = 0; epoch < 2; ++epoch) {
    loader.start(epoch);
    batch const* now = loader.next();
    for (int k = 1; k < 5; ++k) {
      batch const* coming = loader.coming();
      while (!coming) std::this_thread::yield(), coming = loader.coming();
      std::vector<float> const made(coming->inputs[0], coming->inputs[0] + 8 * 48);
      std::vector<float> const current(now->inputs[0], now->inputs[0] + 8 * 48);
      CHECK(loader.coming() == coming);
      CHECK(std::equal(current.begin(), current.end(), now->inputs[0]));  // is still valid
      now = loader.next();
      CHECK(now == coming);
      CHECK(std::equal(made.begin(), made.end(), now->inputs[0]));
    }
    CHECK(loader.coming() == nullptr);  // the last one has been handed out
    CHECK(loader.next() == nullptr);
  }
  batch_loader without_threads(data, {.batch_size = 8, .prefetch = 0});
  without_threads.start(0);
  CHECK(without_threads.coming() == nullptr);
  CHECK(without_threads.next() != nullptr);
  CHECK(without_threads.coming() == nullptr);
}
