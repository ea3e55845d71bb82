// SPDX-License-Identifier: MIT
// Samples that come one after another and cannot be read again: the bits of the same samples in memory, the parts of
// several devices, the end of a stream, and what is refused.
#include <dsl/data/normalization.hpp>
#include <dsl/data/sample_source.hpp>
#include <dsl/data/sample_stream.hpp>
#include <dsl/data/with_input.hpp>
#include <dsl/data/with_target.hpp>
#include <dsl/data/with_weights.hpp>
#include <dsl/dsl.hpp>
#include <dsl/text.hpp>
#include <dsl/towers.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/temporary_directory.hpp"
#include "support/words.hpp"

using namespace dsl;

namespace {

constexpr int size = 12;

float number_of_sample(std::int64_t sample, int i) {
  return static_cast<float>((sample * 31 + i * 7 + sample * i) % 23) / 5 - 2;
}
std::int32_t class_of(std::int64_t sample) { return static_cast<std::int32_t>((sample * 5 + sample / 7) % 3); }
float target_of(std::int64_t sample, int i) { return number_of_sample(sample, i) + 0.25F; }

/// Samples 0, 1, 2, ..., up to `end`.
struct counting : sample_stream {
  std::int64_t at = 0, end = std::numeric_limits<std::int64_t>::max();
  std::int64_t wrong = -1;  // the sample whose target cannot be right
  bool next(stream_sample const& to) override {
    if (at == end) return false;
    for (int i = 0; i < size; ++i) to.numbers[i] = number_of_sample(at, i);
    if (to.label) *to.label = at == wrong ? 3 : class_of(at);
    for (int i = 0; to.values && i < 2; ++i)
      to.values[i] = at == wrong ? std::numeric_limits<float>::infinity() : target_of(at, i);
    ++at;
    return true;
  }
  std::string identity() const override { return "counting, version 1"; }
};

std::shared_ptr<counting> fresh(std::int64_t end = std::numeric_limits<std::int64_t>::max(), std::int64_t wrong = -1) {
  auto made = std::make_shared<counting>();
  made->end = end, made->wrong = wrong;
  return made;
}
dataset classes(std::int64_t an_epoch, std::shared_ptr<sample_stream> s = fresh()) {
  return stream_classes({3, 2, 2}, std::move(s), 3, an_epoch);
}
dataset in_memory(int count) {
  std::vector<float> numbers;
  std::vector<std::int32_t> labels;
  for (int n = 0; n < count; ++n) {
    for (int i = 0; i < size; ++i) numbers.push_back(number_of_sample(n, i));
    labels.push_back(class_of(n));
  }
  return in_memory_classes({3, 2, 2}, std::move(numbers), 3, std::move(labels));
}

using model = network<image<3, 2, 2>, flatten, dense<8>, relu, dropout<0.1>, dense<3>, softmax>;

template <class Network = model>
std::pair<double, std::vector<float>> learned(dataset const& data, fit_options o) {
  trainer t = compile<Network>(reference{}, sgd{.learning_rate = 0.05}, {.seed = 2});
  o.batch_size = 6, o.shuffle = false;
  history const h = t.fit(data, o);
  return {h.epochs.back().train.loss, t.predict(in_memory(20))};
}

}  // namespace

TEST_CASE("a stream gives the bits of data in memory, for any loader", "[stream]") {
  auto const wanted = learned(in_memory(48), {});
  CHECK(learned(classes(48), {}) == wanted);
  CHECK(learned(classes(48), {.prefetch = 0}) == wanted);
  CHECK(learned(classes(48), {.prefetch = 5, .loader_threads = 3}) == wanted);
  CHECK(learned(classes(24), {.epochs = 2}).second == wanted.second);  // an epoch is the next samples
  augmentation const moves = shift_and_flip{.width = 0.5, .horizontal_flip = true};
  CHECK(learned(classes(48), {.augment = moves}) == learned(in_memory(48), {.augment = moves}));
  CHECK(learned<replicate<2, model>>(classes(48), {}) == learned<replicate<2, model>>(in_memory(48), {}));
  dataset measured = in_memory(30);
  normalize_channels(measured);
  normalization const by = normalization_of(measured);
  CHECK(learned(normalize_as(classes(48), by), {}) == learned(normalize_as(in_memory(48), by), {}));
}

TEST_CASE("fit reads whole batches of a stream, and no sample more", "[stream]") {
  for (int const prefetch : {0, 4}) {
    auto const stream = fresh();
    trainer t = compile<model>(reference{}, sgd{});
    fit_options const fit{.epochs = 3, .batch_size = 6, .shuffle = false, .prefetch = prefetch};
    t.fit(classes(20, stream), fit);
    CHECK(stream->at == 3 * 18);
    t.fit(classes(20, stream), fit);
    CHECK(stream->at == 6 * 18);
  }
}

TEST_CASE("processes have disjoint parts of a stream's batches", "[stream]") {
  batch_loader whole(classes(18), {.batch_size = 6, .shuffle = false, .drop_last = true});
  batch_loader first(classes(18),
                     {.batch_size = 6, .shuffle = false, .drop_last = true, .part_first = 0, .part_size = 4});
  batch_loader second(classes(18),
                      {.batch_size = 6, .shuffle = false, .drop_last = true, .part_first = 4, .part_size = 2});
  for (int epoch : {0, 1}) {
    whole.start(epoch), first.start(epoch), second.start(epoch);
    int batches = 0;
    while (batch const* w = whole.next()) {
      batch const *a = first.next(), *b = second.next();
      REQUIRE((a && b && a->size == 4 && b->size == 2 && w->size == 6));
      CHECK(std::equal(a->inputs[0], a->inputs[0] + 4 * size, w->inputs[0]));
      CHECK(std::equal(b->inputs[0], b->inputs[0] + 2 * size, w->inputs[0] + 4 * size));
      CHECK(std::equal(a->targets[0].labels, a->targets[0].labels + 4, w->targets[0].labels));
      CHECK(std::equal(b->targets[0].labels, b->targets[0].labels + 2, w->targets[0].labels + 4));
      CHECK(w->targets[0].labels[5] == class_of(18 * epoch + 6 * batches + 5));
      ++batches;
    }
    CHECK((batches == 3 && !first.next() && !second.next()));
  }
}

TEST_CASE("a stream of values trains, also with weights of classes and classes as values", "[stream]") {
  using line = network<features<size>, dense<2>>;
  std::vector<float> numbers, values;
  for (int n = 0; n < 60; ++n) {
    for (int i = 0; i < size; ++i) numbers.push_back(number_of_sample(n, i));
    for (int i = 0; i < 2; ++i) values.push_back(target_of(n, i));
  }
  dataset const memory = in_memory_values({size}, numbers, 2, values);
  auto const fit = [](dataset const& data) {
    trainer t = compile<line>(reference{}, adam{.learning_rate = 0.02}, {.loss = loss::mean_squared_error});
    return t.fit(data, {.epochs = 1, .batch_size = 6, .shuffle = false}).epochs[0].train.loss;
  };
  CHECK(fit(stream_values({size}, fresh(), 2, 60)) == fit(memory));

  auto const weighted = [](dataset const& data) {
    trainer t = compile<model>(reference{}, sgd{}, {.class_weights = {1, 2, 0.5}});
    return t.fit(data, {.batch_size = 6, .shuffle = false}).epochs[0].train.loss;
  };
  CHECK(weighted(classes(48)) == weighted(in_memory(48)));
  auto const as_values = [](dataset const& data) {
    trainer t = compile<network<image<3, 2, 2>, flatten, dense<3>>>(reference{}, sgd{}, {.loss = loss::huber});
    return t.fit(data, {.batch_size = 6, .shuffle = false}).epochs[0].train.loss;
  };
  CHECK(as_values(classes(48)) == as_values(in_memory(48)));
}

TEST_CASE("a stream that ends, or has targets that cannot be right, is named", "[stream]") {
  trainer t = compile<model>(reference{}, sgd{});
  auto const fit = [&](dataset const& data, int prefetch = 2) {
    t.fit(data, {.epochs = 3, .batch_size = 6, .shuffle = false, .prefetch = prefetch});
  };
  for (int const prefetch : {0, 2}) {
    test::refuses<data_error>([&] { fit(classes(20, fresh(40)), prefetch); },
                              {"counting, version 1", "ended after 4 of the 20", "fewer epochs"});
    test::refuses<data_error>([&] { fit(classes(20, fresh(100, 19)), prefetch); },
                              {"labels of counting, version 1 must be 0 to 2", "found 3 for sample 1 of the epoch"});
  }
  fit(classes(20, fresh(54)));  // exactly as many
  using line = network<features<size>, dense<2>>;
  trainer values = compile<line>(reference{}, sgd{}, {.loss = loss::mean_squared_error});
  test::refuses<data_error>(
      [&] { values.fit(stream_values({size}, fresh(100, 8), 2, 20), {.batch_size = 6, .shuffle = false}); },
      {"must be finite", "number 0 of sample 8"});
  trainer shares =
      compile<network<features<size>, dense<2>, sigmoid>>(reference{}, sgd{}, {.loss = loss::binary_crossentropy});
  test::refuses<data_error>(
      [&] { shares.fit(stream_values({size}, fresh(), 2, 20), {.batch_size = 6, .shuffle = false}); },
      {"binary_crossentropy takes target values from 0 to 1"});
  trainer further = compile<network<features<size>, dense<2>, named_output<"share", sigmoid>, dense<2>>>(
      reference{}, sgd{}, {.loss = loss::mean_squared_error, .losses = {{"share", loss::binary_crossentropy}}});
  test::refuses<data_error>(
      [&] { further.fit(stream_values({size}, fresh(), 2, 20), {.batch_size = 6, .shuffle = false}); },
      {"binary_crossentropy takes target values from 0 to 1"});
  test::refuses<data_error>([] { read_from_stream(classes(20, fresh(7)), 8); }, {"ended after 7"});
}

TEST_CASE("a stream that has ended or thrown is asked for no other sample", "[stream]") {
  struct ending : counting {
    bool throws = false;
    int asked_again = 0;
    bool over = false;
    bool next(stream_sample const& to) override {
      asked_again += over;
      over = !counting::next(to);
      if (over && throws) throw data_error("the line is dead");
      return !over;
    }
  };
  for (bool const throws : {false, true})
    for (bool const shuffles : {false, true})
      for (int const prefetch : {0, 4}) {
        auto const stream = std::make_shared<ending>();
        stream->end = 15, stream->throws = throws;
        dataset const data = shuffles ? shuffle_stream(classes(48, stream), 4, 1) : classes(48, stream);
        {
          batch_loader loader(
              data, {.batch_size = 6, .shuffle = false, .drop_last = true, .prefetch = prefetch, .threads = 1});
          loader.start(0);
          CHECK_THROWS_AS(
              [&] {
                while (loader.next()) {
                }
              }(),
              data_error);
          CHECK_FALSE(loader.next());
        }
        CHECK((stream->over && stream->asked_again == 0));
        if (!shuffles) continue;
        CHECK_THROWS_AS(read_from_stream(data, 20), data_error);  // the rest of the buffer, at most
        CHECK(stream->asked_again == 0);
      }
}

TEST_CASE("what needs samples a second time refuses a stream", "[stream]") {
  dataset const data = classes(24), test = in_memory(12);
  trainer t = compile<model>(reference{}, sgd{});
  auto const refused = [](auto f, std::vector<std::string> const& words) { test::refuses<option_error>(f, words); };
  refused([&] { t.fit(data, {.batch_size = 6}); }, {".shuffle = false", "shuffle_stream()"});
  refused([&] { t.fit(data, {.batch_size = 6, .shuffle = false, .cache = true}); }, {".cache = true"});
  refused([&] { t.fit(test, {.batch_size = 6, .validation = &data}); }, {"validation", "counting, version 1"});
  refused([&] { t.evaluate(data); }, {"evaluate", "counting, version 1"});
  refused([&] { t.predict(data); }, {"predict", "counting, version 1"});
  refused([&] { data.first(6); }, {"no subsets", "read_from_stream()"});
  refused([&] { with_weights(data, std::vector<float>(24, 1)); }, {"with_weights", "counting"});
  refused([&] { with_input(data, "x", {1}, std::vector<float>(24)); }, {"with_input", "counting"});
  refused([&] { with_class_target(data, "x", 2, std::vector<std::int32_t>(24)); }, {"with_target", "counting"});
  refused(
      [&] {
        dataset copy = data;
        normalize(copy);
      },
      {"normalize", "counting"});
  refused([&] { shuffle_stream(test, 4, 1); }, {"must come from a stream"});
  refused([&] { read_from_stream(test, 4); }, {"must come from a stream"});
  refused([&] { shuffle_stream(data, 0, 1); }, {"1 sample or more", "found 0"});
  refused([&] { stream_classes({1}, nullptr, 2, 5); }, {"null pointer"});
  refused([&] { stream_classes({1}, fresh(), 2, 0); }, {"1 sample or more", "found 0"});
  struct nameless : counting {
    std::string identity() const override { return ""; }
  };
  refused([&] { stream_values({1}, std::make_shared<nameless>(), 2, 5); }, {"empty text"});
  refused([&] { batch_loader(data, {.batch_size = 6}); }, {"shuffle and cache must be false"});
  auto const unread = fresh();
  trainer mixed = compile<network<image<3, 2, 2>, flatten, dense<3>, named_output<"numbers", relu>, softmax>>(
      reference{}, sgd{}, {.losses = {{"numbers", loss::huber}}});
  refused([&] { mixed.fit(classes(24, unread), {.batch_size = 6, .shuffle = false}); },
          {"all outputs must learn the same target", "found 2 outputs", "sample_source"});
  CHECK(unread->at == 0);
  t.fit(data, {.batch_size = 6, .validation = &test, .shuffle = false});
}

TEST_CASE("a run of a stream saves its state, from which no run of a stream resumes", "[stream]") {
  test::temporary_directory const here;
  std::string const path = here / "run.state";
  struct power_cut : callback {
    void on_batch_end(fit_run& run) override {
      if (run.epoch == 1 && run.step == 2) throw error("the lights are out");
    }
  };
  auto const make = [] { return compile<model>(reference{}, sgd{.learning_rate = 0.05}, {.seed = 2}); };
  auto const fit = [&](trainer& t, std::vector<callback_handle> more) {
    more.insert(more.begin(), backup_and_restore(path, {.save_freq = every_batches(1), .verbose = false}));
    t.fit(classes(24), {.epochs = 3, .batch_size = 6, .callbacks = more, .shuffle = false});
  };
  trainer first = make(), second = make();
  CHECK_THROWS_AS(fit(first, {power_cut{}}), error);
  std::vector<float> const before = second.predict(in_memory(20));
  test::refuses<option_error>([&] { fit(second, {}); },
                              {"run.state", "counting, version 1", "cannot go back", "load_weights()"});
  CHECK(second.predict(in_memory(20)) == before);
  load_weights(second, path);  // as the message says
  CHECK(second.predict(in_memory(20)) != before);
  test::refuses<file_error>(
      [&] {
        second.fit(in_memory(24),
                   {.epochs = 3, .batch_size = 6, .callbacks = {backup_and_restore(path, {.verbose = false})}});
      },
      {"came from counting, version 1", "come from memory"});
}

TEST_CASE("a stream is shuffled in a buffer, the same way for the same seed", "[stream]") {
  auto const order = [](int buffer, std::uint64_t seed, std::int64_t end) {
    dataset const data = shuffle_stream(stream_values({size}, fresh(end), 2, 1), buffer, seed);
    std::vector<float> all;
    for (std::int64_t i = 0; i < end; ++i) {
      dataset const one = read_from_stream(data, 1);
      all.push_back(one.reals(0)[0]);
      CHECK(one.wanted(0)[0] == one.reals(0)[0] + 0.25F);  // with its own target
    }
    CHECK_THROWS_AS(read_from_stream(data, 1), data_error);
    return all;
  };
  std::vector<float> plain;
  for (int i = 0; i < 20; ++i) plain.push_back(number_of_sample(i, 0));
  CHECK(order(1, 3, 20) == plain);
  std::vector<float> const one = order(6, 3, 20), other = order(6, 4, 20);
  CHECK((one == order(6, 3, 20) && one != other && one != plain));
  for (std::vector<float> const& each : {one, other, order(50, 3, 20)})
    CHECK(std::is_permutation(each.begin(), each.end(), plain.begin()));
  std::set<float> const first_seven(plain.begin(), plain.begin() + 7);
  CHECK(first_seven.count(one[0]) == 1);
  CHECK(first_seven.count(one[1]) == 1);  // of 6 and the one that filled the gap
  CHECK(learned(shuffle_stream(classes(48), 10, 1), {}) ==
        learned(shuffle_stream(classes(48), 10, 1), {.prefetch = 0}));
  CHECK(learned(shuffle_stream(classes(48), 10, 1), {}) != learned(classes(48), {}));
  CHECK(detail::identity_of(shuffle_stream(classes(48), 10, 1)) ==
        "counting, version 1, shuffled in a buffer of 10 with seed 1");
}

TEST_CASE("a stream's next samples are read into memory", "[stream]") {
  auto const stream = fresh();
  dataset const data = classes(24, stream), read = read_from_stream(data, 10), more = read_from_stream(data, 3);
  REQUIRE((read.size == 10 && more.size == 3 && stream->at == 13));
  CHECK((read.reals(9)[4] == number_of_sample(9, 4) && read.label(9) == class_of(9) &&
         more.reals(0)[0] == number_of_sample(10, 0)));
  CHECK(fingerprint(classes(24)) == fingerprint(classes(24)));
}
