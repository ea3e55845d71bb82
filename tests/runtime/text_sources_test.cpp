// SPDX-License-Identifier: MIT
// Data whose samples a source makes when a batch needs them: the same bits as data in memory, for any threads, and
// states that know the source.
#include <dsl/data/sample_source.hpp>
#include <dsl/dsl.hpp>
#include <dsl/text.hpp>
#include <dsl/training/fingerprint.hpp>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/temporary_directory.hpp"
#include "support/words.hpp"

using namespace dsl;

namespace {

constexpr int count = 40, size = 2 * 3 * 4;

float number(std::int64_t sample, std::int64_t i) {
  return static_cast<float>((sample * 31 + i * 7 + sample * i) % 23) / 5 - 2;
}

struct formula : sample_source {
  std::string version = "1";
  std::int64_t broken = -1;
  std::shared_ptr<std::atomic<int>> reads = std::make_shared<std::atomic<int>>(0);
  void read(std::int64_t i, float* out) const override {
    ++*reads;
    if (i == broken) throw data_error("formula: sample 7 is missing");
    for (std::int64_t k = 0; k < size; ++k) out[k] = number(i, k);
  }
  std::string identity() const override { return "formula " + version; }
};

std::vector<std::int32_t> labels() {
  std::vector<std::int32_t> all;
  for (int i = 0; i < count; ++i) all.push_back((i * 5 + i / 7) % 3);
  return all;
}
dataset made(formula const& f = {}) {
  return source_classes({2, 3, 4}, std::make_shared<formula const>(f), 3, labels());
}
dataset in_memory() {
  std::vector<float> numbers;
  for (int i = 0; i < count; ++i)
    for (int k = 0; k < size; ++k) numbers.push_back(number(i, k));
  return in_memory_classes({2, 3, 4}, std::move(numbers), 3, labels());
}

using model = network<image<2, 3, 4>, flatten, dense<8>, relu, dense<3>, softmax>;

std::pair<double, std::vector<float>> learned(dataset const& data, fit_options o = {}) {
  trainer t = compile<model>(reference{}, sgd{.learning_rate = 0.05}, {.seed = 2});
  dataset const check = data.subset(30, 10), train = data.first(30);
  o.epochs = 2, o.batch_size = 6, o.validation = &check, o.augment = shift_and_flip{.width = 0.3, .height = 0.3};
  history const h = t.fit(train, o);
  return {h.epochs[1].validation.loss, t.predict(data)};
}

struct power_cut : callback {
  void on_batch_end(fit_run& run) override {
    if (run.epoch == 1 && run.step == 2) throw error("the lights are out");
  }
};

}  // namespace

TEST_CASE("a source gives the bits of data in memory, for any loader", "[source]") {
  auto const wanted = learned(in_memory());
  CHECK(learned(made()) == wanted);
  CHECK(learned(made(), {.prefetch = 0}) == wanted);
  CHECK(learned(made(), {.prefetch = 4, .loader_threads = 3}) == wanted);
  formula counts;
  CHECK(learned(made(counts), {.cache = true}) == wanted);
  // 30 once for the cache, 10 in each of two validations, and 40 in predict
  CHECK(*counts.reads == 30 + 2 * 10 + 40);
}

TEST_CASE("a source is normalised as data in memory are", "[source]") {
  dataset source = made(), memory = in_memory();
  normalize_channels(source);
  normalize_channels(memory);
  CHECK(*source.mean == *memory.mean);
  CHECK(*source.deviation == *memory.deviation);
  CHECK(learned(source) == learned(memory));
  dataset part = made().subset(3, 5), part_in_memory = in_memory().subset(3, 5);
  normalize(part);
  normalize(part_in_memory);
  CHECK(*part.mean == *part_in_memory.mean);
}

TEST_CASE("what a source throws, fit throws", "[source]") {
  formula broken;
  broken.broken = 7;
  test::refuses<data_error>([&] { learned(made(broken)); }, {"formula: sample 7 is missing"});
  test::refuses<data_error>([&] { learned(made(broken), {.prefetch = 0}); }, {"formula: sample 7 is missing"});
  dataset unread = made(broken);
  test::refuses<data_error>([&] { normalize(unread); }, {"sample 7"});
  CHECK_FALSE(unread.mean);
  test::refuses<data_error>([] { mean_picture(made()); }, {"must consist of bytes"});
}

TEST_CASE("a run resumes only from the same source", "[source]") {
  test::temporary_directory const here;
  auto const run = [&](dataset const& data, std::vector<callback_handle> more) {
    trainer t = compile<model>(reference{}, sgd{.learning_rate = 0.05}, {.seed = 2});
    more.insert(more.begin(),
                backup_and_restore(here / "run.state", {.save_freq = every_batches(1), .verbose = false}));
    t.fit(data, {.epochs = 3, .batch_size = 8, .callbacks = more});
    return t.predict(data);
  };
  formula second;
  second.version = "2";
  CHECK_THROWS_AS(run(made(), {power_cut{}}), error);
  test::refuses<file_error>(
      [&] { run(made(second), {}); },
      {"run.state is from a run whose data came from formula 1, but the data of this run come from "
       "formula 2"});
  test::refuses<file_error>([&] { run(in_memory(), {}); }, {"but the data of this run come from memory"});
  std::vector<float> const resumed = run(made(), {});
  CHECK(resumed == run(made(), {}));
  CHECK(fingerprint(made()) != fingerprint(made(second)));
  CHECK(fingerprint(made()) == fingerprint(made()));
}

TEST_CASE("the state after an epoch knows its source, and one from outside of a run is of any", "[source]") {
  test::temporary_directory const here;
  std::string const path = here / "run.state";
  auto const fresh = [] { return compile<model>(reference{}, sgd{.learning_rate = 0.05}, {.seed = 2}); };
  auto const resumed = [&](dataset const& data) {
    trainer t = fresh();
    return t.fit(data, {.epochs = 3, .batch_size = 8, .callbacks = {backup_and_restore(path, {.verbose = false})}})
        .epochs.size();
  };
  auto const begin = [&](dataset const& data) {
    trainer t = fresh();
    history const past = t.fit(data, {.epochs = 1, .batch_size = 8, .callbacks = {checkpoint_each_epoch(path)}});
    return checkpoint(t, past);
  };
  formula second;
  second.version = "2";
  std::string const outside = begin(made());
  test::refuses<file_error>([&] { resumed(made(second)); }, {"came from formula 1", "come from formula 2"});
  test::refuses<file_error>([&] { resumed(in_memory()); }, {"came from formula 1", "come from memory"});
  CHECK(resumed(made()) == 3);
  begin(in_memory());
  test::refuses<file_error>([&] { resumed(made()); }, {"came from memory", "come from formula 1"});
  write_checkpoint(outside, path);
  CHECK(resumed(made(second)) == 3);
}

TEST_CASE("the fingerprint of a source's data shows which samples they are", "[source]") {
  auto const equal = source_classes({2, 3, 4}, std::make_shared<formula const>(), 3, std::vector<std::int32_t>(10, 1));
  CHECK(fingerprint(equal.first(5)) != fingerprint(equal.subset(5, 5)));
  CHECK(fingerprint(equal.subset(5, 5)) == fingerprint(equal.subset(5, 5)));
}

TEST_CASE("sources that are none are refused", "[source]") {
  auto const source = std::make_shared<formula const>();
  test::refuses<option_error>([&] { source_classes({2, 3, 4}, nullptr, 3, labels()); }, {"a null pointer"});
  struct nameless : formula {
    std::string identity() const override { return {}; }
  };
  test::refuses<option_error>([] { source_classes({2, 3, 4}, std::make_shared<nameless const>(), 3, labels()); },
                              {"identity() must identify its samples", "empty"});
  test::refuses<data_error>([&] { source_classes({2, 3, 4}, source, 2, labels()); }, {"labels must be 0 to 1"});
  test::refuses<data_error>([&] { source_classes({2, 0, 4}, source, 3, labels()); }, {"2x0x4"});
  test::refuses<option_error>([&] { source_classes({2, 3, 4}, source, 0, {}); }, {"classes must be 1 or more"});
  test::refuses<data_error>([&] { source_values({2, 3, 4}, source, 2, {1, 2, 3}); },
                            {"1 sample must have 2 values; found 3 in all"});
  test::refuses<data_error>([&] { source_values({2, 3, 4}, source, 1, {1, __builtin_nanf("")}); }, {"finite"});
  dataset const values = source_values({2, 3, 4}, source, 2, {1, 2, 3, 4});
  CHECK((values.size == 2 && values.values == 2 && values.wanted(1)[0] == 3));
}
