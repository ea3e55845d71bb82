// SPDX-License-Identifier: MIT
// Tests confusion matrices: each sample is counted once however the data is divided; as text and as a plot.
#include "support/catch.hpp"
#include "support/temporary_directory.hpp"
#include "support/words.hpp"

#include <dsl/dsl.hpp>
#include <dsl/io/confusion_plot.hpp>
#include <dsl/text.hpp>
#include <dsl/text/confusion_table.hpp>
#include <dsl/towers.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

using dsl::test::temporary_directory;

using dsl::test::contents;
using dsl::test::has;
using dsl::test::refuses;

namespace {

using model = dsl::network<dsl::image<3, 32, 32>, dsl::conv2d<4, 3, 3, 4>, dsl::relu, dsl::max_pool2d<2>, dsl::flatten,
                           dsl::dense<10>, dsl::softmax>;

dsl::dataset animals(std::vector<std::string> names = {"cat", "dog", "frog"}) {
  auto const classes = static_cast<int>(names.size());
  return dsl::in_memory_dataset({1, 1, 1}, classes, {0}, {0}, std::move(names));
}
/// Rows of outputs with their labels: cat, cat, cat, dog and frog, predicted as cat, dog, dog, dog, cat.
dsl::confusion_matrix by_hand(dsl::dataset const& data = animals()) {
  dsl::confusion_matrix m;
  m.on_begin(data);
  float const first[] = {0.9f, 0.1f, 0, 0.2f, 0.5f, 0.3f, 0, 1, 0};
  std::int32_t const labels[] = {0, 0, 0};
  m.on_batch(first, labels, 0, 3);
  float const second[] = {0.1f, 0.8f, 0.1f, 0.4f, 0.2f, 0.4f};  // equal values: the first one counts
  std::int32_t const others[] = {1, 2};
  m.on_batch(second, others, 3, 2);
  m.on_end(nullptr);
  return m;
}

bool equal(dsl::confusion_matrix const& a, dsl::confusion_matrix const& b) {
  if (a.class_names() != b.class_names()) return false;
  for (int label = 0; label < a.classes(); ++label)
    for (int c = 0; c < a.classes(); ++c)
      if (a.count(label, c) != b.count(label, c)) return false;
  return true;
}

}  // namespace

TEST_CASE("confusion: counts by hand", "[confusion]") {
  dsl::confusion_matrix const m = by_hand();
  std::vector<long long> counts;
  for (int label = 0; label < 3; ++label)
    for (int c = 0; c < 3; ++c) counts.push_back(m.count(label, c));
  CHECK(counts == std::vector<long long>{1, 2, 0, 0, 1, 0, 1, 0, 0});
  CHECK(m.samples() == 5);
  CHECK(m.samples(0) == 3);
  CHECK(m.accuracy() == approx(0.4));
  CHECK(m.recall(0) == approx(1 / 3.0));
  CHECK(m.precision(1) == approx(1 / 3.0));
  CHECK(m.precision(2) == 0);  // nothing was predicted as a frog
  refuses<dsl::option_error>([&] { m.count(3, 0); }, {"0 to 2", "found label 3 and prediction 0"});
  refuses<dsl::option_error>([&] { m.count(0, -1); }, {"found label 0 and prediction -1"});
  refuses<dsl::option_error>([] { dsl::confusion_matrix{}.count(0, 0); }, {"evaluate() first"});
  CHECK(dsl::confusion_matrix{}.accuracy() == 0);

  // Outputs that are NaN count as the first class, as in the accuracy.
  dsl::confusion_matrix nan;
  nan.on_begin(animals());
  float const none = std::numeric_limits<float>::quiet_NaN(), bad[] = {none, none, none};
  std::int32_t const label = 2;
  nan.on_batch(bad, &label, 0, 1);
  CHECK(nan.count(2, 0) == 1);
}

namespace {
struct everything final : dsl::evaluation_observer {
  std::vector<float> outputs;
  std::vector<std::int32_t> labels;
  std::vector<std::int64_t> firsts;
  int begun = 0, ended = 0;
  void on_begin(dsl::dataset const&) override { ++begun; }
  void on_batch(float const* rows, std::int32_t const* those, std::int64_t first, int size) override {
    outputs.insert(outputs.end(), rows, rows + 10 * size);
    labels.insert(labels.end(), those, those + size);
    firsts.push_back(first);
  }
  void on_end(dsl::process_checks* processes) override {
    ++ended;
    CHECK(processes == nullptr);
  }
};
}  // namespace

TEST_CASE("confusion: every sample once, in any batches, on any towers", "[confusion]") {
  dsl::synthetic const pictures = dsl::synthetic_pictures(64, 53, 2);
  dsl::trainer one = dsl::compile<model>(dsl::reference{}, dsl::sgd{.learning_rate = 3e-3, .momentum = 0.9});
  one.fit(pictures.train, {.epochs = 3, .batch_size = 16});
  std::vector<float> const outputs = one.predict(pictures.test);
  dsl::confusion_matrix expected;
  expected.on_begin(pictures.test);
  std::vector<std::int32_t> labels;
  for (int i = 0; i < 53; ++i) labels.push_back(pictures.test.label(i));
  expected.on_batch(outputs.data(), labels.data(), 0, 53);
  int predicted = 0;
  for (int c = 0; c < 10; ++c) {
    long long all = 0;
    for (int label = 0; label < 10; ++label) all += expected.count(label, c);
    predicted += all > 0;
  }
  REQUIRE(predicted > 2);  // otherwise the test would show little

  auto const check = [&](dsl::trainer& t, int batch_size) {
    dsl::confusion_matrix m = by_hand();  // its old counts are discarded
    dsl::scores const with = t.evaluate(pictures.test, batch_size, &m);
    dsl::scores const without = t.evaluate(pictures.test, batch_size);
    CHECK(equal(m, expected));
    CHECK(m.samples() == 53);
    CHECK(with.loss == without.loss);
    CHECK(with.acc == without.acc);
    CHECK(m.accuracy() == approx(with.acc).epsilon(1e-12));
    CHECK(m.class_names()[5] == "star");

    everything seen;
    t.evaluate(pictures.test, batch_size, &seen);
    CHECK(seen.begun == 1);
    CHECK(seen.ended == 1);
    CHECK(seen.labels == labels);
    REQUIRE(seen.outputs.size() == outputs.size());
    for (std::size_t i = 0; i < outputs.size(); ++i) CHECK(seen.outputs[i] == approx(outputs[i]).margin(1e-6));
    for (std::size_t b = 0; b < seen.firsts.size(); ++b)
      CHECK(seen.firsts[b] == static_cast<std::int64_t>(b) * std::min(batch_size, 53));
  };
  for (int batch_size : {1, 8, 53, 64}) check(one, batch_size);
  temporary_directory const here;
  dsl::save_weights(one, here / "w");
  for (int count : {2, 3, 5})
    for (dsl::tower_policy const& policy : {dsl::host_merge, dsl::all_reduce}) {
      dsl::trainer several =
          dsl::compile<model>(dsl::reference{}, dsl::sgd{}, dsl::towers{.count = count, .policy = policy});
      dsl::load_weights(several, here / "w");
      for (int batch_size : {3, 8, 53}) {
        CAPTURE(count, batch_size);
        check(several, batch_size);
      }
    }
}

TEST_CASE("confusion: as text", "[confusion]") {
  CHECK(dsl::confusion_table(by_hand()) ==
        "label \\ predicted   cat   dog  frog  recall\n"
        "cat                   1     2     0  0.3333\n"
        "dog                   0     1     0  1.0000\n"
        "frog                  1     0     0  0.0000\n"
        "precision          0.50  0.33  0.00\n"
        "accuracy 0.4000 of 5 samples\n");
  dsl::dataset pairs = animals();
  pairs.sample = {1, 1, 2};
  pairs.pixel_classes = true;
  dsl::confusion_matrix pixels;
  pixels.on_begin(pairs);
  float const outputs[] = {0.9f, 0, 0.1f, 1, 0, 0};  // a cat beside a dog
  std::int32_t const labels[] = {0, 1};
  pixels.on_batch(outputs, labels, 0, 1);
  pixels.on_end(nullptr);
  CHECK(has(dsl::confusion_table(pixels), "accuracy 1.0000 of 2 pixels\n"));
  // Columns are aligned even if names have letters of two bytes.
  CHECK(has(dsl::confusion_table(by_hand(animals({"K\xc3\xa4tzchen", "dog", "frog"}))),
            "label \\ predicted  K\xc3\xa4tzchen   dog  frog  recall\n"
            "K\xc3\xa4tzchen                  1     2     0  0.3333\n"));
}

TEST_CASE("confusion: no name has escapes for a terminal", "[confusion][hostile]") {
  std::string const table = dsl::confusion_table(by_hand(animals({"\x1b]0;cat\x07", "dog\n\r", "fr\xc2\x9bog"})));
  CHECK(has(table, "label \\ predicted   ]0;cat   dog    fr og  recall\n"));
  for (char const c : table) CHECK((c == '\n' || (c >= 0x20 && c < 0x7f)));
  // One that reverses the direction of all that follows, including numbers.
  CHECK_FALSE(has(dsl::confusion_table(by_hand(animals({"cat\xe2\x80\xae", "dog", "frog"}))), "\xe2\x80\xae"));
}

TEST_CASE("confusion: as a picture", "[confusion]") {
  temporary_directory const here;
  dsl::confusion_matrix const m = by_hand(animals({"it's a cat", "dog", "set title 'x'"}));
  std::string const script = dsl::detail::gnuplot_script(m, {.title = "Pets"}, dsl::plot_format::svg);
  CHECK(has(script, "$cells << END\n0 0 0.333333 1\n1 0 0.666667 2\n2 0 0.000000 0\n0 1 0.000000 0\n1 1 1.000000 1\n"));
  CHECK(has(script, R"("it\047s a cat" 0, "dog" 1, "set title \047x\047" 2)"));
  dsl::plot(m, here / "m.svg", {.title = "Pets"});
  std::string const svg = contents(here / "m.svg");
  CHECK(has(svg, "Pets: 40.00 % of 5 correct"));
  CHECK((has(svg, "it's a cat") || has(svg, "it&apos;s a cat") || has(svg, "it&#39;s a cat")));
  CHECK(has(svg, "set title 'x'"));
  CHECK(has(svg, "Predicted"));
  dsl::plot(m, here / "m.png");
  CHECK(contents(here / "m.png").starts_with("\x89PNG\r\n\x1a\n"));
  std::vector<std::string> many;
  for (int c = 0; c < 40; ++c) many.push_back("class " + std::to_string(c));
  dsl::confusion_matrix large;
  large.on_begin(animals(many));
  std::vector<float> row(40);
  row[7] = 1;
  std::int32_t const label = 39;
  large.on_batch(row.data(), &label, 0, 1);
  dsl::plot(large, here / "large.svg");
  CHECK(has(contents(here / "large.svg"), "class 39"));

  refuses<dsl::option_error>([&] { dsl::plot(dsl::confusion_matrix{}, here / "none.png"); }, {"evaluate() first"});
  refuses<dsl::file_error>([&] { dsl::plot(m, here / "m.gif"); }, {".png or .svg"});
  refuses<dsl::file_error>([&] { dsl::plot(m, here / "missing/m.png"); }, {"missing/m.png"});
  CHECK(std::distance(std::filesystem::directory_iterator(here.path), {}) == 3);
}

TEST_CASE("confusion: no class name runs a command, and every one is drawn as it is", "[confusion][hostile]") {
  temporary_directory const here;
  std::string const ran = here / "ran", command = "' 0); system(\"touch " + ran + "\") #\\";
  using namespace std::string_literals;
  for (std::string const& end : {"\0"s, "\n"s, "\r"s, "\0\n"s, "\x1a"s, "\x7f"s, "\xff"s, "\xc2\x85"s, ""s}) {
    CAPTURE(end);
    std::vector<std::string> const names{command + end, "`touch " + ran + "`", "@ran $(touch " + ran + ")"};
    dsl::confusion_matrix const m = by_hand(animals(names));
    std::string const script = dsl::detail::gnuplot_script(m, {.title = command + end}, dsl::plot_format::svg);
    for (char const c : script) CHECK((c == '\n' || (c >= 0x20 && c != 0x7f)));
    dsl::plot(m, here / "m.svg", {.title = command + end});
    CHECK_FALSE(std::filesystem::exists(ran));
    CHECK(has(contents(here / "m.svg"), "@ran $(touch "));
  }
  // gnuplot takes a tic's label as a format, and interprets markup in it
  dsl::plot(by_hand(animals({"50% off", "100%d %s %%", "a_{b}^2 {/Symbol x}"})), here / "formats.svg");
  std::string const svg = contents(here / "formats.svg");
  for (char const* name : {">50% off<", ">100%d %s %%<", ">a_{b}^2 {/Symbol x}<"}) CHECK(has(svg, name));
  // Any number of quotes, and digits after an octal escape.
  for (std::string const& name : {"'frog"s, "'''a'''b''"s, "''1'2''3"s, "1'2\\3`4\"5@6#7$8"s}) {
    CAPTURE(name);
    dsl::plot(by_hand(animals({name, "dog", "frog"})), here / "quotes.svg", {.title = name});
    std::string drawn = contents(here / "quotes.svg");
    for (std::string const quote : {"&apos;", "&#39;"})
      for (std::size_t at = drawn.find(quote); at != drawn.npos; at = drawn.find(quote))
        drawn.replace(at, quote.size(), "'");
    CHECK(has(drawn, ">" + name + "<"));
    CHECK(has(drawn, ">" + name + ": 40.00 % of 5 correct<"));
  }
}
