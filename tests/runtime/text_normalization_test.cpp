// SPDX-License-Identifier: MIT
// The normalisation of the data belongs to the weights and is in their files, so that another program applies it.
#include <dsl/data/with_input.hpp>
#include <dsl/dsl.hpp>
#include <dsl/text.hpp>
#include <dsl/training/predictor.hpp>

#include <cmath>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/temporary_directory.hpp"
#include "support/words.hpp"

using namespace dsl;

namespace {

using line = network<features<2>, dense<3>, dsl::tanh, dense<1>>;
using two_inputs = network<features<2>, concat<identity, named_input<"more", features<1>>>, dense<1>>;

dataset rows(float scale = 1) {
  std::vector<float> numbers, wanted;
  for (int i = 0; i < 24; ++i) {
    float const a = static_cast<float>(i % 5) * 100, b = static_cast<float>(i % 3) / 50;
    numbers.insert(numbers.end(), {scale * a, b});
    wanted.push_back(a / 100 - b * 50);
  }
  return in_memory_values({2}, std::move(numbers), 1, std::move(wanted));
}

template <class Model>
trainer fresh() {
  return compile<Model>(reference{}, adam{.learning_rate = 0.05}, {.loss = loss::mean_squared_error});
}

struct stops_after : callback {
  void on_batch_end(fit_run& run) override {
    if (run.epoch == 1) throw error("the lights are out");
  }
};

}  // namespace

TEST_CASE("a predictor in another program normalises rows as the weights' training data were", "[normalization]") {
  test::temporary_directory const folder;
  dataset data = rows();
  dataset const bare = data;
  normalize(data);
  trainer t = fresh<line>();
  t.fit(data, {.epochs = 5, .batch_size = 8});
  std::vector<float> const wanted = t.predict(data);
  save_weights(t, (folder / "line.weights"));

  predictor p = make_predictor<line>(native{});
  load_weights(p, (folder / "line.weights"));
  REQUIRE(p.normalization() == normalization_of(data));
  std::vector<float> one(1);
  predictor same = make_predictor<line>(native{}, p.weights());
  predictor copied = make_predictor<line>(native{}, t);
  std::vector<float> const expected = copied.predict(data);
  for (std::size_t i = 0; i < 24; ++i) {
    for (predictor* const each : {&p, &same, &copied}) {
      each->predict({bare.reals(static_cast<std::int64_t>(i)), 2}, one);
      CHECK(one[0] == expected[i]);
    }
    CHECK(one[0] == approx(wanted[i]).margin(1e-5));
  }
  CHECK(p.predict(bare) == expected);
  CHECK_THROWS_AS(p.predict(normalize_as(bare, {{{"", data.deviation}}})), option_error);
  CHECK_THROWS_AS(p.set_normalization({}), option_error);  // `same` has the weights, too
  long long const without = p.engine().arena_bytes() + p.engine().executor_bytes();
  CHECK(p.bytes() == without + 2 * static_cast<long long>(sizeof(float)));

  copied.set_normalization({});
  std::vector<float> normalized{(bare.reals(3)[0] - (*data.mean)[0]) / (*data.deviation)[0],
                                (bare.reals(3)[1] - (*data.mean)[1]) / (*data.deviation)[1]};
  copied.predict(normalized, one);
  CHECK(one[0] == expected[3]);
}

TEST_CASE("all inputs are normalised, and a trainer takes over a file's normalisation", "[normalization]") {
  test::temporary_directory const folder;
  dataset data = with_input(rows(), "more", {1}, std::vector<float>(24, 3));
  dataset const bare = data;
  normalize(data);
  trainer t = fresh<two_inputs>();
  t.fit(data, {.epochs = 2, .batch_size = 8});
  save_weights(t, (folder / "two.weights"));
  trainer second = fresh<two_inputs>();
  load_weights(second, (folder / "two.weights"));
  CHECK(second.normalization() == normalization_of(data));
  CHECK(second.predict(bare) == t.predict(data));
  predictor p = make_predictor<two_inputs>(reference{});
  load_weights(p, (folder / "two.weights"));
  std::vector<float> one(1);
  p.predict({{"more", {bare.further_numbers(0, 4), 1}}, {"", {bare.reals(4), 2}}}, one);
  CHECK(one[0] == t.predict(data)[4]);

  trainer bytes_of_none = fresh<two_inputs>();  // that nothing is normalised is known, too
  bytes_of_none.fit(bare, {.epochs = 1, .batch_size = 8});
  save_weights(bytes_of_none, (folder / "none.weights"));
  load_weights(second, (folder / "none.weights"));
  CHECK(second.normalization().empty());
  CHECK_THROWS_AS(second.predict(data), option_error);

  trainer untrained = fresh<two_inputs>();  // whose file says nothing
  save_weights(untrained, (folder / "untrained.weights"));
  load_weights(t, (folder / "untrained.weights"));
  CHECK(t.normalization() == normalization_of(data));
}

TEST_CASE("with weights that know it, either of fit's data sets may be normalised already", "[normalization]") {
  test::temporary_directory const folder;
  dataset data = with_input(rows(), "more", {1}, std::vector<float>(24, 3));
  dataset const bare = data;
  normalize(data);
  trainer t = fresh<two_inputs>();
  t.fit(data, {.epochs = 2, .batch_size = 8});
  save_weights(t, (folder / "two.weights"));
  auto const goes_on = [&](dataset const& train, dataset const& check) {
    trainer one = fresh<two_inputs>();
    load_weights(one, (folder / "two.weights"));
    return one.fit(train, {.epochs = 1, .batch_size = 8, .validation = &check}).epochs[0].validation.loss;
  };
  double const wanted = goes_on(data, data);
  CHECK(goes_on(bare, data) == wanted);
  CHECK(goes_on(data, bare) == wanted);
  CHECK(goes_on(bare, bare) == wanted);
  dataset other = rows(2);
  normalize(other);
  other = with_input(other, "more", {1}, std::vector<float>(24, 3));
  test::refuses<option_error>([&] { goes_on(bare, other); },
                              {"validation: the data set must have the normalisation of"});
}

TEST_CASE("a run resumes only with data that are normalised as before", "[normalization]") {
  test::temporary_directory const folder;
  dataset data = rows(), other = rows(2);
  normalize(data);
  normalize(other);
  auto const run = [&](dataset const& from, trainer& t, std::vector<callback_handle> more) {
    more.insert(more.begin(), backup_and_restore((folder / "run.state"), {.verbose = false}));
    t.fit(from, {.epochs = 3, .batch_size = 8, .callbacks = more});
  };
  trainer stopped = fresh<line>();
  CHECK_THROWS_AS(run(data, stopped, {stops_after{}}), error);
  trainer t = fresh<line>();
  std::vector<float> const before = t.predict(data);
  test::refuses<file_error>([&] { run(other, t, {}); },
                            {"run.state is from a run with another normalisation", "the mean 383.3", "instead of 191.6",
                             "of the first input", "remove the file to start from the beginning"});
  CHECK(t.predict(data) == before);
  CHECK(t.normalization().empty());  // still unknown
  run(data, t, {});
  trainer whole = fresh<line>();
  whole.fit(data, {.epochs = 3, .batch_size = 8});
  CHECK(t.predict(data) == whole.predict(data));
}

TEST_CASE("a damaged normalisation in a file is refused, and nothing changes", "[normalization][hostile]") {
  auto const state = [](normalization const& n) {
    trainer t = fresh<line>();
    t.engine().set_normalization(std::make_shared<normalization const>(n));  // unchecked
    return checkpoint(t, {}, 0.1);
  };
  auto const numbers = [](std::vector<float> all) {
    return std::make_shared<std::vector<float> const>(std::move(all));
  };
  for (normalization const& wrong :
       {normalization{{{"", numbers({1, 2, 3})}}}, normalization{{{"more", numbers({1})}}},
        normalization{{{"", nullptr, numbers({1, 0})}}}, normalization{{{"", numbers({0, NAN})}}},
        normalization{{{"", numbers({1, 2})}, {"", numbers({1, 2})}}}}) {
    trainer t = fresh<line>();
    std::vector<float> const before = t.predict(rows());
    CHECK_THROWS_AS(restore_run(t, state(wrong), "x.state"), file_error);
    CHECK(t.predict(rows()) == before);
  }

  // A run may begin without its state; somebody's weights must not be deleted.
  test::temporary_directory const folder;
  std::string const path = folder / "x.weights";
  auto const says = [&](auto model, std::string const& bytes, std::string const& words) {
    trainer t = fresh<typename decltype(model)::type>();
    test::refuses<file_error>([&] { restore_run(t, bytes, "x.state"); },
                              {"checkpoint: x.state's normalisation" + words + "remove the file to start from the"});
    write_checkpoint(bytes, path);
    test::refuses<file_error>([&] { load_weights(t, path); },
                              {"checkpoint: " + path + "'s normalisation" + words + "give another file"});
  };
  normalization const twice{{{"", numbers({1, 2})}, {"", numbers({1, 2})}}};
  says(std::type_identity<line>{}, state(twice), ": \"inputs\" must be 0 to 1; found 2; the file is damaged; ");
  trainer both = fresh<two_inputs>();
  both.engine().set_normalization(std::make_shared<normalization const>(twice));
  says(std::type_identity<two_inputs>{}, checkpoint(both, {}, 0.1),
       " must have each input once; found one twice; the file is damaged; ");
}

TEST_CASE("weights of another network: the message names the parameter that differs", "[normalization]") {
  test::temporary_directory const folder;
  std::string const path = (folder / "line.weights");
  {
    trainer t = fresh<line>();
    save_weights(t, path);
  }
  auto const says = [&](auto model, std::vector<std::string> const& words) {
    predictor p = make_predictor<typename decltype(model)::type>(reference{});
    test::refuses<file_error>([&] { load_weights(p, path); }, words);
  };
  says(std::type_identity<network<features<2>, dense<4>, dsl::tanh, dense<1>>>{},
       {"from another network", "the first parameter that differs is 0.weight of 3x2 in the file and 0.weight of 4x2"});
  says(std::type_identity<network<features<2>, dense<3>, dsl::tanh, dsl::tanh, dense<1>>>{},
       {"differs is 2.weight of 1x3 in the file and 3.weight of 1x3 in the network"});
  says(std::type_identity<network<features<2>, dense<3>, dsl::tanh>>{},
       {"the file also has the parameter 2.weight of 1x3, which the network lacks"});
  says(std::type_identity<network<features<2>, dense<3>, dsl::tanh, dense<1>, dsl::sigmoid, dense<1>>>{},
       {"the file lacks the parameter 4.weight of 1x1"});
  says(std::type_identity<network<features<2>, dense<3>, relu, dense<1>>>{}, {"the same names and shapes"});
}
