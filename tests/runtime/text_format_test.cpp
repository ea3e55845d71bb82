// SPDX-License-Identifier: MIT
// Tests what people read: summaries, logs, bars, CSV files and plots, character by character.
#include "support/catch.hpp"
#include "support/printed.hpp"
#include "support/temporary_directory.hpp"
#include "support/words.hpp"

#include <fmt/core.h>

#include <dsl/detail/utf8.hpp>
#include <dsl/dsl.hpp>
#include <dsl/placement.hpp>
#include <dsl/text.hpp>
#include <dsl/text/format.hpp>
#include <dsl/towers.hpp>

#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

using dsl::test::temporary_directory;

using dsl::test::printed;

using dsl::test::contents;
using dsl::test::has;
using dsl::test::thrown;

namespace {

namespace fs = std::filesystem;

struct environment_variable {  // null: unset; restored afterwards
  std::string name, before;
  bool was_set = false;
  environment_variable(std::string n, char const* value) : name(std::move(n)) {
    if (char const* old = std::getenv(name.c_str())) before = old, was_set = true;
    value ? ::setenv(name.c_str(), value, 1) : ::unsetenv(name.c_str());
  }
  environment_variable(environment_variable const&) = delete;
  environment_variable& operator=(environment_variable const&) = delete;
  ~environment_variable() { was_set ? ::setenv(name.c_str(), before.c_str(), 1) : ::unsetenv(name.c_str()); }
};

/// Returns what a callback writes to a file or a pipe in a made-up run.
template <class Callback, class Run>
std::string written_by(Run run) {
  std::FILE* const out = std::tmpfile();
  {
    Callback c(out);
    run(c);
  }
  std::rewind(out);
  std::string text(10'000, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), out));
  std::fclose(out);
  return text;
}

dsl::epoch_record const tutorial{0, {1.4323, 0.4787}, {1.1319, 0.5983}, true, 5e-3, 63.6, 786};

// A small trainer, never trained, for fit_run to refer to.
using tiny = dsl::network<dsl::image<1, 2, 2>, dsl::flatten, dsl::dense<2>, dsl::softmax>;
dsl::trainer& some_trainer() {
  static dsl::trainer t = dsl::compile<tiny>(dsl::reference{}, dsl::sgd{});
  return t;
}
dsl::fit_run run_of(int epochs, std::int64_t steps) {
  return {.trainer = some_trainer(), .epochs = epochs, .steps = steps, .batch_size = 64};
}

struct lines_of {
  std::vector<std::string> lines;
  explicit lines_of(std::string const& text) {
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) lines.push_back(line);
  }
};

}  // namespace

// ---- numbers -----------------------------------------------------------------------------------------------------

TEST_CASE("numbers read as in Keras's logs", "[text]") {
  using namespace dsl::text;
  CHECK(metric(1.43234) == "1.4323");
  CHECK(metric(0.0011) == "0.0011");
  CHECK(metric(1e-3) == "1.0000e-03");
  CHECK(metric(0) == "0.0000e+00");
  CHECK(thousands(0) == "0");
  CHECK(thousands(999) == "999");
  CHECK(thousands(1'656'250) == "1,656,250");
  CHECK(thousands(-234'597'920) == "-234,597,920");
  CHECK(bytes(1023) == "1023 B");
  CHECK(bytes(1536) == "1.5 KiB");
  CHECK(bytes(256LL << 20) == "256.0 MiB");
  CHECK(duration(59.9) == "59s");
  CHECK(duration(75) == "1:15");
  CHECK(duration(3725) == "1:02:05");
  CHECK(step_time(2) == "2s/step");
  CHECK(step_time(0.1184) == "118ms/step");
  CHECK(step_time(4e-4) == "400us/step");
}

// ---- summary -----------------------------------------------------------------------------------------------------

TEST_CASE("the summary of a network with branches", "[text][summary]") {
  using model = dsl::network<dsl::image<3, 8, 8>, dsl::conv_module<4, 3, 3>, dsl::inception_module<2, 3>,
                             dsl::global_avg_pool2d, dsl::flatten, dsl::dense<10>, dsl::softmax>;
  CHECK(dsl::summary(model::view()) == R"(layer                 output  parameters  connected to
------------------------------------------------------
input                  3x8x8           0
0 conv_module
  0.0 conv2d           4x8x8         112
  0.1 batch_norm       4x8x8          16
  0.2 relu             4x8x8           0
1 inception_module
  1.0 conv_module
    1.0.0 conv2d       2x8x8          10
    1.0.1 batch_norm   2x8x8           8
    1.0.2 relu         2x8x8           0
  1.1 conv_module
    1.1.0 conv2d       3x8x8         111  0.2
    1.1.1 batch_norm   3x8x8          12
    1.1.2 relu         3x8x8           0
  concat               5x8x8           0  1.0.2, 1.1.2
2 global_avg_pool2d        5           0
3 flatten                  5           0
4 dense                   10          60
5 softmax                 10           0
------------------------------------------------------
Total params:                        329
Trainable params:                    311
Non-trainable params:                 18
Forward MACs per sample:          14,386
)" + ("Training memory, batch 64:" + fmt::format("{:>14}\n", dsl::text::bytes(model::training_bytes(64)))));
  STATIC_REQUIRE(model::parameter_count == 329);
  STATIC_REQUIRE(model::forward_macs == 14'386);
}

namespace mine {
struct block {  // two nodes of its own
  static constexpr dsl::value lower(dsl::builder& b, dsl::value in) {
    dsl::value const a = dsl::relu::lower(b, in);
    dsl::value const both[] = {in, a};
    return b.append({.kind = dsl::op::add}, both, 2, in.shape);
  }
};
}  // namespace mine

TEST_CASE("the summary of a network on two devices", "[text][summary]") {
  using model = dsl::network<dsl::image<1, 4, 4>, dsl::conv2d<2, 3>,
                             dsl::add<dsl::identity, dsl::on<dsl::device<1>, dsl::conv2d<2, 3>>>,
                             dsl::on<dsl::device<1>, dsl::flatten, dsl::dense<3>, dsl::softmax>>;
  CHECK(dsl::summary(model::view()) == R"(layer             output  parameters  device  connected to
----------------------------------------------------------
input              1x4x4           0       0
0 conv2d           2x4x4          20       0
1 add
  1.1 on
    1.1.0 conv2d   2x4x4          38       1
  add              2x4x4           0       0  0, 1.1.0
2 on
  2.0 flatten         32           0       1
  2.1 dense            3          99       1
  2.2 softmax          3           0       1
----------------------------------------------------------
Total params:                        157
Trainable params:                    157
Non-trainable params:                  0
Forward MACs per sample:             960
Training memory, batch 64:      48.4 KiB
Device 0: 20 params, 288 MACs, 28.6 KiB
Device 1: 137 params, 672 MACs, 19.9 KiB
Between devices, per step:      48.0 KiB
)");
}

TEST_CASE("the summary of a pipeline has the memory that its parts take", "[text][summary]") {
  using model = dsl::network<dsl::image<1, 4, 4>, dsl::conv2d<2, 3>,
                             dsl::on<dsl::device<1>, dsl::relu, dsl::flatten, dsl::dense<3>, dsl::softmax>>;
  using piped = dsl::pipeline<4, model>;
  std::string const whole = dsl::summary(model::view());
  std::string const parts = printed([] { piped::summary(); });
  CHECK(parts == dsl::summary(model::view(), 4));
  CHECK(printed([] { dsl::replicate<2, piped>::summary(); }) == parts);
  CHECK(has(parts, "\nMicro-batches:                         4\n"));
  CHECK_FALSE(has(whole, "Micro-batches"));
  CHECK(has(whole, " " + dsl::text::bytes(model::training_bytes(64)) + "\n"));
  CHECK(has(parts, " " + dsl::text::bytes(piped::training_bytes(64)) + "\n"));
  CHECK(has(parts, ", " + dsl::text::bytes(dsl::share_of<piped>(1, 64).bytes) + "\n"));
  STATIC_REQUIRE(piped::bytes({.batch = 64}) == piped::training_bytes(64));
  STATIC_REQUIRE(piped::training_bytes(64) < model::training_bytes(64));
  STATIC_REQUIRE(piped::bytes({.batch = 64, .mode = dsl::mode::inference, .optimizer_slots = 0}) ==
                 piped::inference_bytes(64));
}

TEST_CASE("summary shows the budget and what is computed again", "[text]") {
  using whole = dsl::network<dsl::image<3, 32, 32>, dsl::conv_module<16, 3, 3>, dsl::conv_module<16, 3, 3>,
                             dsl::global_avg_pool2d, dsl::dense<10>, dsl::softmax>;
  using model = dsl::memory_budget<64, 16'000'000, whole>;
  std::string const table = printed([] { model::summary(); });
  std::string const bytes = dsl::text::bytes(model::training_bytes(64));
  CHECK(model::training_bytes(64) <= 16'000'000);
  CHECK(table.find("Training memory, batch 64:") != std::string::npos);
  CHECK(table.find(bytes) != std::string::npos);
  CHECK(table.find("Memory budget:") != std::string::npos);
  CHECK(table.find("2 avg_pool2d, 0.1 batch_norm") != std::string::npos);
}

TEST_CASE("the summary of a layer with several nodes; no column where nothing branches", "[text][summary]") {
  using model = dsl::network<dsl::image<3, 2, 2>, mine::block, dsl::flatten>;
  std::string const table = dsl::summary(model::view());
  INFO(table);
  CHECK(table.starts_with(R"(layer       output  parameters  connected to
--------------------------------------------
input        3x2x2           0
0 block
  0:1 relu   3x2x2           0
  0:2 add    3x2x2           0  input, 0:1
1 flatten       12           0
)"));
  CHECK_FALSE(has(dsl::summary(tiny::view()), "connected"));
}

// ---- logs --------------------------------------------------------------------------------------------------------

TEST_CASE("the epoch log has the tutorial's lines", "[text][log]") {
  auto const log = [](auto run) { return written_by<dsl::epoch_log>(run); };
  CHECK(log([](dsl::epoch_log& c) {
          auto run = run_of(70, 781);
          c.on_train_begin(run);
          c.on_epoch_begin(run);
          c.on_batch_end(run);
          run.current = tutorial;
          c.on_epoch_end(run);
        }) == "Epoch 1/70\n - 64s - loss: 1.4323 - acc: 0.4787 - val_loss: 1.1319 - val_acc: 0.5983\n");
  CHECK(log([](dsl::epoch_log& c) {
          auto run = run_of(70, 781);
          run.current = {69, {0.0009, 1}, {}, false, 0, 0.2, 0};
          c.on_epoch_end(run);
        }) == " - 0s - loss: 9.0000e-04 - acc: 1.0000\n");
}

TEST_CASE("the progress bar fits its width and drops the least missed first", "[text][bar]") {
  using dsl::text::progress_line;
  dsl::text::progress p{60, 120, 7.2, 0.118, 271.4, {}, false};
  p.record.train = {1.2345, 0.5678};
  CHECK(progress_line(p, {.width = 100}) ==
        " 60/120 [=========>..........] ETA 7s - 118ms/step - 271 images/s - loss: 1.2345 - acc: 0.5678");
  CHECK(progress_line(p, {.width = 80}) == " 60/120 [====>.....] ETA 7s - 118ms/step - loss: 1.2345 - acc: 0.5678");
  CHECK(progress_line(p, {.width = 50}) == " 60/120 - ETA 7s - loss: 1.2345 - acc: 0.5678");
  CHECK(progress_line(p, {.width = 30}) == " 60/120 - loss: 1.2345");
  CHECK(progress_line(p, {.width = 5}) == " 60/");
  CHECK(progress_line(p, {.width = 1}).empty());
  CHECK(progress_line(p, {.width = 0, .bar = false}) ==
        "60/120 - ETA 7s - 118ms/step - 271 images/s - loss: 1.2345 - acc: 0.5678");
  CHECK(progress_line(p, {.width = 100, .utf8 = true, .colour = true}).starts_with(" 60/120 \x1b[32m\u2501"));
  CHECK(progress_line({.steps = 120}, {.width = 80}) == "  0/120 [..........] ETA ?");
  CHECK(progress_line({.steps = 120}, {.width = 120}) == "  0/120 [....................] ETA ?");

  // every line of a run has the same length, whatever its numbers are
  for (int const width : {100, 120, 150}) {
    long length = -1;
    for (double const seconds : {0.5, 75.0, 4000.0})
      for (bool const ended : {false, true}) {
        dsl::text::progress q{120, 120, seconds, seconds / 120, 7680 / seconds, {}, ended, true};
        q.record = {.train = {0.001 * seconds, 0.5}, .validation = {2 * seconds, 0.25}, .validated = ended};
        std::string const line = progress_line(q, {.width = width});
        long const cells = static_cast<long>(line.find(']') - line.find('['));
        INFO(line);
        CHECK((length < 0 || cells == length));
        length = cells;
      }
  }

  p.step = 120, p.ended = true, p.seconds = 75, p.record.validated = true, p.record.validation = {0.9, 0.7};
  CHECK(progress_line(p, {.width = 0, .bar = false}) ==
        "120/120 - 1:15 - 118ms/step - 271 images/s - loss: 1.2345 - acc: 0.5678 - val_loss: 0.9000 - val_acc: 0.7000");
  for (bool const utf8 : {false, true})
    for (bool const validated : {false, true})
      for (int width = 1; width < 160; ++width) {
        p.record.validated = validated;
        std::string const line = progress_line(p, {.width = width, .utf8 = utf8});
        long columns = 0;
        for (char const c : line) columns += (c & 0xc0) != 0x80;
        INFO(width << ": " << line);
        CHECK(columns < width);
      }
}

TEST_CASE("in a pipe the progress bar has no control characters and a line an epoch", "[text][bar]") {
  std::string const text = written_by<dsl::progress_bar>([](dsl::progress_bar& c) {
    auto run = run_of(3, 2);
    c.on_train_begin(run);
    c.on_epoch_begin(run);
    for (; run.step < 2; ++run.step) c.on_batch_end(run);
    run.current = {0, {1.2345, 0.5678}, {1.1319, 0.5983}, true, 5e-3, 12.5, 64};
    c.on_epoch_end(run);
  });
  CHECK(text ==
        "Epoch 1/3\n"
        "2/2 - 12s - 1s/step - 64 images/s - loss: 1.2345 - acc: 0.5678 - val_loss: 1.1319 - val_acc: 0.5983\n");
}

TEST_CASE("on a terminal the progress bar draws one line over and over, within its width", "[text][bar]") {
  environment_variable const term("TERM", "xterm"), locale("LC_ALL", "C.UTF-8");
  int const master = ::posix_openpt(O_RDWR | O_NOCTTY);
  if (master < 0 || ::grantpt(master) != 0 || ::unlockpt(master) != 0) return;  // a machine without terminals
  std::FILE* const out = std::fopen(::ptsname(master), "r+");
  REQUIRE(out);
  winsize size{};
  size.ws_row = 24, size.ws_col = 60;
  REQUIRE(::ioctl(master, TIOCSWINSZ, &size) == 0);
  {
    dsl::progress_bar c(out);
    auto run = run_of(1, 1000);
    c.on_train_begin(run);
    c.on_epoch_begin(run);
    run.current.train = {1.5, 0.5};
    for (; run.step < 1000; ++run.step) c.on_batch_end(run);
  }  // ends within an epoch
  std::fclose(out);
  std::string text;
  char some[4096];
  for (ssize_t n = 0; (n = ::read(master, some, sizeof some)) > 0;) text.append(some, static_cast<std::size_t>(n));
  ::close(master);
  INFO(text);
  CHECK(text.starts_with("Epoch 1/1\r\n\r"));
  CHECK(has(text, "1000/1000 "));
  CHECK(text.ends_with("\x1b[K\r\n"));
  CHECK(text.size() < 2'000);  // a thousand quick steps do not print a thousand lines
}

// ---- files -------------------------------------------------------------------------------------------------------

TEST_CASE("the history's CSV reads back as the same numbers", "[text][csv]") {
  temporary_directory const here;
  dsl::history h;
  h.epochs.push_back({0, {1.0 / 3, 0.1}, {2.0 / 3, 1e-300}, true, 5e-3, 63.25, 786.0});
  h.epochs.push_back({1, {0.25, 1}, {}, false, 1e-3, 1, 2});
  dsl::write_history_csv(h, here / "history.csv");
  lines_of const file(contents(here / "history.csv"));
  REQUIRE(file.lines.size() == 3);
  CHECK(file.lines[0] == "epoch,loss,acc,val_loss,val_acc,learning_rate,seconds,images_per_second");
  CHECK(file.lines[2] == "2,0.25,1,,,0.001,1,2");
  std::istringstream first(file.lines[1]);
  std::vector<double> values;
  for (std::string field; std::getline(first, field, ',');) values.push_back(std::strtod(field.c_str(), nullptr));
  CHECK(values == std::vector<double>{1, 1.0 / 3, 0.1, 2.0 / 3, 1e-300, 5e-3, 63.25, 786.0});
}

TEST_CASE("a file that is read-only is not replaced", "[text][files]") {
  temporary_directory const here;
  std::ofstream(here / "a") << "precious";
  std::filesystem::permissions(here / "a", std::filesystem::perms::owner_read | std::filesystem::perms::others_read);
  std::filesystem::permissions(here.path, std::filesystem::perms::all);
  bool const root = ::geteuid() == 0;  // root may write everywhere
  if (root && ::seteuid(65534) != 0) return;
  std::string const message = thrown<dsl::file_error>([&] { dsl::check_writable(here / "a", "test"); });
  CHECK_NOTHROW(dsl::check_writable(here / "b", "test"));
  if (root) REQUIRE(::seteuid(0) == 0);
  std::filesystem::permissions(here / "a", std::filesystem::perms::owner_read);
  if (root) CHECK_THROWS_AS(dsl::check_writable(here / "a", "test"), dsl::file_error);
  // A folder that cannot be entered is another case.
  std::filesystem::create_directory(here / "closed");
  std::filesystem::permissions(here / "closed", std::filesystem::perms::none);
  if (root) REQUIRE(::seteuid(65534) == 0);
  std::string const closed = thrown<dsl::file_error>([&] { dsl::check_writable(here / "closed/a", "test"); });
  if (root) REQUIRE(::seteuid(0) == 0);
  CHECK(closed.find("read-only") == std::string::npos);
  CHECK(closed.find("a directory that you may write to") != std::string::npos);
  CHECK(message == "test: cannot write " + (here / "a") + ": it is read-only; make it writable, or give another path");
}

TEST_CASE("a file appears whole or not at all", "[text][files]") {
  temporary_directory const here;
  {
    dsl::atomic_file const never_written(here / "a", "test");
  }
  {
    dsl::atomic_file half(here / "a", "test");
    half.write("half");
  }
  dsl::check_writable(here / "a", "test");
  CHECK(here.empty());

  std::ofstream(here / "a") << "before";
  {
    dsl::atomic_file half(here / "a", "test");
    half.write("half");
  }
  CHECK(contents(here / "a") == "before");
  dsl::atomic_file whole(here / "a", "test");
  whole.write("after");
  whole.commit();
  CHECK(contents(here / "a") == "after");
  // A file that replaces another has the same permissions.
  for (mode_t const mode : {0600U, 0664U}) {
    REQUIRE(::chmod((here / "a").c_str(), mode) == 0);
    dsl::atomic_file again(here / "a", "test");
    again.write("again");
    again.commit();
    struct stat status{};
    REQUIRE(::stat((here / "a").c_str(), &status) == 0);
    CHECK((status.st_mode & 0777) == mode);
  }
  CHECK_THROWS_AS(dsl::check_writable(here.path.string(), "test"), dsl::file_error);
  CHECK_THROWS_AS(dsl::check_writable("/dev/null", "test"), dsl::file_error);
  CHECK_THROWS_AS(dsl::check_writable("", "test"), dsl::file_error);
  std::string const message = thrown<dsl::file_error>([&] { dsl::check_writable(here / "no/such/file", "test"); });
  CHECK(message == "test: cannot write " + (here / "no/such/file") +
                       ": No such file or directory; create the directory first, or give another path");
}

TEST_CASE("a history becomes a picture", "[text][plot]") {
  temporary_directory const here;
  dsl::history h;
  for (int e = 0; e < 3; ++e) h.epochs.push_back({e, {1.0 / (e + 1), 0.3 * e}, {0.9, 0.5}, true, 0, 1, 1});
  dsl::plot(h, here / "three.png", {.title = "it's \\ a `test` _{x}\n\"q\""});
  dsl::plot(h, here / "three.SVG", {.title = "it's \\ a `test` _{x}\n\"q\""});
  h.epochs.resize(1);
  h.epochs[0].validated = false;
  dsl::plot(h, here / "one.png");
  CHECK(contents(here / "three.png").starts_with("\x89PNG\r\n\x1a\n"));
  CHECK(contents(here / "one.png").starts_with("\x89PNG\r\n\x1a\n"));
  std::string const svg = contents(here / "three.SVG");
  CHECK(has(svg, "<svg"));
  CHECK(has(svg, "</svg>"));
  for (char const* text :
       {"train_loss", "val_loss", "train_acc", "val_acc", "Epoch #", ">Loss<", ">Accuracy<", "a `test` _{x}"})
    CHECK(has(svg, text));
  CHECK(std::distance(fs::directory_iterator(here.path), {}) == 3);
}

TEST_CASE("any numbers of a history can be drawn", "[text][plot][hostile]") {
  temporary_directory const here;
  double const infinity = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  for (double const v : {1.7e308, -1.7e308, infinity, -infinity, nan, 5e-324})
    for (int const epoch : {0, 999'999'998, 5, std::numeric_limits<int>::max(), std::numeric_limits<int>::min()}) {
      CAPTURE(v, epoch);
      dsl::history h;
      h.epochs.push_back({epoch, {v, v}, {v, v}, true, v, v, v});
      h.epochs.push_back({7, {0.5, 0.5}, {0.5, 0.5}, true, 0.1, 1, 1});
      dsl::plot(h, here / "plot.svg");
    }
}

TEST_CASE("a time of any length has a text", "[text][hostile]") {
  double const infinity = std::numeric_limits<double>::infinity();
  std::string const most = dsl::text::duration(1e15);
  CHECK(most == "277777777777:46:40");
  for (double const seconds : {infinity, 1e300, 1e19}) CHECK(dsl::text::duration(seconds) == most);
  for (double const seconds : {-infinity, -1e300, std::numeric_limits<double>::quiet_NaN()})
    CHECK(dsl::text::duration(seconds) == "0s");
}

TEST_CASE("no text on a plot runs a command", "[text][plot][hostile]") {
  temporary_directory const here;
  std::string const ran = here / "ran", command = "; system(\"touch " + ran + "\") #";
  dsl::history h;
  h.epochs.push_back({});
  using namespace std::string_literals;
  for (std::string const& end : {"\\"s, "\\\0"s, "\\\n"s, "\0"s, "'\n"s, "\r"s, "\x1b[2J"s, "\xc2\x9b"s, "\xe9"s}) {
    CAPTURE(end);
    dsl::plot_options const texts{
        .title = "a'" + end, .x_label = command + end, .y_label = command + end, .accuracy_label = command + end};
    std::string const script = dsl::detail::gnuplot_script(h, texts, dsl::plot_format::svg);
    for (char const c : script) CHECK((c == '\n' || (c >= 0x20 && c != 0x7f)));
    dsl::plot(h, here / "plot.svg", texts);
    CHECK_FALSE(fs::exists(ran));
  }
  // a backslash would make the closing quote part of the text
  CHECK(dsl::detail::gnuplot_string("a\\") == "\"a\\134\"");
}

TEST_CASE("text for terminals and other programs has no control characters", "[text][hostile]") {
  using dsl::detail::is_utf8, dsl::detail::without_controls;
  using namespace std::string_literals;
  for (char const* plain : {"", "frog", "K\xc3\xa4tzchen", "\xe2\x82\xac", "\xf0\x9f\x90\xb8", "\xc2\xa0"}) {
    CHECK(without_controls(plain) == plain);
    CHECK(is_utf8(plain));
  }
  CHECK(without_controls("a\0b\x1b[2J\n\x7f"s) == "a b [2J  ");
  CHECK(without_controls("a\xc2\x80\xc2\x9b"
                         "b") == "a  b");  // in UTF-8, and control characters
  // the rest of the text would be displayed in another order
  CHECK(without_controls("a\u202e10.0\u2066\u2028") == "a 10.0  ");
  CHECK(without_controls("a\xef\xbf\xbe\xef\xbf\xbf\xef\xbf\xbd") == "a  \xef\xbf\xbd");
  CHECK(is_utf8("\xc2\x9b"));
  // A single continuation byte, a truncated or overlong sequence, half of a surrogate pair, and a value above U+10FFFF.
  for (char const* bad : {"\x80", "\xff", "\xc3", "\xc0\x80", "\xed\xa0\x80", "\xe2\x82", "\xf4\x90\x80\x80"}) {
    CHECK(without_controls("a"s + bad) == "a" + std::string(std::string(bad).size(), '?'));
    CHECK_FALSE(is_utf8(bad));
  }
}

TEST_CASE("a plot looks as ggplot's do, and begins at epoch 1", "[text][plot]") {
  temporary_directory const here;
  dsl::history h;
  for (int e = 0; e < 3; ++e) h.epochs.push_back({e, {1.0 / (e + 1), 0.3 * e}, {0.9, 0.5}, true, 0, 1, 1});
  dsl::plot(h, here / "plot.svg");
  std::string svg = contents(here / "plot.svg");
  std::erase(svg, ' ');  // gnuplot writes rgb( 52, 138, 189)
  std::size_t const ground = svg.find("<polygonfill='rgb(229,229,229)'");
  std::string const grid = "<pathstroke='rgb(255,255,255)'";
  std::size_t const first_line = svg.find(grid), first_curve = svg.find("train_loss");
  CHECK(ground < first_line);
  CHECK(first_line < first_curve);
  int lines = 0;  // lines of the grid: one per epoch, and one per tenth or fifth of a loss
  for (std::size_t at = first_line; at < svg.size(); at = svg.find(grid, at + 1)) ++lines;
  CHECK(lines >= 3 + 5);
  std::string const path = "<pathstroke='";
  for (auto const& [name, colour] :
       {std::pair{"train_loss", "rgb(226,74,51)"}, std::pair{"val_loss", "rgb(52,138,189)"},
        std::pair{"train_acc", "rgb(152,142,213)"}, std::pair{"val_acc", "rgb(119,119,119)"}}) {
    std::size_t const curve = svg.find(path, svg.find(name));  // the first path after its title
    REQUIRE(curve != svg.npos);
    CHECK(svg.substr(curve + path.size(), std::string(colour).size()) == colour);
  }
  std::string const script = dsl::detail::gnuplot_script(h, {}, dsl::plot_format::svg);
  CHECK(has(script, "\nset xrange [0.94:3.06]\n"));
  CHECK(has(script, "\nset xtics 1,1,3\n"));
  CHECK(has(script, "\n1 1 0 0.9 0.5\n2 "));
}

TEST_CASE("a plot that can't be is known before the training, and leaves nothing", "[text][plot]") {
  temporary_directory const here;
  dsl::history one;
  one.epochs.push_back({});
  auto const fails = [&](std::string const& path, std::string const& with) {
    std::string const checked = thrown<dsl::file_error>([&] { dsl::check_plot(path); });
    INFO(path << ": " << checked);
    CHECK(checked.starts_with("plot: "));
    CHECK(has(checked, with));
    CHECK(thrown<dsl::file_error>([&] { dsl::plot(one, path); }) == checked);
    CHECK(here.empty());
  };
  dsl::check_plot(here / "plot.png");
  dsl::check_plot(here / "plot.svg");
  CHECK(here.empty());
  CHECK_THROWS_AS(dsl::plot({}, here / "plot.png"), dsl::option_error);
  fails(here / "plot.jpg", ".png or .svg; found");
  fails(here / "plot", ".png or .svg");
  fails("", "found nothing");
  fails(".png", ".png or .svg");
  fails(here / "missing/plot.png", "create the directory first");
  fails("/proc/plot.png", "plot: cannot write /proc/plot.png: ");
  environment_variable const path("PATH", here.path.c_str());
  fails(here / "plot.png", "apt-get install gnuplot-nox");
  std::ofstream(here / "gnuplot") << "#!/bin/sh\necho too old >&2\nexit 3\n";
  CHECK(has(thrown<dsl::file_error>([&] { dsl::check_plot(here / "plot.png"); }),
            "plot: gnuplot cannot be started: Permission denied; check the gnuplot on PATH"));
  fs::permissions(here.path / "gnuplot", fs::perms::owner_all);
  CHECK(has(thrown<dsl::file_error>([&] { dsl::check_plot(here / "plot.png"); }), "is needed): too old"));
  std::ofstream(here / "gnuplot") << "#!/bin/sh\nprintf '\\211PNG%200s'\n";
  CHECK(has(thrown<dsl::file_error>([&] { dsl::check_plot(here / "plot.png"); }), "wrote 204 bytes; free some space"));
  CHECK_FALSE(fs::exists(here.path / "plot.png"));
  std::ofstream(here / "gnuplot") << "#!/bin/sh\necho no memory >&2\nexit 127\n";
  CHECK(
      thrown<dsl::file_error>([&] { dsl::check_plot(here / "plot.png"); }) ==
      "plot: gnuplot cannot be started: no memory ; check the gnuplot on PATH, and the limits of processes and memory");
  std::ofstream(here / "gnuplot") << "#!/bin/sh\nkill -SEGV $$\n";
  CHECK(has(thrown<dsl::file_error>([&] { dsl::check_plot(here / "plot.png"); }),
            "plot: gnuplot was ended by signal 11"));
  // a script that starts another program, whose number it keeps
  std::ofstream(here / "gnuplot") << "#!/bin/sh\n/bin/sleep 300 &\necho $! >" << (here / "child") << "\nwait\n";
  CHECK(has(thrown<dsl::file_error>([] { dsl::detail::run_gnuplot("plot x", 1, 2); }),
            "gnuplot did not finish within 2 s"));
  pid_t child = 0;
  std::ifstream(here / "child") >> child;
  REQUIRE(child > 0);
  // Killed; by now gone, or a zombie that nobody has waited for.
  for (int i = 0; i < 1000 && ::kill(child, 0) == 0; ++i) {
    std::string const state = contents("/proc/" + std::to_string(child) + "/stat");
    if (state.find(") Z ") != state.npos || state.empty()) break;
    ::usleep(10'000);
  }
  std::string const state = contents("/proc/" + std::to_string(child) + "/stat");
  CHECK((state.empty() || state.find(") Z ") != state.npos));
  std::ofstream(here / "gnuplot") << "#!/bin/sh\necho $$ >" << (here / "process") << "\nexec /bin/sleep 300\n";
  CHECK(has(thrown<dsl::file_error>([] { dsl::detail::run_gnuplot("plot x", 1, 2); }),
            "gnuplot did not finish within 2 s"));
  pid_t process = 0;
  std::ifstream(here / "process") >> process;
  REQUIRE(process > 0);
  CHECK(::kill(process, 0) == -1);  // the process has ended
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
  int const next = ::dup(0);
  ::close(next);
  for (int const free : {0, 2}) {  // two are enough for the temporary files
    rlimit const few{static_cast<rlim_t>(next + free), before.rlim_max};
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &few) == 0);
    std::string const said = thrown<dsl::file_error>([] { dsl::detail::run_gnuplot("plot x", 1, 2); });
    ::setrlimit(RLIMIT_NOFILE, &before);
    INFO(said);
    CHECK(has(said, free == 0 ? "plot: a temporary file for gnuplot cannot be written: Too many open files; check that "
                              : "plot: gnuplot needs three more open files: Too many open files; close some"));
  }
}
