// SPDX-License-Identifier: MIT
#include "support/one_batch.hpp"
#include "support/catch.hpp"
#include "support/random_graph.hpp"
#include "support/temporary_directory.hpp"
#include "support/trajectory.hpp"
#include "support/words.hpp"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <limits>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <dsl/data/pixel_classes.hpp>
#include <dsl/data/sample_source.hpp>
#include <dsl/data/tokens.hpp>
#include <dsl/data/vocabulary.hpp>
#include <dsl/data/with_input.hpp>
#include <dsl/dsl.hpp>
#include <dsl/executors/host/engine.hpp>
#include <dsl/executors/host/token_number.hpp>
#include <dsl/executors/native.hpp>
#include <dsl/models/gpt.hpp>
#include <dsl/towers.hpp>
#include <dsl/training/initialize.hpp>
#include <dsl/training/predictor.hpp>
#include <dsl/training/weights.hpp>

// Tests inputs of token numbers: vocabularies, data sets, what trainers refuse, and a small GPT beside PyTorch's.

namespace {

using namespace dsl;
using dsl::test::dice;
using ints = std::vector<std::int32_t>;

template <class E, class F>
void refuses(F f, std::string const& words) {
  dsl::test::refuses<E>(f, {words});
}

template <int Vocabulary, int Length>
using tagger = network<token_numbers<Length>, embedding<Vocabulary, 6>, pointwise_dense<3>, softmax2d>;

ints some_tokens(int count, int vocabulary, std::uint64_t seed = 1) {
  dice d(seed);
  ints all;
  for (int i = 0; i < count; ++i) all.push_back(d.below(vocabulary));
  return all;
}

}  // namespace

TEST_CASE("tokens: a vocabulary of characters, and bytes") {
  std::string const text = "to b\xc3\xa4 or\nnot";
  character_vocabulary const letters(text);
  CHECK(letters.characters() == "\n bnort\xc3\xa4");
  CHECK(letters.size() == 8);
  ints const tokens = letters.encode(text);
  CHECK(tokens == ints{6, 4, 1, 2, 7, 1, 4, 5, 0, 3, 4, 6});
  CHECK(letters.decode(tokens) == text);
  CHECK(character_vocabulary(letters.characters()).encode(text) == tokens);
  refuses<data_error>([&] { letters.encode("to x"); },
                      "character_vocabulary: each character must be one of its 8; found \"x\" at byte 3; remove it, or "
                      "make the vocabulary from a text that contains it");
  refuses<data_error>([&] { letters.encode("to\xff"); },
                      "character_vocabulary: a text must be UTF-8; found no valid character at byte 2");
  refuses<data_error>([&] { static_cast<void>(letters.decode(ints{1, 8})); },
                      "character_vocabulary: tokens must be 0 to 7; found 8 at position 1");
  refuses<data_error>([&] { static_cast<void>(letters.decode(ints{-1})); }, "found -1 at position 0");
  refuses<data_error>([] { character_vocabulary(""); }, "the text must have at least one character; found none");
  refuses<data_error>([] { character_vocabulary("a\xc3"); }, "found no valid character at byte 1");

  CHECK(byte_tokens("a\xff") == ints{97, 255});
  CHECK(bytes_of_tokens(byte_tokens(text)) == text);
  refuses<data_error>([] { static_cast<void>(bytes_of_tokens(ints{256})); }, "tokens must be 0 to 255; found 256");
}

TEST_CASE("tokens: a text is read as it is", "[hostile]") {
  test::temporary_directory const folder;
  std::string const bytes("a\0\r\n\xff", 5), path = folder / "text";
  std::ofstream(path, std::ios::binary) << bytes;
  CHECK(read_text(path) == bytes);
  std::ofstream(folder / "empty") << "";
  refuses<data_error>([&] { read_text(folder / "empty"); }, "/empty: it is empty; name a readable file");
  refuses<data_error>([&] { read_text(folder / "none"); }, "text: cannot read ");
  refuses<data_error>([&] { read_text(folder.path.string()); }, "it is a directory");
}

TEST_CASE("tokens: data sets keep them in bytes or floats, and say what does not fit") {
  for (int vocabulary : {256, 257}) {
    ints tokens = some_tokens(12, vocabulary);
    tokens[5] = vocabulary - 1;
    dataset const all = in_memory_tokens(4, vocabulary, tokens, 2, {0, 1, 1}, {"short", "long"});
    CHECK(all.has_bytes() == (vocabulary == 256));
    CHECK((all.size == 3 && all.classes == 2 && !all.pixel_classes && all.sample == shape{1, 1, 4}));
    CHECK((all.label(2) == 1 && all.class_name(1) == "long"));
    batch_loader loader(all, {.batch_size = 3, .shuffle = false, .prefetch = 0});
    loader.start(0);
    batch const* const b = loader.next();
    for (std::size_t i = 0; i < tokens.size(); ++i) CHECK(b->inputs[0][i] == static_cast<float>(tokens[i]));

    dataset const each = in_memory_token_classes(6, vocabulary, tokens, 3, {0, 1, 2, 9, 0, 1, 2, 9, -1, 0, 0, 0}, 9);
    CHECK((each.size == 2 && each.pixel_classes && each.labels_each() == 6));
    CHECK((each.labels(0)[3] == -1 && each.labels(1)[1] == -1 && each.labels(1)[2] == -1 && each.labels(1)[5] == 0));
  }
  refuses<data_error>([] { in_memory_tokens(2, 5, {0, 5}, 2, {0}); },
                      "in_memory_tokens: tokens must be 0 to 4, the numbers of a vocabulary of 5; found 5 as token 1");
  refuses<data_error>([] { in_memory_tokens(2, 5, {0, -1}, 2, {0}); }, "found -1 as token 1");
  refuses<data_error>([] { in_memory_tokens(2, 5, {0, 1, 2}, 2, {0}); }, "found 3 in all, which is not a whole number");
  refuses<data_error>([] { in_memory_tokens(2, 5, {0, 1}, 2, {0, 1}); }, "found 1 sequence and 2 labels");
  refuses<data_error>([] { in_memory_tokens(2, 5, {0, 1}, 2, {2}); }, "labels must be 0 to 1; found 2");
  refuses<option_error>([] { in_memory_tokens(0, 5, {}, 2, {}); }, "the length must be 1 or more; found 0");
  refuses<option_error>([] { in_memory_tokens(1, 0, {}, 2, {}); }, "the vocabulary must have 1 to 16,777,216 tokens");
  refuses<option_error>([] { in_memory_tokens(1, 16'777'217, {}, 2, {}); }, "found 16777217");
  refuses<option_error>([] { in_memory_tokens(1, 5, {1}, 0, {0}); }, "classes must be 1 or more; found 0");
  refuses<data_error>([] { in_memory_token_classes(2, 5, {0, 1}, 2, {0}); }, "found 2 tokens and 1 label;");
  refuses<data_error>([] { in_memory_token_classes(2, 5, {0, 1}, 2, {0, 2}); },
                      "a token's label must be 0 to 1, or -1 for none; found 2 for token 1");
  refuses<data_error>([] { in_memory_token_classes(2, 5, {0, 1}, 2, {-1, -1}); }, "at least one token must have a");
  refuses<option_error>([] { in_memory_token_classes(2, 5, {0, 1}, 1, {0, 0}); }, "classes must be 2 or more");
}

TEST_CASE("tokens: samples of a text, and the token after each") {
  for (int vocabulary : {20, 300}) {
    ints text;
    for (int i = 0; i < 11; ++i) text.push_back(i);
    struct {
      token_windows windows;
      std::int64_t samples;
    } const cases[] = {{{.length = 5}, 2},
                       {{.length = 5, .step = 1}, 6},
                       {{.length = 4, .step = 3}, 3},
                       {{.length = 10}, 1},
                       {{.length = 3, .step = 100}, 1}};
    for (auto const& [windows, samples] : cases) {
      dataset const all = next_tokens(text, vocabulary, windows);
      INFO(windows.length << " tokens, step " << windows.step << ", vocabulary " << vocabulary);
      CHECK((all.size == samples && all.classes == vocabulary && all.sample == shape{1, 1, windows.length}));
      int const step = windows.step > 0 ? windows.step : windows.length;
      batch_loader loader(all, {.batch_size = static_cast<int>(samples), .shuffle = false, .prefetch = 0});
      loader.start(0);
      batch const* const b = loader.next();
      for (int n = 0, i = 0; n < samples; ++n)
        for (int k = 0; k < windows.length; ++k, ++i) {
          CHECK(b->inputs[0][i] == static_cast<float>(n * step + k));
          CHECK(b->targets[0].labels[i] == n * step + k + 1);
        }
      CHECK(b->targets[0].labelled == samples * windows.length);
      dataset const last = all.subset(samples - 1, 1);
      CHECK(last.labels(0)[0] == static_cast<int>(samples - 1) * step + 1);
    }
  }
  refuses<data_error>(
      [] { next_tokens({1, 2, 3}, 9, {.length = 3}); },
      "next_tokens: the text must have at least 4 tokens, those of a sample and the one after it; found 3");
  refuses<data_error>([] { next_tokens({1, 2, 9}, 9, {.length = 1}); }, "tokens must be 0 to 8");
  refuses<option_error>([] { next_tokens({1, 2}, 9, {.length = 1, .step = -1}); }, "step must be 1 or more");
  refuses<option_error>([] { next_tokens({1, 2}, 9, {.length = 0}); }, "the length must be 1 or more");
  refuses<option_error>([] { next_tokens({0, 0}, 1, {.length = 1}); }, "at least two tokens to choose from");
}

TEST_CASE("tokens: a class for each is learnt, and those without one do not count") {
  int const length = 8, vocabulary = 12;
  ints const tokens = some_tokens(length * 40, vocabulary);
  ints labels, misleading;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    bool const hides = i % 3 == 0;
    labels.push_back(hides ? -1 : tokens[i] % 3);
    misleading.push_back(hides ? (tokens[i] + 1) % 3 : tokens[i] % 3);
  }
  trainer learner = compile<tagger<vocabulary, length>>(reference{}, adam{.learning_rate = 0.05});
  dataset const data = in_memory_token_classes(length, vocabulary, tokens, 3, labels);
  learner.fit(data, {.epochs = 12, .batch_size = 8});
  CHECK(learner.evaluate(data).acc == 1);
  scores const all = learner.evaluate(in_memory_token_classes(length, vocabulary, tokens, 3, misleading));
  CHECK(all.acc == approx(tokens.size() % 3 == 0 ? 2.0 / 3 : 213.0 / 320));
}

TEST_CASE("tokens: the nearest token of a number, if the vocabulary has it") {
  for (float const x : {-0.5F, 0.0F, 0.25F}) CHECK(host::token_of(x, 5) == 0);
  for (double const x : {3.5, 4.0, 4.25}) CHECK(host::token_of(x, 5) == 4);
  for (float const x : {-0.75F, -1.0F, 4.5F, 5.0F, 1e30F, -1e30F, std::numeric_limits<float>::quiet_NaN(),
                        std::numeric_limits<float>::infinity()}) {
    INFO(x);
    CHECK(host::token_of(x, 5) == -1);
  }
}

TEST_CASE("tokens: a trainer refuses what its vocabulary does not have", "[hostile]") {
  using model = tagger<5, 4>;
  trainer learner = compile<model>(reference{}, sgd{.learning_rate = 0.1});
  dataset const good = in_memory_token_classes(4, 5, some_tokens(8, 5), 3, ints(8, 1));
  dataset const bad = in_memory_token_classes(4, 6, {0, 1, 2, 3, 4, 0, 5, 1}, 3, ints(8, 1));
  char const* const found =
      "must be whole numbers from 0 to 4; found 5 as token 2 of sample 1; correct the data, or give "
      "embedding<...> a larger vocabulary";
  refuses<data_error>([&] { learner.fit(bad, {.batch_size = 2}); }, std::string("fit: the network's tokens ") + found);
  refuses<data_error>([&] { learner.fit(good, {.batch_size = 2, .validation = &bad}); },
                      "validation: the network's tokens");
  refuses<data_error>([&] { learner.evaluate(bad); }, "evaluate: the network's tokens");
  refuses<data_error>([&] { learner.predict(bad); }, "predict: the network's tokens");
  CHECK(learner.steps() == 0);
  CHECK_NOTHROW(learner.evaluate(bad.first(1)));
  learner.fit(good, {.batch_size = 2});

  for (float const x : {5.0F, -1.0F, 0.5F, 1e30F, -0.25F, std::numeric_limits<float>::quiet_NaN(),
                        std::numeric_limits<float>::infinity()}) {
    INFO(x);
    std::vector<float> const numbers{0, 1, 2, 3, x, 0, 1, 2};
    dataset const reals = in_memory_pixel_classes({1, 1, 4}, std::vector<float>{0, 1, 2, 3}, 3, ints(4, 0));
    CHECK_NOTHROW(learner.evaluate(reals));
    std::vector<float> outputs(2 * 3 * 4);
    refuses<data_error>([&] { learner.train_on_batch(numbers, ints(8, 1)); }, "train_on_batch: the network's tokens");
    refuses<data_error>([&] { learner.predict_on_batch(numbers, outputs); }, "as token 0 of sample 1");
    refuses<data_error>([&] { learner.predict_on_batch({{"", numbers}}, outputs); }, "predict_on_batch: the network's");
    predictor other = make_predictor<model>(reference{}, learner);
    refuses<data_error>([&] { other.predict(numbers, outputs); }, "predict_on_batch: the network's tokens");
    if (std::isfinite(x))
      refuses<data_error>([&] { learner.evaluate(in_memory_pixel_classes({1, 1, 4}, numbers, 3, ints(8, 1))); },
                          "as token 0 of sample 1");
  }

  dataset moved = good;
  moved.mean = std::make_shared<std::vector<float> const>(4, 0.0F);
  refuses<option_error>([&] { learner.evaluate(moved); }, "evaluate: the network's tokens must not be normalised");
  normalization by;
  by.inputs.push_back({.input = "", .mean = moved.mean});
  refuses<data_error>([&] { learner.set_normalization(by); }, "normalization: token numbers must not be normalised");
  refuses<option_error>([&] { learner.fit(good, {.batch_size = 2, .augment = shift_and_flip{}}); },
                        "fit: token numbers cannot be augmented");
}

TEST_CASE("tokens: those of a source and of a further input are checked, too") {
  struct numbers : sample_source {
    float bad;
    explicit numbers(float x) : bad(x) {}
    void read(std::int64_t i, float* out) const override {
      for (int k = 0; k < 4; ++k) out[k] = i == 5 && k == 3 ? bad : static_cast<float>(k);
    }
    std::string identity() const override { return "numbers"; }
  };
  using model = network<token_numbers<4>, embedding<5, 3>, flatten, dense<2>, softmax>;
  trainer learner = compile<model>(native{.threads = 1}, sgd{.learning_rate = 0.1});
  ints const labels{0, 1, 0, 1, 0, 1, 0, 1};
  dataset const good = source_classes({1, 1, 4}, std::make_shared<numbers>(4.0F), 2, labels);
  dataset const bad = source_classes({1, 1, 4}, std::make_shared<numbers>(5.0F), 2, labels);
  CHECK_NOTHROW(learner.fit(good, {.batch_size = 4}));
  refuses<data_error>([&] { learner.fit(bad, {.batch_size = 4, .shuffle = false}); },
                      "fit: the network's tokens must be whole numbers from 0 to 4; found 5 as token 3 of sample 5");
  refuses<data_error>([&] { learner.evaluate(bad); }, "evaluate: the network's tokens");
  refuses<data_error>([&] { learner.predict(bad); }, "predict: the network's tokens");

  using asked =
      network<features<2>, concat<identity, sequential<named_input<"word", token_numbers<1>>, embedding<5, 3>>>,
              dense<2>, softmax>;
  trainer two = compile<asked>(reference{}, sgd{.learning_rate = 0.1});
  dataset const rows = in_memory_classes({2}, std::vector<float>{0, 1, 2, 3}, 2, {0, 1});
  CHECK_NOTHROW(two.evaluate(with_input(rows, "word", {1, 1, 1}, std::vector<float>{0, 4})));
  dataset const wrong = with_input(rows, "word", {1, 1, 1}, std::vector<float>{0, 5});
  refuses<data_error>([&] { two.evaluate(wrong); },
                      "evaluate: the tokens of input \"word\" must be whole numbers from 0 to 4; found 5 as token 0 of "
                      "sample 1");
  std::vector<float> const row{0, 1};
  std::vector<float> const word{7};
  refuses<data_error>([&] { two.train_on_batch({{"", row}, {"word", word}}, ints{1}); }, "found 7 as token 0");
}

TEST_CASE("tokens: one outside of the vocabulary leads nowhere without the checks", "[hostile]") {
  using model = tagger<5, 4>;
  auto const e = reference<float>{}.make_engine(model::view(), {.verify = &verify});
  auto& host = dynamic_cast<host::engine<float>&>(*e);
  for (float const bad : {5.0F, 4.5F, -1.0F, 1e30F, -1e30F, std::numeric_limits<float>::quiet_NaN()}) {
    INFO(bad);
    std::vector<float> const numbers{4, bad, 0, 4};
    ints const labels{0, -1, 1, 2};
    initialize(*e, 3);
    int const predicts = e->prepare(mode::inference, 1);
    e->run(predicts, test::one_batch{numbers.data(), {}, 1});
    std::vector<float> outputs(3 * 4);
    e->read_result(predicts, outputs.data());
    for (std::size_t i = 0; i < outputs.size(); ++i) CHECK(std::isnan(outputs[i]) == (i % 4 == 1));
    int const program = e->prepare(mode::training, 1, target_kind::pixel_classes);
    e->run(program, test::one_batch{numbers.data(), {.labels = labels.data(), .labelled = 3}, 1});
    float const* const gradient = host.parameter_gradient_data(0);
    for (int token = 0; token < 5; ++token)
      for (int c = 0; c < 6; ++c) CHECK((gradient[token * 6 + c] != 0) == (token == 0 || token == 4));
  }
}

namespace {

using small_gpt = network<token_numbers<20>, models::gpt<29, 2, 24, 3>>;

/// Sets the weights of tests/fixtures/make_torch_gpt.py.
void write_initial(engine& e) {
  graph_view const& g = e.graph();
  for (int k = 0; k < g.size.parameters; ++k) {
    parameter const& p = g.parameters[k];
    test::parameter_kind const kind = p.role == role::kernel  ? test::parameter_kind::kernel
                                      : p.role == role::gamma ? test::parameter_kind::gamma
                                                              : test::parameter_kind::bias;
    std::vector<float> numbers;
    for (long long i = 0; i < p.count(); ++i)
      numbers.push_back(static_cast<float>(test::initial_value(kind, static_cast<std::uint32_t>(k),
                                                               static_cast<std::uint32_t>(i), p.fan_in, p.fan_out)));
    e.write_parameter(k, numbers.data());
  }
}

/// Returns the losses of 20 steps.
std::vector<double> follow(trainer& learner) {
  write_initial(learner.engine());
  std::vector<double> losses;
  for (std::uint32_t step = 0; step < 20; ++step) {
    std::vector<float> tokens;
    ints wanted;
    for (std::uint32_t n = 0; n < 4; ++n)
      for (std::uint32_t i = 0; i < 20; ++i) {
        auto const at = [&](std::uint32_t k) { return static_cast<int>(test::hash32(3000 + step % 4, k) % 29); };
        tokens.push_back(static_cast<float>(at(21 * n + i)));
        int const next = at(21 * n + i + 1);
        wanted.push_back(next == 0 ? -1 : next);
      }
    losses.push_back(learner.train_on_batch(tokens, wanted).loss);
  }
  return losses;
}

}  // namespace

TEST_CASE("tokens: a small GPT has PyTorch's losses for 20 steps") {
  std::ifstream in(TYPENET_TEST_DATA "/torch_gpt.txt");
  int compared = 0;
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string optimizer, type;
    words >> optimizer >> type;
    if (type != "float32") continue;  // float64's are beside it, to show how far float may be
    std::vector<double> theirs;
    for (double x = 0; words >> x;) theirs.push_back(x);
    REQUIRE(theirs.size() == 20);
    for (int executor = 0; executor < 2; ++executor) {
      auto const with = [&](auto rule) {
        return executor == 0 ? compile<small_gpt>(reference{}, rule) : compile<small_gpt>(native{.threads = 2}, rule);
      };
      trainer learner = optimizer == "sgd"
                            ? with(sgd{.learning_rate = 0.05, .momentum = 0.9, .rate_in_velocity = false})
                            : with(adam{.learning_rate = 3e-3, .epsilon = 1e-8, .corrected_epsilon = true});
      std::vector<double> const ours = follow(learner);
      for (std::size_t s = 0; s < ours.size(); ++s) {
        INFO(optimizer << " on executor " << executor << ", step " << s);
        CHECK(ours[s] == approx(theirs[s]).epsilon(1e-4));
        ++compared;
      }
    }
  }
  CHECK(compared == 80);
}

TEST_CASE("tokens: weights have the same bits with any number of threads") {
  std::vector<float> first;
  for (int threads : {1, 2, 3}) {
    trainer learner = compile<small_gpt>(native{.threads = threads}, adam{.learning_rate = 3e-3});
    follow(learner);
    std::vector<float> const now = detail::read_weights(learner.engine());
    if (first.empty()) first = now;
    REQUIRE(now.size() == first.size());
    CHECK(std::memcmp(now.data(), first.data(), now.size() * sizeof(float)) == 0);
  }
}
