// SPDX-License-Identifier: MIT
// Tests examples/classify as its user runs it, with known weights and with weights that the training program wrote, and
// the classes file that connects the two programs.
#include "support/catch.hpp"
#include "support/cifar_files.hpp"
#include "support/picture_files.hpp"
#include "support/temporary_directory.hpp"
#include "support/words.hpp"

#include <dsl/dsl.hpp>
#include <dsl/io/classes_file.hpp>
#include <dsl/pictures.hpp>
#include <dsl/text.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/core.h>
#include <sys/wait.h>

namespace test = dsl::test;
using dsl::test::temporary_directory;

using dsl::test::contents;
using dsl::test::has;
using dsl::test::lines;
using dsl::test::refuses;

namespace {

namespace fs = std::filesystem;

void write(std::string const& path, std::string const& bytes) { std::ofstream(path, std::ios::binary) << bytes; }

dsl::picture_classes const three{{1, 1, 2}, {"cat", "a b", "frog"}, {0.1f, -3e-9f}};

}  // namespace

TEST_CASE("classes: what is read is what was written, to the bit", "[classes]") {
  temporary_directory const here;
  std::string const path = here / "w.classes";
  dsl::picture_classes all = three;
  all.mean = {std::numeric_limits<float>::denorm_min(), 16777217.0f};
  dsl::write_classes(all, path);
  dsl::picture_classes const read = dsl::read_classes(path);
  CHECK((read.sample == all.sample));
  CHECK(read.names == all.names);
  CHECK(read.mean == all.mean);
  dsl::write_classes(three, path);
  CHECK(contents(path) == "typenet classes 1\npicture 1 1 2\nclasses 3\ncat\na b\nfrog\nmean 2\n0.1\n-3e-09\nend\n");
  all.mean.clear();
  dsl::write_classes(all, path);
  CHECK(dsl::read_classes(path).mean.empty());

  dsl::synthetic const drawn = dsl::synthetic_pictures(20, 5, 3);
  dsl::write_classes(dsl::classes_of(drawn.train), path);
  CHECK(dsl::read_classes(path).mean == *drawn.test.mean);
  CHECK(dsl::read_classes(path).names.at(5) == "star");
  all.names[1] = "two\nlines";
  refuses<dsl::option_error>([&] { dsl::write_classes(all, path); }, {"one line"});
  CHECK(dsl::read_classes(path).names.size() == 10);  // unchanged
}

TEST_CASE("classes: a damaged file is refused, with the line", "[classes]") {
  temporary_directory const here;
  std::string const path = here / "w.classes";
  dsl::write_classes(three, path);
  std::string const good = contents(path);
  auto const bad = [&](std::string const& text, std::vector<std::string> words) {
    write(path, text);
    words.push_back(path);
    refuses<dsl::file_error>([&] { dsl::read_classes(path); }, words);
  };
  auto const changed = [&](std::string const& from, std::string const& to) {
    std::string text = good;
    return text.replace(text.find(from), from.size(), to);
  };
  for (std::size_t size = 0; size < good.size(); ++size) bad(good.substr(0, size), {"line "});
  bad(good + "\n", {"line 10", "last line"});
  bad(changed("classes 1", "classes 2"), {"line 1", "typenet classes 1"});
  bad(changed("picture 1 1 2", "picture 1 1"), {"line 2"});
  bad(changed("picture 1 1 2", "picture 1 1 0"), {"line 2", "found picture 1 1 0"});
  bad(changed("picture 1 1 2", "picture 1 1 2 "), {"line 2"});
  bad(changed("picture 1 1 2", "picture 1 1 99999999999"), {"line 2"});
  bad(changed("classes 3", "classes 4"), {"line "});
  bad(changed("classes 3", "classes -3"), {"line 3"});
  bad(changed("mean 2", "mean 1"), {"line 7", "number of values in an image"});
  bad(changed("0.1", "nan"), {"line 8", "found nan"});
  bad(changed("0.1", "0.1x"), {"line 8"});
  bad(changed("0.1", "1e99"), {"line 8"});
  fs::remove(path);
  refuses<dsl::data_error>([&] { dsl::read_classes(path); }, {path, "beside the weights"});
}

TEST_CASE("classes: a name that is no text for a terminal or gnuplot is refused, with the line", "[classes][hostile]") {
  temporary_directory const here;
  std::string const path = here / "w.classes";
  dsl::write_classes(three, path);
  std::string const good = contents(path);
  using namespace std::string_literals;
  for (std::string const& name : {"' 0); system(\"id > id_was_run\") #\\\0"s, "frog\r"s, "\x1b]0;title\x07"s, "tab\t"s,
                                  "\x7f"s, "\xc2\x9b"s, "latin \xe9"s, "\u202egorf"s, ""s, std::string(1001, 'n')}) {
    CAPTURE(name);
    std::string text = good;
    write(path, text.replace(text.find("a b"), 3, name));
    std::string const said = test::thrown<dsl::file_error>([&] { dsl::read_classes(path); });
    CHECK(has(said, path + ", line 5: it must be a class name, in UTF-8 and without control characters"));
    for (char const c : said) CHECK((c >= 0x20 && c < 0x7f));
    dsl::picture_classes all = three;
    all.names[1] = name;
    CHECK_THROWS_AS(dsl::write_classes(all, path), dsl::option_error);
  }
  dsl::picture_classes all = three;
  all.names[1].assign(1000, 'n');
  dsl::write_classes(all, path);
  CHECK(dsl::read_classes(path).names == all.names);
  write(path, good.substr(0, good.find("a b")));
  fs::resize_file(path, std::uintmax_t{1} << 40);  // a sparse file: a line of a terabyte that takes no disk space
  refuses<dsl::file_error>([&] { dsl::read_classes(path); }, {path, "line 5", "found a line of more than 1000 bytes"});
}

#ifdef TYPENET_CLASSIFY
namespace {

struct outcome {
  int code = -1;
  std::string out, err;
};
/// Runs a program in `here` by a shell; arguments are not quoted.
outcome run(temporary_directory const& here, std::string const& program, std::string const& arguments) {
  temporary_directory const elsewhere;
  std::string const command = "cd '" + here.path.string() +
                              "' && TYPENET_DATA= XDG_CACHE_HOME=/nonexistent timeout 600 " + program + " " +
                              arguments + " >" + (elsewhere / "out") + " 2>" + (elsewhere / "err");
  int const status = std::system(command.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, contents(elsewhere / "out"), contents(elsewhere / "err")};
}
outcome classify(temporary_directory const& here, std::string const& arguments) {
  return run(here, TYPENET_CLASSIFY, arguments);
}

using model = dsl::network<dsl::image<3, 32, 32>, dsl::minigooglenet<10>>;

/// Untrained weights whose last layer is scaled so that probabilities differ, with a mean of their own.
struct known {
  temporary_directory here;
  dsl::trainer trainer = dsl::compile<model>(dsl::reference{}, dsl::sgd{}, dsl::compile_options{.seed = 11});
  dsl::picture_classes classes{{3, 32, 32}, {}, std::vector<float>(3072)};

  known() {
    int dense = -1;
    for (int k = 0; k < trainer.graph().size.parameters; ++k)
      if (trainer.graph().parameters[k].count() == 336 * 10) dense = k;
    REQUIRE(dense >= 0);
    std::vector<float> kernel(3360);
    trainer.engine().read_parameter(dense, kernel.data());
    for (float& x : kernel) x *= 0.3f;
    trainer.engine().write_parameter(dense, kernel.data());
    for (int c = 0; c < 10; ++c) classes.names.push_back("class " + std::to_string(c));
    for (std::size_t i = 0; i < 3072; ++i) classes.mean[i] = 90 + static_cast<float>(i / 64);
    dsl::save_weights(trainer, here / "w");
    dsl::write_classes(classes, here / "w.classes");
  }
  /// Returns what the program must print for a picture of 32x32.
  std::string answer(std::string const& name, dsl::rgb_picture const& p, std::size_t top) {
    std::vector<float> input(3072), out(10);
    dsl::to_planes(p, classes.mean.data(), input.data());
    trainer.predict_on_batch(input.data(), 1, out.data());
    std::vector<std::size_t> order{0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return out[a] > out[b]; });
    std::string text = name + "\n";
    for (std::size_t i = 0; i < top; ++i)
      text += fmt::format("  {:6.2f} %  {}\n", 100 * out[order[i]], classes.names[order[i]]);
    return text;
  }
};
/// Compares two answers: executors differ in the last digits, so names must be equal and percentages within 0.02.
void same_answer(std::string const& said, std::string const& expected) {
  INFO(said << "and expected\n" << expected);
  auto const a = lines(said), b = lines(expected);
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t const at = b[i].find("%  ");
    if (at == std::string::npos) {
      CHECK(a[i] == b[i]);
      continue;
    }
    REQUIRE(a[i].size() == b[i].size());
    CHECK(a[i].substr(at) == b[i].substr(at));
    CHECK(std::atof(a[i].c_str()) == approx(std::atof(b[i].c_str())).margin(0.02));
  }
}

}  // namespace

TEST_CASE("classify: the likeliest classes of each picture", "[program]") {
  known k;
  dsl::rgb_picture const a = test::drawn(32, 32, 1), b = test::drawn(32, 32, 2), wide = test::drawn(90, 50, 3);
  write(k.here / "a.png", test::png(a));
  write(k.here / "b.png", test::png(b));
  write(k.here / "wide.png", test::png(wide));
  auto const jpeg = test::jpeg(test::drawn(64, 64, 4));
  write(k.here / "d.jpg", jpeg);
  auto const read = dsl::decode_picture(reinterpret_cast<std::uint8_t const*>(jpeg.data()), jpeg.size(), "d.jpg");
  std::string const expected = k.answer("a.png", a, 3) + k.answer("b.png", b, 3) +
                               k.answer("wide.png", dsl::resized(dsl::centre_square(wide), 32, 32), 3) +
                               k.answer("d.jpg", dsl::resized(read, 32, 32), 3);
  outcome const o = classify(k.here, "--weights w a.png b.png wide.png d.jpg");
  CHECK(o.code == 0);
  CHECK(o.err.empty());
  same_answer(o.out, expected);
  CHECK(k.answer("", a, 10) != k.answer("", b, 10));  // otherwise the test would show nothing

  outcome const all = classify(k.here, "-w w --top 10 a.png");
  same_answer(all.out, k.answer("a.png", a, 10));
  double sum = 0;
  for (std::string const& line : lines(all.out))
    if (has(line, " %  ")) sum += std::atof(line.c_str());
  CHECK(sum == approx(100).margin(0.06));
  same_answer(classify(k.here, "-w w -k 1 a.png").out, k.answer("a.png", a, 1));

  // Names and mean come from the file.
  dsl::picture_classes other = k.classes;
  for (float& m : other.mean) m += 60;
  for (std::string& name : other.names) name = "other " + name;
  dsl::write_classes(other, k.here / "other");
  k.classes = other;
  same_answer(classify(k.here, "-w w --classes other a.png").out, k.answer("a.png", a, 3));
}

TEST_CASE("classify: a picture's name is shown, and not obeyed by a terminal", "[program]") {
  known k;
  write(k.here / "\x1b]0;x\a.png", test::png(test::drawn(32, 32, 1)));
  outcome const o = classify(k.here, "-w w '\x1b]0;x\a.png' '\x1b[2J.png'");
  CHECK(o.out.starts_with("\\x1b]0;x\\x07.png\n"));
  CHECK(has(o.err, "\\x1b[2J.png: "));
  CHECK((o.out + o.err).find('\x1b') == std::string::npos);
}

TEST_CASE("classify: names and mean of CIFAR-10's own files", "[program]") {
  known k;
  test::cifar_files const cifar;
  dsl::rgb_picture const a = test::drawn(32, 32, 1);
  write(k.here / "a.png", test::png(a));
  std::string const beside = k.answer("a.png", a, 10);
  k.classes.names = cifar.names();
  k.classes.mean = cifar.mean();
  std::string const expected = k.answer("a.png", a, 10);
  CHECK(expected.substr(0, 17) != beside.substr(0, 17));  // the mean matters, too

  outcome const given = classify(k.here, "-w w -k 10 --data " + cifar.path() + " a.png");  // w.classes exists
  CHECK(given.code == 0);
  CHECK(given.err.empty());
  same_answer(given.out, expected);

  fs::remove(k.here / "w.classes");
  outcome const found = run(k.here, "env TYPENET_DATA=" + cifar.path() + " " TYPENET_CLASSIFY, "-w w -k 10 a.png");
  CHECK(found.code == 0);
  CHECK(found.err == "warning: there is no w.classes; using the classes and mean of CIFAR-10\n");
  same_answer(found.out, expected);

  fs::rename(k.here / "w", k.here / "\x1b[2J");
  outcome const evil =
      run(k.here, "env TYPENET_DATA=" + cifar.path() + " " TYPENET_CLASSIFY, "-w '\x1b[2J' -k 10 a.png");
  CHECK(evil.err == "warning: there is no \\x1b[2J.classes; using the classes and mean of CIFAR-10\n");
  same_answer(evil.out, expected);
}

TEST_CASE("classify: bad pictures are named, the others classified", "[program]") {
  known k;
  dsl::rgb_picture const good = test::drawn(32, 32, 5);
  std::string const png = test::png(good), jpeg = test::jpeg(good);
  write(k.here / "good.png", png);
  write(k.here / "cut.png", png.substr(0, png.size() / 2));
  write(k.here / "cut.jpg", jpeg.substr(0, jpeg.size() / 2));
  write(k.here / "huge.png", test::with_png_size(png, 1u << 19, 1u << 19));
  write(k.here / "empty.png", "");
  write(k.here / "text.jpg", "not a picture\n");
  fs::create_directory(k.here.path / "folder.png");
  outcome const o =
      classify(k.here, "-w w cut.png good.png cut.jpg huge.png empty.png text.jpg folder.png none.png good.png");
  INFO(o.err);
  CHECK(o.code == 1);
  same_answer(o.out, k.answer("good.png", good, 3) + k.answer("good.png", good, 3));
  auto const errors = lines(o.err);
  REQUIRE(errors.size() == 7);
  std::vector<std::vector<std::string>> const words{
      {"cut.png", "libpng"},       {"cut.jpg", "libjpeg"},        {"huge.png", "found 524288 x 524288"},
      {"empty.png", "empty"},      {"text.jpg", "PNG or a JPEG"}, {"folder.png", "a directory"},
      {"none.png", "No such file"}};
  for (std::size_t i = 0; i < 7; ++i) {
    CHECK(errors[i].starts_with("error: picture: "));
    for (std::string const& word : words[i]) CHECK(has(errors[i], word));
  }
}

TEST_CASE("classify: options and weights that can't be", "[program]") {
  known k;
  write(k.here / "a.png", test::png(test::drawn(32, 32, 1)));
  auto const fails = [&](int code, std::string const& arguments, std::vector<std::string> const& words) {
    outcome const o = classify(k.here, arguments);
    INFO(arguments << "\n" << o.err);
    CHECK(o.code == code);
    CHECK(o.out.empty());
    CHECK(lines(o.err).size() == 1);
    for (std::string const& word : words) CHECK(has(o.err, word));
  };
  fails(2, "a.png", {"--weights"});
  fails(2, "-w w", {"pictures", "one or more"});
  fails(2, "-w w --top 0 a.png", {"--top", "1 to 10", "found 0"});
  fails(2, "-w w --top 11 a.png", {"found 11"});
  fails(2, "-w w --top three a.png", {"--top", "three"});
  fails(2, "-w w --tpo 3 a.png", {"--tpo", "--help"});
  fails(2, "-w w --classes w.classes --data . a.png", {"--classes", "--data"});
  fails(1, "-w none --classes w.classes a.png", {"none", "No such file"});
  fails(1, "-w none a.png", {"checkpoint: cannot read none: No such file"});
  fails(1, "-w a.png --classes w.classes a.png", {"checkpoint", "a.png"});
  fails(1, "-w w --classes none a.png", {"none", "No such file"});
  fails(1, "-w w --data . a.png", {"cifar10", "found none"});
  std::string const weights = contents(k.here / "w");
  write(k.here / "cut", weights.substr(0, weights.size() - 5));
  fails(1, "-w cut --classes w.classes a.png", {"cut"});
  write(k.here / "bare", weights);
  fails(1, "-w bare a.png", {"bare.classes", "--classes FILE or --data DIR"});
  dsl::write_classes(three, k.here / "three");
  fails(1, "-w w --classes three a.png", {"10 for images of 3x32x32", "found 3 for 1x1x2"});

  outcome const full = run(k.here, "sh -c '" TYPENET_CLASSIFY " -w w a.png >/dev/full'", "");
  CHECK(full.code == 1);
  CHECK(has(full.err, "standard output: it must be writable"));

  outcome const help = classify(k.here, "--help");
  CHECK(help.code == 0);
  for (char const* word : {"--weights", "--top", "--classes", "=3", "triangle filter", "Examples:", "--weights"})
    CHECK(has(help.out, word));
}

TEST_CASE("classify: what the training program has learnt", "[program]") {
  temporary_directory const here;
  outcome const trained =
      run(here, TYPENET_MINIGOOGLENET_CIFAR,
          "-o plot.svg --synthetic --train-size 8 --test-size 4 --batch-size 4 --epochs 2 --verbose 0 --seed 5 "
          "--bn-momentum 0.5 --weights w");
  INFO(trained.out << trained.err);
  REQUIRE(trained.code == 0);
  CHECK(has(trained.out, "weights in w"));
  CHECK(std::distance(fs::directory_iterator(here.path), {}) == 4);  // plot, history, w, w.classes
  dsl::synthetic const drawn = dsl::synthetic_pictures(8, 4, 5);
  CHECK(dsl::read_classes(here / "w.classes").mean == *drawn.train.mean);

  dsl::trainer trainer = dsl::compile<model>(dsl::reference{}, dsl::sgd{.momentum = 0});  // another optimizer
  dsl::load_weights(trainer, here / "w");
  std::vector<float> const p = trainer.predict(drawn.test);
  std::string names, expected;
  for (int n = 0; n < 4; ++n) {
    dsl::rgb_picture picture{32, 32, {}};
    for (std::size_t i = 0; i < 1024; ++i)
      for (std::size_t c = 0; c < 3; ++c) picture.pixels.push_back(drawn.test.pixels(n)[c * 1024 + i]);
    std::string const name = fmt::format("{}.png", n);
    write(here / name, test::png(picture));
    names += " " + name;
    auto const* const row = p.data() + 10 * n;
    auto const best = std::max_element(row, row + 10) - row;
    expected +=
        fmt::format("{}\n  {:6.2f} %  {}\n", name, 100 * row[best], drawn.test.class_name(static_cast<int>(best)));
  }
  outcome const o = classify(here, "-w w -k 1" + names);
  INFO(o.err);
  CHECK(o.code == 0);
  same_answer(o.out, expected);
#ifdef TYPENET_PROGRAMS_HAVE_SAFETENSORS
  outcome const again =
      run(here, TYPENET_MINIGOOGLENET_CIFAR,
          "-o plot.svg --synthetic --train-size 8 --test-size 4 --batch-size 4 --epochs 2 --verbose 0 --seed 5 "
          "--bn-momentum 0.5 --weights w.safetensors");
  REQUIRE(again.code == 0);
  CHECK(classify(here, "-w w.safetensors -k 1" + names).out == o.out);
#endif
}
#endif
