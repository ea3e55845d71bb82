// SPDX-License-Identifier: MIT
// Tests callbacks that write files: their lines, their names, and their state over a restart. A run that is killed
// anywhere and resumed ends with the same bits as an uninterrupted one.
#include "support/catch.hpp"
#include "support/extent.hpp"
#include "support/printed.hpp"
#include "support/sanitized.hpp"
#include "support/temporary_directory.hpp"
#include "support/toy_training.hpp"
#include "support/warnings.hpp"
#include "support/words.hpp"

#include <fmt/core.h>

#include <dsl/text.hpp>
#include <dsl/training/weights.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace dsl;
using test::scripted;
using test::toy;

using dsl::test::contents;
using dsl::test::has;
using dsl::test::thrown;

namespace {

bool exists(std::string const& path) { return std::filesystem::exists(path); }
std::size_t files_in(std::filesystem::path const& folder) {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder), {}));
}

/// Returns a history's CSV without the columns of times.
std::string without_times(std::string const& csv) {
  std::istringstream lines(csv);
  std::string all;
  for (std::string line; std::getline(lines, line);) {
    for (int i = 0; i < 2; ++i) line.resize(line.rfind(','));
    all += line + "\n";
  }
  return all;
}

}  // namespace

TEST_CASE("model_checkpoint: Keras's lines, and only strictly better values", "[callbacks]") {
  test::temporary_directory const here;
  std::string const best = here / "best";
  scripted::values = {1, 1, 0.5, 2, 2};
  trainer t = toy::compiled(), four = toy::compiled();
  std::string const lines = test::printed([&] {
    toy::fit(t, 5,
             {model_checkpoint<scripted>(
                 best, {.save_best_only = true, .save_weights_only = true, .verbose = true, .out = stdout})});
  });
  CHECK(lines == "Epoch 1: scripted improved from -inf to 1.00000, saving model to " + best +
                     "\nEpoch 2: scripted did not improve from 1.00000\n"
                     "Epoch 3: scripted did not improve from 1.00000\n"
                     "Epoch 4: scripted improved from 1.00000 to 2.00000, saving model to " +
                     best + "\nEpoch 5: scripted did not improve from 2.00000\n");
  toy::fit(four, 4, {});
  trainer loaded = toy::compiled();
  load_weights(loaded, best);
  CHECK(detail::read_weights(loaded.engine()) == detail::read_weights(four.engine()));
  CHECK(loaded.steps() == 0);

  scripted::values = {3, 2};
  CHECK(test::printed([&] {
          toy::fit(t, 2,
                   {model_checkpoint<scripted>(best, {.save_best_only = true,
                                                      .mode = monitor_mode::min,
                                                      .initial_value_threshold = 2.5,
                                                      .verbose = true})});
        }) ==
        "Epoch 1: scripted did not improve from 2.50000\n"
        "Epoch 2: scripted improved from 2.50000 to 2.00000, saving model to " +
            best + "\n");
}

TEST_CASE("model_checkpoint: its lines have no escapes of a folder's name", "[callbacks][hostile]") {
  test::temporary_directory const here;
  scripted::values = {1, 2};
  for (bool const best_only : {true, false}) {
    trainer t = toy::compiled();
    std::string const lines = test::printed([&] {
      toy::fit(t, 2, {model_checkpoint<scripted>(here / "\x1b[2J/w", {.save_best_only = best_only, .verbose = true})});
    });
    CHECK(has(lines, "saving model to " + here / "\\x1b[2J/w\nEpoch 2: "));
    CHECK_FALSE(has(lines, "\x1b"));
    CHECK(exists(here / "\x1b[2J/w"));
  }
}

TEST_CASE("model_checkpoint: its lines send no name's escapes to a terminal", "[callbacks][hostile]") {
  test::temporary_directory const here;
  std::string const path = here / "best\x1b]0;owned\a\n[INFO] done";
  trainer t = toy::compiled();
  CHECK(test::printed([&] { toy::fit(t, 1, {model_checkpoint<train_loss>(path, {.verbose = true})}); }) ==
        "Epoch 1: saving model to " + (here / "best\\x1b]0;owned\\x07\\x0a[INFO] done") + "\n");
  CHECK(exists(path));
}

TEST_CASE("model_checkpoint: the best value is that of all its runs, as in Keras", "[callbacks]") {
  test::temporary_directory const here;
  auto const kept =
      std::make_shared<model_checkpoint<scripted>>(here / "best", model_checkpoint_options{.save_best_only = true});
  trainer t = toy::compiled();
  scripted::values = {1, 5};
  toy::fit(t, 2, {kept});
  std::string const first = contents(here / "best");
  scripted::values = {4, 3};
  toy::fit(t, 2, {kept});
  CHECK(kept->best() == 5);
  CHECK(contents(here / "best") == first);
}

TEST_CASE("model_checkpoint: names from templates, folders are made, every so many epochs or batches", "[callbacks]") {
  test::temporary_directory const here;
  trainer t = toy::compiled();
  history h;
  std::string const lines = test::printed([&] {
    h = toy::fit(t, 5,
                 {model_checkpoint(here / "a/b/w.{epoch:02d}-{val_loss:.2f}-{accuracy:.1f}.state",
                                   {.save_freq = every_epochs(2), .verbose = true})});
  });
  CHECK(files_in(here.path / "a/b") == 2);
  for (int e : {2, 4}) {
    epoch_record const& r = h.epochs[static_cast<std::size_t>(e - 1)];
    std::string const name = here / fmt::format("a/b/w.{:02d}-{:.2f}-{:.1f}.state", e, r.validation.loss, r.train.acc);
    CHECK(exists(name));
    CHECK(has(lines, fmt::format("Epoch {}: saving model to {}\n", e, name)));
  }
  // six batches per epoch: the 4th, the 8th (2nd of epoch 2) and the 12th
  trainer u = toy::compiled();
  toy::fit(u, 2, {model_checkpoint<train_loss>(here / "c/{epoch}-{batch:02d}", {.save_freq = every_batches(4)})});
  CHECK(files_in(here.path / "c") == 3);
  for (char const* name : {"c/1-04", "c/2-02", "c/2-06"}) CHECK(exists(here / name));
}

TEST_CASE("model_checkpoint: what can't be is known before the first step", "[callbacks]") {
  test::temporary_directory const here;
  trainer t = toy::compiled();
  auto const refused = [&](callback_handle const& c, bool validation = true) {
    std::string const said = thrown<option_error>([&] { toy::fit(t, 1, {c}, validation); });
    CHECK(t.steps() == 0);
    return said;
  };
  CHECK(has(refused(model_checkpoint<val_accuracy>(here / "x", {.save_best_only = true}), false),
            "model_checkpoint: its monitor is val_acc, but this run has no validation data"));
  CHECK(has(refused(model_checkpoint(here / "x", {.save_best_only = true, .save_freq = every_batches(2)})),
            "val_loss is computed only after an epoch, but every_batches also saves within epochs"));
  std::string const unknown = refused(model_checkpoint(here / "x.{val_f1}"));
  CHECK(has(unknown, "{val_loss:.2f}, {val_acc:.2f}"));
  CHECK(has(refused(model_checkpoint(here / "x.{val_loss}"), false), "{loss:.2f}, {acc:.2f}"));
  CHECK(has(refused(model_checkpoint(here / "x.{epoch:q}")), "may contain only text and"));
  CHECK(has(refused(model_checkpoint(here / "x.{epoch")), "may contain only text and"));
  for (char const* wide :
       {"x.{epoch:2000000000d}", "{epoch:256}", "x{loss:.2000000000f}", "{loss:0<99999999999999999999.3f}",
        "{epoch:{batch}d}", "{epoch:{}d}"})  // refused before anything is formatted
    CHECK(has(thrown<option_error>([&] { model_checkpoint{std::string(wide)}; }),
              " must be numbers of at most 255; found "));
  for (char const* narrow : {"20261123-{epoch:02d}", "{{999}}{epoch:7<255d}-300", "{loss:.2f}{{{{1000", "}}9999"})
    CHECK(thrown<option_error>([&] { model_checkpoint{std::string(narrow)}; }) == "nothing");
  CHECK(has(thrown<option_error>([] { model_checkpoint("x.safetensors"); }), "needs a .writer"));
  CHECK(has(thrown<option_error>([] { model_checkpoint("x.h5", {.writer = [](trainer&, std::string const&) {}}); }),
            ".save_weights_only = true"));
  CHECK(thrown<option_error>([] { every_epochs(0); }) == "save_freq: the interval must be 1 or more; found 0 epochs");
  CHECK(thrown<option_error>([] { every_batches(0); }) == "save_freq: the interval must be 1 or more; found 0 batches");
  // .save_freq = 500 would be epochs, while Keras's number counts batches
  static_assert(!std::is_aggregate_v<save_freq> && !std::is_convertible_v<int, save_freq>);
  for (auto const& [epochs, batches] : {std::pair{-1, 0}, {0, 0}, {0, -5}}) {
    save_freq never = every_epochs(1);
    never.epochs = epochs, never.batches = batches;
    CHECK_THROWS_AS(model_checkpoint(here / "x", {.save_freq = never}), option_error);
    CHECK_THROWS_AS(backup_and_restore(here / "x", {.save_freq = never}), option_error);
  }
  double const nan = std::numeric_limits<double>::quiet_NaN();  // nothing is better than NaN
  CHECK_THROWS_AS(model_checkpoint(here / "x", {.save_best_only = true, .initial_value_threshold = nan}), option_error);
  for (double const share : {nan, -0.1, 1.1})
    CHECK_THROWS_AS(plot_each_epoch(here / "x.png", {.most_time = share}), option_error);
  std::ofstream(here / "file").close();
  CHECK_THROWS_AS(toy::fit(t, 1, {model_checkpoint(here / "file/x")}), file_error);
  CHECK_THROWS_AS(toy::fit(t, 1, {model_checkpoint(here.path.string())}), file_error);
  CHECK(t.steps() == 0);
}

TEST_CASE("model_checkpoint: a writer of another format; one that fails is a warning", "[callbacks]") {
  test::temporary_directory const here;
  std::vector<std::string> paths;
  auto const with = [&](auto fails) {
    return model_checkpoint(here / "{epoch}.safetensors",
                            {.save_weights_only = true, .writer = [&paths, fails](trainer&, std::string const& path) {
                               write_checkpoint("another format", path);
                               paths.push_back(path);
                               fails(paths.size());
                             }});
  };
  trainer t = toy::compiled();
  auto const warned = [&](auto fails) {
    paths.clear();
    auto const all = test::warnings([&] { CHECK(toy::fit(t, 2, {with(fails)}).epochs.size() == 2); });
    REQUIRE(paths.size() == 3);
    CHECK(paths[0].starts_with(here / ".model_checkpoint."));  // tried once, and removed
    CHECK(paths[0].ends_with(".safetensors"));
    CHECK_FALSE(exists(paths[0]));
    CHECK(paths[1] == here / "1.safetensors");
    CHECK(paths[2] == here / "2.safetensors");
    return all;
  };
  CHECK(warned([](std::size_t) {}).empty());
  CHECK(files_in(here.path) == 2);
  for (auto const& said : {warned([](std::size_t n) {
                             if (n > 1) throw file_error("writer: the disk is full");
                           }),
                           warned([](std::size_t n) {
                             if (n > 1) throw option_error("writer: the disk is full");
                           }),
                           warned([](std::size_t n) {
                             if (n > 1) throw std::runtime_error("writer: the disk is full");
                           })}) {
    REQUIRE(said.size() == 1);
    CHECK(said[0].starts_with("writer: the disk is full; the training continues"));
  }
  // The function that is told of each file may fail, as the writer may.
  std::vector<std::string> told;
  auto const telling =
      model_checkpoint(here / "{epoch}.told", {.save_weights_only = true, .written = [&](std::string const& path) {
                                                 CHECK(exists(path));
                                                 told.push_back(path);
                                                 if (told.size() > 1) throw file_error("told: the disk is full");
                                               }});
  auto const said_then = test::warnings([&] { toy::fit(t, 2, {telling}); });
  CHECK(told == std::vector<std::string>{here / "1.told", here / "2.told"});
  REQUIRE(said_then.size() == 1);
  CHECK(said_then[0].starts_with("told: the disk is full; the training continues"));
  for (std::string const& path : told) std::remove(path.c_str());
  // an error of the device ends the run all the same
  CHECK_THROWS_AS(toy::fit(t, 2, {with([n = paths.size()](std::size_t m) {
                             if (m > n + 1) throw executor_error("gone");
                           })}),
                  executor_error);

  trainer fresh = toy::compiled();  // invalid names are refused before the first step
  CHECK(
      has(thrown<option_error>([&] { toy::fit(fresh, 2, {with([](std::size_t) { throw option_error("no name"); })}); }),
          "no name"));
  // an error of the trial names the file that was asked for
  auto const full = [](trainer&, std::string const& path) {
    throw file_error("writer: cannot write " + path + ": full");
  };
  CHECK(thrown<file_error>([&] {
          toy::fit(fresh, 2, {model_checkpoint(here / "asked", {.save_weights_only = true, .writer = full})});
        }) == "writer: cannot write " + here / "asked" + ": full");
  CHECK(fresh.steps() == 0);
  CHECK(files_in(here.path) == 3);  // the run that the device ended has kept the file of the run before it
}

namespace {

/// Calls a function when an epoch begins, before the other callbacks.
template <class F>
struct at_begin : callback {
  int epoch;
  F call;
  at_begin(int e, F f) : epoch(e), call(std::move(f)) {}
  void on_epoch_begin(fit_run& run) override {
    if (run.epoch == epoch) call();
  }
};

}  // namespace

TEST_CASE("model_checkpoint: a best value that could not be written is none", "[callbacks]") {
  test::temporary_directory const here;
  std::filesystem::path const folder = here.path / "best";
  auto const kept =
      std::make_shared<model_checkpoint<scripted>>(here / "best/m", model_checkpoint_options{.save_best_only = true});
  scripted::values = {1, 5, 3, 2};
  trainer t = toy::compiled(), three = toy::compiled();
  auto const blocked = [&] {  // a file where its folder should be
    std::filesystem::remove_all(folder);
    std::ofstream(folder).close();
  };
  CHECK(test::warnings([&] {
          toy::fit(t, 4, {at_begin{1, blocked}, at_begin{2, [&] { std::filesystem::remove(folder); }}, kept});
        }).size() == 1);
  CHECK(kept->best() == 3);
  scripted::values = {1, 5, 3};
  toy::fit(three, 3, {});
  trainer loaded = toy::compiled();
  load_weights(loaded, here / "best/m");
  CHECK(detail::read_weights(loaded.engine()) == detail::read_weights(three.engine()));
}

TEST_CASE("model_checkpoint: folders from templates are made with what is put into them", "[callbacks]") {
  test::temporary_directory const here;
  trainer t = toy::compiled();
  toy::fit(t, 3, {model_checkpoint(here / "runs/{epoch}/m", {.save_freq = every_epochs(2)})});
  CHECK(files_in(here.path / "runs") == 1);
  CHECK(exists(here / "runs/2/m"));
  std::ofstream(here / "file").close();
  CHECK_THROWS_AS(toy::fit(t, 1, {model_checkpoint(here / "file/{epoch}/m")}), file_error);
}

TEST_CASE("csv_logger: a row an epoch, over or after what was there", "[callbacks]") {
  test::temporary_directory const here;
  std::string const path = here / "logs/run.csv";
  trainer t = toy::compiled();
  history const a = toy::fit(t, 2, {csv_logger(path)});
  CHECK(contents(path) == history_csv(a));
  history const b = toy::fit(t, 1, {csv_logger(path, {.append = true})});
  CHECK(contents(path) == history_csv(a) + history_csv_row(b.epochs[0]));
  history const c = toy::fit(t, 1, {csv_logger(path, {.separator = ';'})});
  CHECK(contents(path).starts_with("epoch;loss;acc;val_loss;val_acc;learning_rate;seconds;images_per_second\n1;"));
  toy::fit(t, 1, {csv_logger(here / "new.csv", {.append = true})}, false);
  CHECK(contents(here / "new.csv").starts_with("epoch,loss,"));
  CHECK(has(contents(here / "new.csv"), ",,,"));  // no validation
  CHECK_THROWS_AS(toy::fit(t, 1, {csv_logger(here.path.string())}), file_error);
  // The rows of this run would stand under the names of others.
  test::refuses<option_error>([&] { toy::fit(t, 1, {csv_logger(path, {.append = true})}); },
                              {"csv_logger", "logs/run.csv", "columns", ".append out, which replaces the file"});
}

TEST_CASE("csv_logger: a log that somebody cuts has all rows again after the next epoch", "[callbacks]") {
  for (std::uintmax_t const left : {0, 30, 90}) {
    test::temporary_directory const here;
    struct cuts : callback {
      std::string path;
      std::uintmax_t left;
      cuts(std::string p, std::uintmax_t l) : path(std::move(p)), left(l) {}
      void on_epoch_begin(fit_run& run) override {
        if (run.epoch == 2) std::filesystem::resize_file(path, left);
      }
    };
    trainer t = toy::compiled();
    history const h = toy::fit(t, 3, {csv_logger(here / "log"), cuts{here / "log", left}});
    CHECK(contents(here / "log") == history_csv(h));
    CHECK(files_in(here.path) == 1);
  }
}

TEST_CASE("csv_logger: rows that could not be written come later; a half one stays alone", "[callbacks]") {
  test::temporary_directory const here;
  std::filesystem::path const folder = here.path / "logs";
  trainer t = toy::compiled();
  history h;
  CHECK(test::warnings([&] {
          h = toy::fit(t, 4,
                       {csv_logger(here / "logs/run.csv"), at_begin{1, [&] { std::filesystem::remove_all(folder); }},
                        at_begin{3, [&] { std::filesystem::create_directory(folder); }}});
        }).size() == 1);
  CHECK(contents(here / "logs/run.csv") == history_csv(h));
  h = toy::fit(t, 2, {csv_logger(here / "gone.csv"), at_begin{1, [&] { std::filesystem::remove(here / "gone.csv"); }}});
  CHECK(contents(here / "gone.csv") == history_csv(h));
  std::string const half = history_csv({}) + "1,0.";
  std::ofstream(here / "half.csv") << half;
  history const one = toy::fit(t, 1, {csv_logger(here / "half.csv", {.append = true})});
  CHECK(contents(here / "half.csv") == half + "\n" + history_csv_row(one.epochs[0]));
}

namespace {

struct killed {};
/// Ends a run as kill -9 would, as far as its files are concerned.
struct killer : callback {
  int epoch;
  std::int64_t step;  // -1: after the epoch
  bool late;          // in on_saving_point
  killer(int e, std::int64_t s, bool l) : epoch(e), step(s), late(l) {}
  void on_batch_end(fit_run& run) override {
    if (!late && run.epoch == epoch && run.step == step) throw killed{};
  }
  void on_epoch_end(fit_run& run) override {
    if (!late && run.epoch == epoch && step < 0) throw killed{};
  }
  void on_saving_point(fit_run& run) override {
    bool const behind = run.next.step == 0;
    if (late && run.epoch == epoch && (behind ? step < 0 : run.step == step)) throw killed{};
  }
};
struct counts : callback {
  int batches = 0;
  void on_batch_end(fit_run&) override { ++batches; }
};
/// Halves the learning rate, which is part of the state: running an epoch twice would halve it twice.
struct halve_at_begin : callback {
  void on_epoch_begin(fit_run& run) override { run.learning_rate *= 0.5; }
};

/// All results of a run.
struct outcome {
  std::uint64_t weights = 0;
  std::vector<double> history{};
  std::string csv{}, best{};
  double best_value = 0, early_best = 0;
  std::uint64_t steps = 0;
  friend bool operator==(outcome const&, outcome const&) = default;
};
/// Throws between callbacks that write files, after an epoch or one of its batches.
struct killed_between : callback {
  int epoch;
  std::int64_t step;
  bool backup;
  killed_between(int e, std::int64_t s, bool b = false) : epoch(e), step(s), backup(b) {}
  void die(fit_run const& run) const {
    if (run.epoch == epoch && (run.next.step == 0 ? step < 0 : run.step == step)) throw killed{};
  }
  void on_saving_point(fit_run& run) override {
    if (!backup) die(run);
  }
  void on_backup(fit_run& run) override {
    if (backup) die(run);
  }
};

outcome run(test::temporary_directory const& here, save_freq freq, int towers, std::vector<callback_handle> more = {}) {
  trainer t = toy::compiled(towers);
  auto const best = std::make_shared<model_checkpoint<val_loss>>(
      here / "best", model_checkpoint_options{.save_best_only = true, .save_weights_only = true});
  auto const early =
      std::make_shared<early_stopping<train_loss>>(early_stopping_options{.patience = 3, .restore_best_weights = true});
  more.insert(more.end(), {halve_at_begin{}, backup_and_restore(here / "state", {.save_freq = freq}), best, early,
                           csv_logger(here / "log.csv"),
                           model_checkpoint<train_accuracy>(here / "batches",
                                                            {.save_best_only = true, .save_freq = every_batches(4)})});
  history const h = toy::fit(t, 3, more);
  return {detail::fingerprint_of(t.engine()),
          test::figures(h),
          without_times(contents(here / "log.csv")),
          contents(here / "best"),
          best->best(),
          early->best(),
          t.steps()};
}

}  // namespace

TEST_CASE("backup_and_restore: killed anywhere, a run ends with the bits of one that was not", "[callbacks][resume]") {
  int runs = 0;
  for (int towers : {1, 2})
    for (save_freq freq : {every_epochs(1), every_epochs(2), every_batches(1), every_batches(4)}) {
      test::temporary_directory const whole;
      outcome const wanted = run(whole, freq, towers);
      CHECK_FALSE(exists(whole / "state"));  // the run has ended
      REQUIRE(wanted.history.size() == 3 * 7);
      for (int epoch = 0; epoch < 3; ++epoch)
        for (std::int64_t step = -1; step < 6; step += towers)
          for (bool late : {false, true}) {
            if (runs++ % 5 >= (test::everything() ? 5 : test::only_a_sample() ? 1 : 2)) continue;
            INFO("towers " << towers << ", epochs " << freq.epochs << ", batches " << freq.batches << ", killed in "
                           << epoch << "." << step << (late ? ", late" : ""));
            test::temporary_directory const here;
            CHECK_THROWS_AS(run(here, freq, towers, {killer{epoch, step, late}}), killed);
            outcome const found = run(here, freq, towers);
            CHECK(found == wanted);
            CHECK_FALSE(exists(here / "state"));
          }
    }
  CHECK(runs == 4 * 3 * 2 * (7 + 4));
}

TEST_CASE("early_stopping: epochs without a better value count over a restart, too", "[callbacks][resume]") {
  scripted::values = {5, 1, 2, 3, 4, 9};
  for (int epoch : {2, 3}) {
    test::temporary_directory const here;
    auto const stopped = [&](std::vector<callback_handle> more) {
      trainer t = toy::compiled();
      auto const early = std::make_shared<early_stopping<scripted>>(early_stopping_options{.patience = 3});
      more.insert(more.end(), {early, backup_and_restore(here / "state")});
      history const h = toy::fit(t, 6, more, false);
      CHECK(early->stopped_epoch() == 3);
      CHECK(early->best() == 5);
      CHECK(early->best_epoch() == 0);
      return h.epochs.size();
    };
    CHECK(stopped({}) == 4);
    CHECK_THROWS_AS(stopped({killer{epoch, 3, false}}), killed);
    CHECK(exists(here / "state"));
    CHECK(stopped({}) == 4);
  }
}

TEST_CASE("csv_logger: a run that goes on has each of its rows once after those of others", "[callbacks][resume]") {
  for (int epoch : {1, 2})
    for (char separator : {',', ';'}) {
      test::temporary_directory const here;
      std::string const path = here / "run.csv";
      trainer first = toy::compiled();
      toy::fit(first, 1, {csv_logger(path, {.separator = separator})});
      std::string wanted = contents(path);
      auto const fit = [&](std::vector<callback_handle> more) {
        trainer t = toy::compiled();
        more.insert(more.end(),
                    {csv_logger(path, {.separator = separator, .append = true}), backup_and_restore(here / "state")});
        return toy::fit(t, 3, more);
      };
      CHECK_THROWS_AS(fit({killer{epoch, 3, false}}), killed);
      CHECK(contents(path).size() > wanted.size());  // with rows added
      for (epoch_record const& e : fit({}).epochs) {
        std::string row = history_csv_row(e);
        std::replace(row.begin(), row.end(), ',', separator);
        wanted += row;
      }
      CHECK(contents(path) == wanted);
    }
}

TEST_CASE("backup_and_restore: a process killed at 50 random moments", "[callbacks][resume]") {
  test::temporary_directory const whole, here;
  auto const leave = [](test::temporary_directory const& at) {  // copies what the process leaves
    outcome const o = run(at, every_batches(2), 1);
    std::string text = o.csv + fmt::format("{} {} {}", o.weights, o.best_value, o.steps);
    std::ofstream(at / "outcome", std::ios::binary) << text << o.best;
  };
  auto const process = [&](test::temporary_directory const& at) {
    pid_t const child = ::fork();
    if (child != 0) return child;
    try {
      leave(at);
      ::_exit(0);
    } catch (...) {
      ::_exit(1);
    }
  };
  int status = 0;
  ::waitpid(process(whole), &status, 0);
  REQUIRE(status == 0);

  detail::random_stream random(1, detail::purpose::user, 50);
  int kills = 0;
  for (int attempt = 0; kills < 50 && attempt < 5000; ++attempt) {
    pid_t const child = process(here);
    ::usleep(random.below(20'000));
    ::kill(child, SIGKILL);
    ::waitpid(child, &status, 0);
    if (WIFSIGNALED(status)) {
      ++kills;
    } else {  // it was faster: try another run
      REQUIRE(status == 0);
      CHECK(contents(here / "outcome") == contents(whole / "outcome"));
    }
  }
  CHECK(kills == 50);
  ::waitpid(process(here), &status, 0);
  REQUIRE(status == 0);
  CHECK(contents(here / "outcome") == contents(whole / "outcome"));
  // no state and no temporary files, but what runs had written before their first state
  std::size_t kept = 0;
  for (auto const& f : std::filesystem::directory_iterator(here.path)) kept += has(f.path().filename(), ".before");
  CHECK(files_in(here.path) - kept == files_in(whole.path));
}

TEST_CASE("backup_and_restore: an early stop survives a kill after it", "[callbacks][resume]") {
  test::temporary_directory const here;
  scripted::values = {5, 1, 2, 3, 4, 9};
  auto const fit = [&](std::vector<callback_handle> more) {
    trainer t = toy::compiled();
    more.insert(more.begin(), early_stopping<scripted>({.patience = 2, .restore_best_weights = true}));
    more.insert(more.begin(), backup_and_restore(here / "state"));
    auto const epochs = toy::fit(t, 6, more).epochs.size();
    return std::pair(epochs, detail::read_weights(t.engine()));
  };
  auto const wanted = fit({});
  CHECK(wanted.first == 3);
  struct dies_at_the_end : callback {
    void on_train_end(fit_run&) override { throw killed{}; }
  };
  trainer t = toy::compiled();
  CHECK_THROWS_AS(toy::fit(t, 6,
                           {dies_at_the_end{}, backup_and_restore(here / "state"),
                            early_stopping<scripted>({.patience = 2, .restore_best_weights = true})}),
                  killed);
  CHECK(exists(here / "state"));
  CHECK(fit({}) == wanted);
  CHECK_FALSE(exists(here / "state"));
}

TEST_CASE("backup_and_restore: an epoch in which a callback has said stop is ended first", "[callbacks][resume]") {
  test::temporary_directory const here;
  struct stops : callback {
    void on_batch_end(fit_run& run) override {
      if (run.epoch == 1 && run.step == 1) run.stop = true;
    }
  };
  auto const fit = [&](std::vector<callback_handle> more) {
    trainer t = toy::compiled();
    more.insert(more.end(), {stops{}, backup_and_restore(here / "state", {.save_freq = every_batches(1)})});
    return test::figures(toy::fit(t, 4, more));
  };
  std::vector<double> const wanted = fit({});
  REQUIRE(wanted.size() == 2 * 7);
  for (std::int64_t step : {1, 2, 5}) {
    CHECK_THROWS_AS(fit({killer{1, step, true}}), killed);
    CHECK(fit({}) == wanted);
  }
}

TEST_CASE("model_checkpoint: killed between two of them, no state speaks of a best file that is not there",
          "[callbacks][resume]") {
  scripted::values = {1, 2, 1.5, 4};
  for (save_freq freq : {every_epochs(1), every_batches(4)})
    for (bool best : {false, true}) {
      bool const in_epoch = freq.epochs == 0;
      // `first` writes whole states, from which the run resumes; `second` comes after it.
      auto const fit = [&](test::temporary_directory const& here, callback_handle const& death, bool whole) {
        model_checkpoint_options const o{.save_best_only = true, .save_weights_only = !whole, .save_freq = freq};
        callback_handle second = model_checkpoint<train_accuracy>(here / "second", o);
        if (!in_epoch) second = model_checkpoint<scripted>(here / "second", o);
        trainer t = toy::compiled();
        toy::fit(t, 4,
                 {backup_and_restore(here / "first", {.save_freq = every_epochs(100), .delete_checkpoint = false}),
                  halve_at_begin{},
                  best ? callback_handle(
                             model_checkpoint<train_loss>(here / "first", {.save_best_only = true, .save_freq = freq}))
                       : callback_handle(model_checkpoint<train_loss>(here / "first", {.save_freq = freq})),
                  death, second});
        trainer left = toy::compiled();
        load_weights(left, here / "second");
        saved_run of{};
        if (whole) of = restore_run(left, contents(here / "second"), "second");
        return std::tuple(detail::fingerprint_of(left.engine()), of.next.epoch, of.next.step, of.learning_rate);
      };
      for (bool whole : {false, true}) {
        test::temporary_directory const undisturbed;
        auto const wanted = fit(undisturbed, counts{}, whole);
        for (int epoch = 0; epoch < 4; ++epoch)
          for (std::int64_t step = -1; step < (in_epoch ? 6 : 0); ++step) {
            INFO("batches " << freq.batches << ", best " << best << ", whole " << whole << ", killed in " << epoch
                            << "." << step);
            test::temporary_directory const here;
            CHECK_THROWS_AS(fit(here, killed_between(epoch, step), whole), killed);
            if (!best && !in_epoch) {  // a checkpoint that need not be the best is written after those that must
              trainer t = toy::compiled();
              CHECK(exists(here / "first") == (epoch > 0));
              if (epoch > 0)
                CHECK(restore(t, contents(here / "first"), "first").epochs.size() == static_cast<std::size_t>(epoch));
            }
            CHECK(fit(here, counts{}, whole) == wanted);
          }
      }
    }
}

TEST_CASE("model_checkpoint: killed between a backup and a state of the same moment, the state comes later",
          "[callbacks][resume]") {
  for (int epoch = 0; epoch < 3; ++epoch) {
    test::temporary_directory const here;
    auto const fit = [&](callback_handle const& death, char const* names) {
      trainer t = toy::compiled();
      toy::fit(t, 3, {backup_and_restore(here / "state"), death, model_checkpoint(here / names)});
    };
    CHECK_THROWS_AS(fit(killed_between(epoch, -1, true), "before/{epoch}"), killed);
    fit(counts{}, "all/{epoch}");
    CHECK(files_in(here.path / "all") == static_cast<std::size_t>(3 - epoch));
    for (int e = epoch + 1; e <= 3; ++e) {
      trainer t = toy::compiled();
      REQUIRE(exists(here / fmt::format("all/{}", e)));
      CHECK(restore(t, contents(here / fmt::format("all/{}", e)), "all").epochs.size() == static_cast<std::size_t>(e));
    }
  }
}

TEST_CASE("backup_and_restore: states are their callbacks', whatever pointer or order they come by",
          "[callbacks][resume]") {
  struct left : callback {
    int number = 0;
    void state(callback_state& s) override { s("number", number); }
  };
  struct right : left {};
  test::temporary_directory const here;
  auto const by_pointer = [](std::shared_ptr<callback> p) { return callback_handle(std::move(p)); };
  auto const interrupted = [&](std::vector<callback_handle> all) {
    std::filesystem::remove(here / "state");
    all.insert(all.end(), {backup_and_restore(here / "state"), killer(1, 2, false)});
    trainer t = toy::compiled();
    CHECK_THROWS_AS(toy::fit(t, 3, all), killed);
  };
  auto const goes_on = [&](std::vector<callback_handle> all) {
    all.emplace_back(backup_and_restore(here / "state"));
    trainer t = toy::compiled();
    toy::fit(t, 3, all);
  };
  auto const a = std::make_shared<left>(), c = std::make_shared<left>();
  auto const b = std::make_shared<right>(), d = std::make_shared<right>();
  a->number = 1, b->number = 2;
  interrupted({by_pointer(a), by_pointer(b)});
  goes_on({by_pointer(d), c});  // in another order, and one by its own type
  CHECK(c->number == 1);
  CHECK(d->number == 2);

  auto const best = [&](char const* folder, char const* name, bool best_only = true) {
    return model_checkpoint<train_loss>(here / (std::string(folder) + "/" + name), {.save_best_only = best_only});
  };
  interrupted({best("a", "one"), best("a", "two")});
  CHECK(has(thrown<file_error>([&] { goes_on({best("a", "two"), best("a", "one")}); }),
            "'s model_checkpoint 0 was saved with file name one, but this run has two"));
  goes_on({best("b", "one"), best("b", "two")});  // folders may move
  // which value and file belong to which does not matter if every one is kept
  interrupted({model_checkpoint<train_loss>(here / "a/{epoch}")});
  goes_on({model_checkpoint<val_accuracy>(here / "a/{epoch}.state")});
  CHECK_FALSE(exists(here / "state"));
}

TEST_CASE("backup_and_restore: kept after a run's end, it gives the same again; or begins anew",
          "[callbacks][resume]") {
  test::temporary_directory const here;
  auto const fit = [&](bool restore, std::vector<callback_handle> more = {}) {
    trainer t = toy::compiled();
    more.insert(more.end(),
                {csv_logger(here / "log.csv"),
                 backup_and_restore(here / "state",
                                    {.save_freq = every_batches(4), .delete_checkpoint = false, .restore = restore})});
    history const h = toy::fit(t, 2, more);
    return std::pair(test::figures(h), detail::fingerprint_of(t.engine()));
  };
  auto const wanted = fit(true);
  std::string const rows = contents(here / "log.csv");
  REQUIRE(exists(here / "state"));
  std::filesystem::remove(here / "log.csv");
  auto const seen = std::make_shared<counts>();
  CHECK(fit(true, {seen}) == wanted);
  CHECK(seen->batches == 0);
  CHECK(contents(here / "log.csv") == rows);
  CHECK(fit(false, {seen}) == wanted);
  CHECK(seen->batches == 12);
}

TEST_CASE("backup_and_restore: what does not fit is refused, and nothing changes", "[callbacks][resume]") {
  test::temporary_directory const here;
  std::string const path = here / "deep/state";
  auto const interrupted = [&](int epoch, std::int64_t step, std::vector<callback_handle> const& more = {}) {
    trainer t = toy::compiled();
    std::vector<callback_handle> all{backup_and_restore(path, {.save_freq = every_batches(1)}),
                                     killer{epoch, step, false}};
    all.insert(all.end(), more.begin(), more.end());
    CHECK_THROWS_AS(toy::fit(t, 4, all), killed);
  };
  interrupted(2, 3);
  trainer t = toy::compiled();
  dataset const data = toy::pictures();
  CHECK(has(thrown<option_error>(
                [&] { t.fit(data, {.epochs = 4, .batch_size = 12, .callbacks = {backup_and_restore(path)}}); }),
            "is from the middle of an epoch of 6 batches of 8, but this run has 4 batches of 12"));
  trainer u = toy::compiled();
  CHECK(t.steps() == 0);
  CHECK(detail::fingerprint_of(t.engine()) == detail::fingerprint_of(u.engine()));
  for (int epochs : {1, 2})  // with two, it would end at once, with weights that have seen more batches
    CHECK(has(thrown<option_error>([&] { toy::fit(u, epochs, {backup_and_restore(path)}); }),
              "already has 2 epochs and part of the next, but this run has " + std::to_string(epochs) +
                  "; set .epochs to 3 or more"));
  CHECK(exists(path));
  // A file of weights of such a network is no state, and is not removed.
  save_weights(u, here / "weights");
  CHECK(has(thrown<file_error>([&] { toy::fit(u, 4, {backup_and_restore(here / "weights")}); }),
            "found only weights, as save_weights writes them"));
  CHECK(exists(here / "weights"));
  CHECK(
      has(thrown<file_error>([&] { restore(t, read_checkpoint(path), path); }), "was saved in the middle of epoch 3"));
  std::string const good = read_checkpoint(path);
  detail::checkpoint_head head;
  for (auto const& [member, value] : {std::pair(&detail::checkpoint_head::step, std::int64_t{7}),
                                      std::pair(&detail::checkpoint_head::batch_size, std::int64_t{1} << 32),
                                      std::pair(&detail::checkpoint_head::slots, std::int64_t{-1})}) {
    std::memcpy(&head, good.data(), sizeof head);
    head.*member = value;
    std::string forged = good;
    std::memcpy(forged.data(), &head, sizeof head);
    std::uint64_t const sum = detail::checksum(forged, forged.size() - sizeof sum);
    std::memcpy(forged.data() + forged.size() - sizeof sum, &sum, sizeof sum);
    std::ofstream(path, std::ios::binary) << forged;
    CHECK(has(thrown<file_error>([&] { toy::fit(u, 4, {backup_and_restore(path)}); }), "truncated or damaged"));
    CHECK(u.steps() == 0);
  }
  std::ofstream(path)
      << "typenet checkpoint 2 and more than enough of bytes, so that it may be one of an earlier version, "
         "which has another layout, and had a shorter head than these here";
  CHECK(has(thrown<file_error>([&] { toy::fit(u, 4, {backup_and_restore(path)}); }),
            "is from another version of typenet"));
  std::filesystem::remove(path);

  scripted::values = {1, 2, 3, 4};
  interrupted(2, 3, {early_stopping<scripted>({.patience = 3})});
  trainer v = toy::compiled();
  CHECK(has(thrown<file_error>([&] { toy::fit(v, 4, {backup_and_restore(path), early_stopping<val_loss>()}); }),
            "'s early_stopping 0 was saved with monitor scripted, but this run has val_loss"));
  trainer w = toy::compiled();  // callbacks that the file does not have, and the reverse
  CHECK(toy::fit(w, 4, {backup_and_restore(path), model_checkpoint(here / "m")}).epochs.size() == 4);
  CHECK_FALSE(exists(path));

  interrupted(2, 0);
  trainer x = toy::compiled();
  std::vector<std::string> const said = test::warnings([&] {
    CHECK(x.fit(data, {.epochs = 4, .batch_size = 12, .callbacks = {backup_and_restore(path)}}).epochs.size() == 4);
  });
  REQUIRE(said.size() == 2);  // the other is about validation data and augmentation
  CHECK(has(
      said[0],
      "is from epochs of 6 batches of 8, but this run has 4 batches of 12; the run continues, but its results will not "
      "be bit-identical"));
}

namespace {

/// Returns a forged state with a correct checksum, which anyone who writes a state can compute.
std::string signed_again(std::string state) {
  std::uint64_t const sum = detail::checksum(state, state.size() - sizeof sum);
  std::memcpy(state.data() + state.size() - sizeof sum, &sum, sizeof sum);
  return state;
}
/// Returns the state with another value in a callback's field: its key and a zero byte, its size, its bytes.
template <class T>
std::string with_field(std::string state, std::string const& key, T value, std::size_t from = 0) {
  std::uint64_t size = 0;
  std::size_t const at = state.find(key + '\0', from);
  REQUIRE(at != state.npos);
  std::memcpy(&size, state.data() + at + key.size() + 1, sizeof size);
  REQUIRE(size == sizeof value);
  std::memcpy(state.data() + at + key.size() + 1 + sizeof size, &value, sizeof value);
  return signed_again(std::move(state));
}
template <class T>
std::string with_head(std::string state, T detail::checkpoint_head::* member, T value) {
  detail::checkpoint_head head;
  std::memcpy(&head, state.data(), sizeof head);
  head.*member = value;
  std::memcpy(state.data(), &head, sizeof head);
  return signed_again(std::move(state));
}
std::string with_record(std::string state, std::size_t at, double value) {
  std::memcpy(state.data() + sizeof(detail::checkpoint_head) + at * sizeof value, &value, sizeof value);
  return signed_again(std::move(state));
}

}  // namespace

TEST_CASE("backup_and_restore: nothing of a forged state is a place, a size or a count before it is checked",
          "[callbacks][resume][hostile]") {
  test::temporary_directory const here;
  std::string const path = here / "state";
  weight_average const mean{.start_from_epoch = 0};
  auto const all = [&] {
    return std::vector<callback_handle>{backup_and_restore(path, {.save_freq = every_batches(2)}),
                                        early_stopping<train_loss>({.patience = 9, .restore_best_weights = true}),
                                        model_checkpoint<train_loss>(here / "best/{epoch}", {.save_best_only = true}),
                                        csv_logger(here / "log.csv")};
  };
  auto callbacks = all();
  callbacks.push_back(killer{2, 4, false});
  trainer t = toy::compiled();
  CHECK_THROWS_AS(toy::fit(t, 4, callbacks, true, mean), killed);
  std::string const good = read_checkpoint(path);
  auto const refused = [&](std::string const& state, std::vector<std::string> const& words) {
    std::ofstream(path, std::ios::binary) << state;
    trainer u = toy::compiled();
    test::refuses<file_error>([&] { toy::fit(u, 4, all(), true, mean); }, words);
  };
  constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min(), greatest = -1 - least;
  for (int epoch : {-1, 2, 1 << 30, -(1 << 30)}) {
    refused(with_field(good, "best epoch", epoch), {"'s early_stopping 0: \"best epoch\" must be 0 to 1; found "});
    refused(with_field(good, "stopped epoch", epoch),
            {"'s early_stopping 0: \"stopped epoch\" must be 0 to 1; found "});
  }
  for (int waited : {-1, 3, std::numeric_limits<int>::max()})
    refused(with_field(good, "wait", waited), {"'s early_stopping 0: \"wait\" must be 0 to 2; found "});
  for (std::int64_t count : {std::int64_t{-1}, least, greatest}) {
    refused(with_field(good, "batches", count), {"'s backup_and_restore 0: \"batches\" must be ", "; found "});
    refused(with_field(good, "batches", count, good.find("model_checkpoint 0")),
            {"'s model_checkpoint 0: \"batches\" must be ", "; found "});
    refused(with_field(good, "bytes before", count), {"'s csv_logger 0: \"bytes before\" must be ", "; found "});
    refused(with_field(good, "since", count), {"'s average: \"since\" must be 0 to ", "; found "});
    refused(with_field(good, "taken", count), {"'s average: \"taken\" must be 1 to ", "; found "});
  }
  refused(with_field(good, "taken", std::int64_t{0}), {"'s average: \"taken\" must be 1 to ", "; found 0; "});

  using head = detail::checkpoint_head;
  double const no_number = std::numeric_limits<double>::quiet_NaN();
  for (std::int64_t count : {std::int64_t{-1}, least, greatest})
    for (auto const member : {&head::epoch, &head::epochs, &head::step, &head::numbers, &head::callbacks, &head::slots,
                              &head::batch_size, &head::steps_an_epoch})
      if (count < 0 || member != &head::steps_an_epoch) refused(with_head(good, member, count), {"damaged"});
  refused(with_head(good, &head::epoch, std::int64_t{1}), {"damaged"});  // it has two records of it
  refused(with_head(good, &head::steps, std::uint64_t{1} << 63), {"damaged"});
  for (auto const member : {&head::loss, &head::correct, &head::first_rate, &head::seconds})
    for (double bad : {no_number, std::numeric_limits<double>::infinity()})
      refused(with_head(good, member, bad), {"its totals of the current epoch are impossible"});
  refused(with_head(good, &head::seconds, 1e300),
          {"its totals of the current epoch are impossible"});  // they would be converted to integers
  for (double epoch : {-1.0, 1e9, 1e300, no_number}) {
    refused(with_record(good, 0, epoch), {"record 0 is for epoch "});
    refused(with_record(good, 9, epoch), {"record 1 is for epoch "});
  }
  refused(with_record(good, 9, 2.0), {"was saved after epoch 2 but its last record is of epoch 3"});

  std::ofstream(path, std::ios::binary) << good;  // with none of these faults
  trainer u = toy::compiled();
  CHECK(toy::fit(u, 4, all(), true, mean).epochs.size() == 4);
}

namespace {

/// While it exists, the process can get this many more bytes of address space, and none beyond.
class little_memory {
 public:
  explicit little_memory(rlim_t more) {
    std::size_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    ::getrlimit(RLIMIT_AS, &before_);
    rlimit less = before_;
    less.rlim_cur = pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)) + more;
    REQUIRE(::setrlimit(RLIMIT_AS, &less) == 0);
  }
  little_memory(little_memory const&) = delete;
  little_memory& operator=(little_memory const&) = delete;
  ~little_memory() { ::setrlimit(RLIMIT_AS, &before_); }

 private:
  rlimit before_{};
};

}  // namespace

TEST_CASE("a hole that is larger than memory is an error of the file's", "[callbacks][hostile]") {
  if (DSL_TEST_ASAN || DSL_TEST_TSAN) return;  // their shadow memory takes address space, too
  test::temporary_directory const here;
  constexpr std::int64_t hole = std::int64_t{1} << 36;
  trainer t = toy::compiled();
  save_weights(t, here / "w");
  std::string const weights = read_checkpoint(here / "w"), log = here / "log.csv";
  detail::checkpoint_head head{};
  std::memcpy(&head, weights.data(), sizeof head);
  std::int64_t const own = head.callbacks;  // what the file says of the network
  std::ofstream(here / "w", std::ios::binary) << with_head(weights, &detail::checkpoint_head::callbacks, hole);
  std::filesystem::resize_file(here / "w", weights.size() + static_cast<std::uintmax_t>(hole - own));
  std::ofstream(log) << "somebody's\n";
  std::filesystem::resize_file(log, static_cast<std::uintmax_t>(hole));
  little_memory const limit(rlim_t{1} << 30);
  test::refuses<file_error>([&] { load_weights(t, here / "w"); },
                            {"checkpoint: cannot read " + here / "w: not enough memory"});
  test::refuses<file_error>([&] { toy::fit(t, 1, {csv_logger(log, {.append = true})}); },
                            {"csv_logger: cannot read " + log + ": not enough memory"});
  CHECK(test::warnings([&] { toy::fit(t, 1, {csv_logger(log)}); }).empty());  // it does not read what it overwrites
  CHECK(test::lines(contents(log)).size() == 2);
}

TEST_CASE("a state has a bool that is neither true nor false", "[callbacks][hostile]") {
  bool one = true;
  std::array<bool, 3> flags = {true, false, true};
  callback_state saved;
  saved("flags", flags), saved("one", one);
  callback_state good(saved.bytes(), "it");
  one = false, flags[0] = false;
  good("flags", flags), good("one", one);
  CHECK((one && flags[0] && !flags[1] && flags[2]));
  for (int bad : {2, 128, 255}) {
    std::string bytes = saved.bytes();
    bytes.back() = static_cast<char>(bad);
    bytes[bytes.find("one") - 1] = static_cast<char>(bad);
    callback_state forged(bytes, "it");
    CHECK(has(thrown<file_error>([&] { forged("one", one); }), fmt::format("it has the one {}; expected 0 or 1", bad)));
    CHECK(has(thrown<file_error>([&] { forged("flags", flags); }), "it has the flags "));
  }
  CHECK((one && flags[2]));
}

TEST_CASE("early_stopping: best weights of another size are refused as the run goes on, not at its end",
          "[callbacks][resume][hostile]") {
  test::temporary_directory const here;
  trainer t = toy::compiled();
  auto const all = [&] {
    return std::vector<callback_handle>{backup_and_restore(here / "state"),
                                        early_stopping<train_loss>({.patience = 9, .restore_best_weights = true})};
  };
  auto callbacks = all();
  callbacks.push_back(killer{2, 0, false});
  CHECK_THROWS_AS(toy::fit(t, 4, callbacks), killed);
  std::string state = read_checkpoint(here / "state");
  // "best weights" is the callback's last field, and the callback's state the last of all: both get one float less
  detail::checkpoint_head head;
  std::memcpy(&head, state.data(), sizeof head);
  head.callbacks -= 4;
  std::memcpy(state.data(), &head, sizeof head);
  for (std::string const key : {"best weights", "early_stopping 0"}) {
    std::uint64_t size = 0;
    char* const at = state.data() + state.find(key + '\0') + key.size() + 1;
    std::memcpy(&size, at, sizeof size);
    size -= 4;
    std::memcpy(at, &size, sizeof size);
  }
  state.erase(state.size() - 12, 4);
  std::ofstream(here / "state", std::ios::binary) << signed_again(state);
  trainer u = toy::compiled();
  CHECK(has(thrown<file_error>([&] { toy::fit(u, 4, all()); }), ": \"best weights\" must have "));
}

TEST_CASE("model_checkpoint: a state says nowhere what is written over", "[callbacks][resume][hostile]") {
  test::temporary_directory const here;
  std::filesystem::create_directory(here.path / "runs");
  std::ofstream(here / "precious") << "precious";
  model_checkpoint_options const o{.save_weights_only = true};
  auto const fit = [&](callback_handle const& death) {
    trainer t = toy::compiled();
    toy::fit(t, 3,
             {model_checkpoint<train_loss>(here / "runs/whole", {.save_best_only = true}), death,
              backup_and_restore(here / "runs/whole", {.save_freq = every_epochs(100)}),
              model_checkpoint<train_loss>(here / "runs/{epoch}-{loss:.3f}", o)});
  };
  // Killed after the state was written and before the file that it mentions.
  CHECK_THROWS_AS(fit(killed_between(0, -1)), killed);
  std::string state = read_checkpoint(here / "runs/whole");
  REQUIRE(files_in(here.path / "runs") == 1);
  // An earlier version took the name from this field.
  std::size_t const old = state.find(std::string("path") + '\0');
  if (old != state.npos) {
    std::uint64_t size = 0;
    std::memcpy(&size, state.data() + old + 5, sizeof size);
    std::string const elsewhere = "../precious";
    REQUIRE(size <= elsewhere.size());
    state.replace(old + 13, size, elsewhere.substr(0, size));
  }
  std::ofstream(here / "runs/whole", std::ios::binary) << signed_again(state);
  fit(counts{});
  CHECK(contents(here / "precious") == "precious");
  CHECK(files_in(here.path) == 2);
  int found = 0;
  for (auto const& file : std::filesystem::directory_iterator(here.path / "runs"))
    found += file.path().filename().string()[1] == '-';
  CHECK(found == 3);
}

TEST_CASE("backup_and_restore: a loss that is no number leaves the last good state", "[callbacks][resume]") {
  test::temporary_directory const here;
  struct poison : callback {
    void on_epoch_begin(fit_run& run) override {
      if (run.epoch == 2) run.learning_rate = 1e29;
    }
  };
  trainer t = toy::compiled();
  test::printed([&] {
    CHECK(toy::fit(t, 4, {backup_and_restore(here / "state"), poison{}, terminate_on_nan{}}).epochs.size() <= 2);
  });
  REQUIRE(exists(here / "state"));
  trainer u = toy::compiled();
  auto const epochs = restore(u, read_checkpoint(here / "state"), "state").epochs.size();
  CHECK(epochs == 2);
  CHECK(toy::fit(u, 4, {}).epochs.size() == 4);
}

namespace {

/// Makes the weights NaN in a step whose own loss does not show it.
struct breaks_weights : callback {
  int epoch;
  std::int64_t step;
  breaks_weights(int e, std::int64_t s) : epoch(e), step(s) {}
  void on_batch_end(fit_run& run) override {
    if (run.epoch != epoch || run.step != step) return;
    std::vector<float> weights = detail::read_weights(run.trainer.engine());
    for (float& w : weights) w = std::nanf("");
    detail::write_weights(run.trainer.engine(), weights);
  }
};
detail::checkpoint_head head_of(std::string const& path) {
  trainer t = toy::compiled();
  std::string const bytes = read_checkpoint(path);
  return detail::checkpoint_reader(t.graph(), bytes, path).head;
}

}  // namespace

TEST_CASE("backup_and_restore: weights that give no loss are no state", "[callbacks][resume]") {
  for (bool validation : {true, false}) {
    trainer whole = toy::compiled();
    std::vector<double> const wanted = test::figures(toy::fit(whole, 3, {}, validation));
    for (save_freq freq : {every_epochs(1), every_batches(1), every_batches(4)})
      for (std::int64_t step : {3, 5}) {
        INFO("validation " << validation << ", batches " << freq.batches << ", step " << step);
        test::temporary_directory const here;
        std::string const path = here / "state";
        trainer t = toy::compiled();
        history h;
        test::printed([&] {
          h = toy::fit(t, 3, {breaks_weights{1, step}, terminate_on_nan{}, backup_and_restore(path, {freq})},
                       validation);
        });
        // without validation, the weights after an epoch's last step are not checked before it ends
        CHECK(h.epochs.size() == (step == 5 && !validation ? 2U : 1U));
        detail::checkpoint_head const at = head_of(path);
        std::int64_t const good = freq.batches == 1 ? step : freq.batches == 4 && step == 5 ? 4 : 0;
        CHECK(at.epoch == 1);
        CHECK(at.step == good);
        trainer u = toy::compiled();
        CHECK(test::figures(toy::fit(u, 3, {backup_and_restore(path, {freq})}, validation)) == wanted);
      }
  }
  test::temporary_directory const here;
  trainer t = toy::compiled();
  test::printed([&] {
    toy::fit(t, 3, {breaks_weights{1, 5}, terminate_on_nan{}, checkpoint_each_epoch{here / "state"}}, false);
  });
  CHECK(head_of(here / "state").epoch == 1);
  // the weights after the last step are never checked
  trainer u = toy::compiled();
  toy::fit(u, 2, {checkpoint_each_epoch{here / "state"}}, false);
  CHECK(head_of(here / "state").epoch == 2);
}

TEST_CASE("backup_and_restore: a learning rate that is given anew holds, and the line says both",
          "[callbacks][resume]") {
  auto const compiled = [](double rate) {
    return compile<toy::network>(reference{}, sgd{.learning_rate = rate, .momentum = 0.9}, {.seed = 1});
  };
  struct rates : callback {
    std::vector<double> of_steps{};
    void on_batch_end(fit_run& run) override { of_steps.push_back(run.learning_rate); }
  };
  struct halves : callback {
    void on_epoch_begin(fit_run& run) override { run.learning_rate /= 2; }
  };
  for (std::int64_t step : {3, 5}) {
    for (double rate : {0.02, 0.001}) {
      test::temporary_directory const here;
      std::string const path = here / "state";
      trainer first = compiled(0.02);
      CHECK_THROWS_AS(
          toy::fit(first, 3, {halves{}, backup_and_restore(path, {every_batches(1)}), killer{1, step, false}}), killed);
      trainer t = compiled(rate);
      auto const seen = std::make_shared<rates>();
      std::string const said =
          test::printed([&] { toy::fit(t, 2, {backup_and_restore(path, {every_batches(1)}), seen}); });
      std::string const place = "Resuming from " + path + " after batch " + std::to_string(step) +
                                " of 6 of epoch 2 of 2; the learning rate was 0.005";
      CHECK(said ==
            place + (rate == 0.02 ? "\n" : " and is now 0.001, because this run was given 0.001 instead of 0.02\n"));
      CHECK(seen->of_steps == std::vector<double>(static_cast<std::size_t>(6 - step), rate == 0.02 ? 0.005 : 0.001));
      CHECK(t.learning_rate() == seen->of_steps[0]);
    }
    // A schedule is called for the rest of the epoch, too.
    test::temporary_directory const here;
    std::string const path = here / "state";
    auto const falls = [](double from) { return learning_rate_schedule{poly_decay{from, 2, 1.0}}; };
    trainer first = compiled(0.02);
    CHECK_THROWS_AS(
        toy::fit(first, 2, {falls(0.02), backup_and_restore(path, {every_batches(1)}), killer{1, step, false}}),
        killed);
    trainer t = compiled(0.001);
    auto const seen = std::make_shared<rates>();
    toy::fit(t, 2, {falls(0.001), backup_and_restore(path, {.save_freq = every_batches(1), .verbose = false}), seen});
    CHECK(seen->of_steps == std::vector<double>(static_cast<std::size_t>(6 - step), 0.0005));
  }
  // A state that another callback wrote does not contain what its run was given.
  test::temporary_directory const here;
  std::string const path = here / "state";
  trainer first = compiled(0.02);
  toy::fit(first, 1, {model_checkpoint(path)});
  trainer t = compiled(0.001);
  CHECK(test::printed([&] { toy::fit(t, 2, {backup_and_restore(path)}); }) ==
        "Resuming from " + path +
            " after epoch 1 of 2; the learning rate was 0.02 and is kept, although this run was given 0.001\n");
  CHECK(t.learning_rate() == 0.02);
}

TEST_CASE("backup_and_restore: a run that is refused leaves the trainer as it was", "[callbacks][resume]") {
  test::temporary_directory const here;
  std::string const path = here / "state";
  trainer first = toy::compiled();
  CHECK_THROWS_AS(
      toy::fit(first, 3, {backup_and_restore(path), early_stopping<train_loss>({.patience = 3}), killer{1, 3, false}}),
      killed);
  struct refuses : callback {
    void on_train_begin(fit_run&) override { throw option_error("not this one"); }
  };
  trainer t = toy::compiled();
  toy::fit(t, 1, {});  // with velocities
  t.set_learning_rate(0.125);
  std::string const before = checkpoint(t, {});
  auto const is_as_before = [&] { CHECK(checkpoint(t, {}) == before); };
  auto const quiet = backup_and_restore(path, {.verbose = false});
  CHECK_THROWS_AS(toy::fit(t, 3, {quiet, early_stopping<val_loss>()}), file_error);  // its state is for another metric
  is_as_before();
  CHECK_THROWS_AS(toy::fit(t, 3, {early_stopping<val_loss>(), quiet}), file_error);
  is_as_before();
  CHECK_THROWS_AS(toy::fit(t, 3, {quiet, refuses{}}), option_error);
  is_as_before();
  // both write one file
  CHECK_THROWS_AS(toy::fit(t, 3, {quiet, backup_and_restore(here / "state"), refuses{}}), file_error);
  is_as_before();
  std::filesystem::copy(path, here / "copy");
  CHECK_THROWS_AS(toy::fit(t, 3, {quiet, backup_and_restore(here / "copy"), refuses{}}), option_error);
  is_as_before();
  CHECK(toy::fit(t, 3, {quiet}).epochs.size() == 3);
}

TEST_CASE("backup_and_restore: of two runs with one file the second is refused", "[callbacks][resume]") {
  test::temporary_directory const here;
  std::string const path = here / "runs/state";
  struct meets : callback {
    std::string path;
    explicit meets(std::string p) : path(std::move(p)) {}
    void on_epoch_begin(fit_run& run) override {
      if (run.epoch > 0) return;
      trainer other = toy::compiled();
      std::string const said = thrown<file_error>([&] { toy::fit(other, 1, {backup_and_restore(path)}); });
      CHECK(said.starts_with("backup_and_restore: " + path + " must be written by one run at a time; found process " +
                             std::to_string(::getpid()) + " of "));
      CHECK(other.steps() == 0);
      pid_t const child = ::fork();  // another process, which must not release the lock when it ends
      if (child == 0) {
        trainer third = toy::compiled();
        ::_exit(has(thrown<file_error>([&] { toy::fit(third, 1, {backup_and_restore(path)}); }), "one run at a time")
                    ? 0
                    : 1);
      }
      int status = 0;
      CHECK((::waitpid(child, &status, 0) == child && status == 0));
      CHECK(exists(path + ".lock"));
    }
  };
  trainer t = toy::compiled();
  toy::fit(t, 2, {backup_and_restore(path), meets{path}});
  CHECK_FALSE(exists(path + ".lock"));
  CHECK_THROWS_AS(toy::fit(t, 2, {backup_and_restore(path), killer{1, 3, false}}), killed);
  CHECK_FALSE(exists(path + ".lock"));  // however fit ends
  std::ofstream(path + ".lock") << "process 1 of a machine that lost its power\n";
  CHECK(toy::fit(t, 2, {backup_and_restore(path, {.verbose = false})}).epochs.size() == 2);
  CHECK(files_in(here / "runs") == 0);
}

TEST_CASE("backup_and_restore: a state that waits is written as the run ends", "[callbacks][resume]") {
  test::temporary_directory const here;
  struct stops : callback {
    void on_backup(fit_run& run) override { run.stop = run.epoch == 1; }
  };
  trainer t = toy::compiled();
  toy::fit(t, 4, {backup_and_restore(here / "state", {.delete_checkpoint = false}), stops{}}, false);
  CHECK(head_of(here / "state").epoch == 2);
}

TEST_CASE("backup_and_restore: a run that begins anew never goes on from another one's state", "[callbacks][resume]") {
  test::temporary_directory const here;
  std::string const path = here / "state", before = here / "state.before";
  auto const fit = [&](bool restore, std::vector<callback_handle> more) {
    trainer t = toy::compiled();
    more.emplace_back(backup_and_restore(path, {.restore = restore}));
    return test::figures(toy::fit(t, 3, more));
  };
  CHECK_THROWS_AS(fit(true, {killer{2, 3, false}}), killed);
  std::string const others = contents(path);
  auto const seen = std::make_shared<counts>();
  SECTION("killed before it has one of its own") {
    CHECK_THROWS_AS(fit(false, {killer{0, 3, false}}), killed);
    CHECK_FALSE(exists(path));
    CHECK(contents(before) == others);
    fit(true, {seen});
    CHECK(seen->batches == 18);
  }
  SECTION("killed after that") {
    CHECK_THROWS_AS(fit(false, {killer{1, 3, false}}), killed);
    CHECK(exists(path));
    CHECK(contents(before) == others);
    fit(true, {seen});
    CHECK(seen->batches == 12);
    CHECK(files_in(here.path) == 0);  // its state knew what it had kept
  }
  SECTION("ended") {
    fit(false, {});
    CHECK(files_in(here.path) == 0);
  }
  SECTION("where the name is taken") {
    std::filesystem::create_directory(before);
    CHECK_THROWS_AS(fit(false, {killer{1, 3, false}}), killed);
    CHECK(contents(before + ".2") == others);
  }
}

TEST_CASE("restore: a state without its first epochs is refused by what counts them", "[callbacks][resume]") {
  test::temporary_directory const here;
  std::string const path = here / "state";
  dataset const data = toy::pictures();
  auto const fit = [&](trainer& t, int first) {
    return t.fit(data, {.epochs = 4,
                        .batch_size = 8,
                        .callbacks = {backup_and_restore(path, {.delete_checkpoint = false})},
                        .initial_epoch = first});
  };
  trainer t = toy::compiled(), u = toy::compiled();
  fit(t, 2);
  CHECK(has(thrown<file_error>([&] { restore(u, read_checkpoint(path), path); }),
            "was saved after epoch 4 but has records of only 2: its run began with .initial_epoch"));
  CHECK(u.steps() == 0);
  CHECK(restore_run(u, read_checkpoint(path), path).next.epoch == 4);
  std::filesystem::remove(path);
  trainer v = toy::compiled(), w = toy::compiled();
  fit(v, 0);
  CHECK(restore(w, read_checkpoint(path), path).epochs.size() == 4);
}

TEST_CASE("early_stopping: where it is new to a run that has ended, it has no best weights", "[callbacks][resume]") {
  test::temporary_directory const here;
  backup_and_restore const backup(here / "state", {.delete_checkpoint = false});
  trainer t = toy::compiled(), u = toy::compiled(), v = toy::compiled();
  toy::fit(t, 3, {backup});
  auto const stopping = [] {
    return std::make_shared<early_stopping<val_loss>>(
        early_stopping_options{.patience = 3, .restore_best_weights = true});
  };
  auto const late = stopping(), in_time = stopping();
  toy::fit(u, 3, {backup, late});
  CHECK_FALSE(late->has_weights());
  CHECK(detail::fingerprint_of(u.engine()) == detail::fingerprint_of(t.engine()));
  toy::fit(v, 4, {backup, in_time});
  CHECK(in_time->has_weights());
  CHECK(in_time->best_epoch() == 3);
}

TEST_CASE("a run that goes on within an epoch says so as any other; of several processes one prints", "[callbacks]") {
  test::temporary_directory const here;
  backup_and_restore const backup(here / "state", {.save_freq = every_batches(1)});
  test::printed([&] {
    trainer t = toy::compiled();
    CHECK_THROWS_AS(toy::fit(t, 3, {progress_bar{}, backup, killer{1, 3, false}}), killed);
  });
  trainer t = toy::compiled();
  std::string const lines = test::printed([&] { toy::fit(t, 3, {progress_bar{}, epoch_log{}, backup}); });
  INFO(lines);
  CHECK(lines.starts_with("Resuming from " + (here / "state") +
                          " after batch 3 of 6 of epoch 2 of 3; the learning rate was " +
                          "0.02\nEpoch 2/3\nEpoch 2/3\n6/6 - "));
  CHECK(has(lines, "\nEpoch 3/3\n"));

  fit_run other{.trainer = t, .epochs = 3, .steps = 6, .batch_size = 8, .leads = false};
  CHECK(test::printed([&] {
          progress_bar bar;
          epoch_log log;
          for (callback* c : {static_cast<callback*>(&bar), static_cast<callback*>(&log)}) {
            c->on_train_begin(other);
            c->on_epoch_begin(other);
            for (other.step = 0; other.step < 6; ++other.step) c->on_batch_end(other);
            c->on_epoch_end(other);
          }
          early_stopping stopping;
          terminate_on_nan{}.on_bad_loss(other);
        }).empty());
}

TEST_CASE("lines of others end that of a progress bar first", "[callbacks]") {
  std::FILE* const before = detail::open_line.exchange(stdout);
  CHECK(test::printed([] { detail::print_lines(stdout, "Epoch 1: saving\n"), detail::print_lines(stdout, "b\n"); }) ==
        "\nEpoch 1: saving\nb\n");
  detail::open_line = before;
}
