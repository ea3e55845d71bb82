// SPDX-License-Identifier: MIT
// Tests that no run deletes or replaces what another run has made: every callback that writes a file is tried over the
// files of an earlier run.
#include "support/catch.hpp"
#include "support/temporary_directory.hpp"
#include "support/toy_training.hpp"
#include "support/warnings.hpp"
#include "support/words.hpp"

#include <dsl/callbacks.hpp>
#include <dsl/data/crop_and_cutout.hpp>
#include <dsl/dsl.hpp>
#include <dsl/io/classes_file.hpp>
#include <dsl/io/embedded_weights.hpp>
#include <dsl/io/tensorboard.hpp>
#include <dsl/text.hpp>
#include <dsl/training/earlier_files.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <signal.h>
#include <sys/xattr.h>
#include <unistd.h>

using namespace dsl;
using test::contents;
using test::has;
using test::thrown;
using test::toy;

namespace {

/// Returns {name: bytes} of all regular files below a folder.
std::map<std::string, std::string> files_of(std::filesystem::path const& folder) {
  std::map<std::string, std::string> all;
  for (auto const& entry : std::filesystem::recursive_directory_iterator(folder))
    if (entry.is_regular_file())
      all[entry.path().lexically_relative(folder).string()] = contents(entry.path().string());
  return all;
}

bool has_bytes(std::map<std::string, std::string> const& files, std::string const& bytes) {
  return std::any_of(files.begin(), files.end(), [&](auto const& f) { return f.second == bytes; });
}

/// Ends a run in the middle of an epoch, by a signal or like a crash.
struct ends_in : callback {
  int epoch, signal;
  ends_in(int e, int s) : epoch(e), signal(s) {}
  void on_batch_end(fit_run& run) override {
    if (run.epoch != epoch || run.step != 2) return;
    if (signal == 0) throw error("crashed");
    ::raise(signal);
  }
};

/// A place where a run writes a file while it trains.
struct place {
  char const* name;
  std::function<callback_handle(std::string const& folder)> make;
};

/// Every callback of the library that writes files, with each kind of its files.
std::vector<place> places() {
  std::vector<place> all{
      {"a state", [](auto& f) { return backup_and_restore(f + "/state", {.restore = false, .verbose = false}); }},
      {"a state within epochs",
       [](auto& f) {
         return backup_and_restore(f + "/state", {.save_freq = every_batches(1), .restore = false, .verbose = false});
       }},
      {"a state that is kept",
       [](auto& f) {
         return backup_and_restore(f + "/state", {.delete_checkpoint = false, .restore = false, .verbose = false});
       }},
      {"a state of each epoch", [](auto& f) { return checkpoint_each_epoch{f + "/state"}; }},
      {"best weights",
       [](auto& f) {
         return model_checkpoint<val_loss>(f + "/best", {.save_best_only = true, .save_weights_only = true});
       }},
      {"whole states", [](auto& f) { return model_checkpoint<>(f + "/whole"); }},
      {"weights by batches",
       [](auto& f) {
         return model_checkpoint<>(f + "/weights", {.save_weights_only = true, .save_freq = every_batches(2)});
       }},
      {"weights named by a pattern",
       [](auto& f) { return model_checkpoint<>(f + "/{epoch:02d}/w", {.save_weights_only = true}); }},
      {"weights of a writer",
       [](auto& f) {
         return model_checkpoint<>(
             f + "/written",
             {.save_weights_only = true, .writer = [](trainer& t, std::string const& path) { save_weights(t, path); }});
       }},
      {"a log", [](auto& f) { return csv_logger(f + "/log.csv"); }},
      {"curves", [](auto& f) { return tensorboard(f + "/curves"); }},
  };
  // It draws within microseconds here: what is drawn is a file as any other.
  all.push_back({"a plot", [](auto& f) { return plot_each_epoch(f + "/plot.svg", {.most_time = 1}); }});
  return all;
}

void fit(place const& p, std::string const& folder, int epochs, std::vector<callback_handle> more) {
  trainer t = toy::compiled();
  more.insert(more.begin(), {stop_on_signal{}, p.make(folder)});
  try {
    toy::fit(t, epochs, more);
  } catch (interrupted const&) {  // NOLINT(bugprone-empty-catch): as it should
  } catch (error const& e) {
    if (std::string(e.what()) != "crashed") throw;
  }
}

}  // namespace

TEST_CASE("no run deletes or replaces what another has made, wherever it writes and however it ends", "[earlier]") {
  for (place const& p : places()) {
    bool const can_plot = std::string(p.name) != "a plot" || std::system("gnuplot -V >/dev/null 2>&1") == 0;
    if (!can_plot) continue;
    for (bool const first_ended : {false, true})
      for (int const signal : {0, SIGTERM})
        for (int const at : {0, 1, 2}) {
          INFO(p.name << (first_ended ? " of a run that ended" : " of a run that crashed") << ", then a run that "
                      << (signal ? "is interrupted" : "crashes") << " in epoch " << at);
          test::temporary_directory const here;
          std::string const folder = here.path.string();
          fit(p, folder, first_ended ? 3 : 5, {ends_in{first_ended ? 9 : 3, 0}});
          auto const first = files_of(here.path);
          fit(p, folder, 5, {ends_in{at, signal}});
          auto const second = files_of(here.path);
          for (auto const& [name, bytes] : first) {
            INFO(name);
            CHECK(has_bytes(second, bytes));
          }
          fit(p, folder, 5, {ends_in{0, signal}});  // nor does a third run, of what either has made
          fit(p, folder, 5, {ends_in{1, signal}});
          auto const fourth = files_of(here.path);
          for (auto const& files : {first, second})
            for (auto const& [name, bytes] : files) {
              INFO(name);
              CHECK((has_bytes(fourth, bytes) || bytes == history_csv_header));  // a log without a row has nothing
            }
        }
  }
}

TEST_CASE("a run that has ended removes what it has kept of a run that was not longer", "[earlier]") {
  test::temporary_directory const here;
  std::string const folder = here.path.string();
  auto const run = [&](int epochs, int crash_in, bool restore = false) {
    trainer t = toy::compiled();
    std::vector<callback_handle> const all{
        backup_and_restore(folder + "/state", {.save_freq = every_batches(1), .restore = restore, .verbose = false}),
        model_checkpoint<val_loss>(folder + "/best", {.save_best_only = true, .save_weights_only = true}),
        csv_logger(folder + "/log.csv"), ends_in{crash_in, 0}};
    try {
      toy::fit(t, epochs, all);
    } catch (error const& e) {
      CHECK(std::string(e.what()) == "crashed");
    }
    std::string names;
    for (auto const& [name, bytes] : files_of(here.path)) names += name + " ";
    return names;
  };
  CHECK(run(8, 4) == "best log.csv state ");
  auto const first = files_of(here.path);
  SECTION("the new run has fewer epochs: all is kept") {
    CHECK(run(4, 9) == "best log.csv log.csv.before state.before ");
    auto const second = files_of(here.path);
    for (char const* name : {"log.csv", "state"}) CHECK(second.at(std::string(name) + ".before") == first.at(name));
    CHECK(second.at("best") == first.at("best"));  // both runs have the same after four epochs
    SECTION("the earlier run goes on as if there had been no other") {
      for (char const* name : {"log.csv", "state"})
        std::filesystem::rename(here / (std::string(name) + ".before"), here / name);
      CHECK(run(8, 9, true) == "best log.csv ");
      CHECK(test::lines(contents(here / "log.csv")).size() == 9);
    }
    SECTION("the next run does not remove what the second has kept") {
      run(8, 9);
      auto const third = files_of(here.path);
      for (char const* name : {"log.csv", "state"}) CHECK(has_bytes(third, first.at(name)));
    }
  }
  SECTION("it has as many as the earlier run had begun: nothing tells of how many the best weights are") {
    CHECK(run(5, 9) == "best best.before log.csv ");
  }
  SECTION("it resumes: its files are its own") { CHECK(run(8, 9, true) == "best log.csv "); }
  SECTION("it is interrupted before its first step") {
    trainer t = toy::compiled();
    struct refuses : callback {
      void on_train_begin(fit_run&) override { throw error("no"); }
    };
    CHECK_THROWS(toy::fit(t, 8, {csv_logger(folder + "/log.csv"), refuses{}}));
    CHECK(files_of(here.path) == first);
  }
}

TEST_CASE("earlier_files: a name that is taken is never replaced", "[earlier]") {
  test::temporary_directory const here;
  std::string const path = here / "log";
  auto const put = [](std::string const& at, std::string const& text) { std::ofstream(at) << text; };
  put(path, "a run's"), put(path + ".before", "the user's"), std::filesystem::create_directory(path + ".before.2");
  std::filesystem::create_symlink("nowhere", path + ".before.3");
  earlier_files all;
  all.keep(path, "test", 1);  // of a run of one epoch
  REQUIRE(all.files().size() == 1);
  CHECK(all.files()[0].kept_as == path + ".before.4");
  CHECK(contents(path) == "a run's");
  auto const replace = [&](std::string const& text) {
    put(path + ".new", text), std::filesystem::rename(path + ".new", path);
  };
  all.keep(path, "test", 1);  // the write has failed, and is tried again
  CHECK(all.files().size() == 1);
  replace("own"), all.wrote(path);
  all.keep(path, "test");
  CHECK(all.is_own(path));
  CHECK(all.files().size() == 1);
  replace("somebody has renamed this file");
  CHECK_FALSE(all.is_own(path));
  all.keep(path, "test");
  REQUIRE(all.files().size() == 2);
  CHECK(contents(path + ".before.5") == "somebody has renamed this file");
  replace("own"), all.wrote(path);
  CHECK(contents(path + ".before.4") == "a run's");
  std::filesystem::create_symlink(path, here / "link");
  all.keep(here / "link", "test");
  all.keep(here / "none", "test");
  CHECK(all.files().size() == 2);
  put(path + ".other", "another's"), std::filesystem::rename(path + ".other", path + ".before.5");
  all.end(1);
  CHECK_FALSE(std::filesystem::exists(path + ".before.4"));
  CHECK(contents(path + ".before.5") == "another's");
  CHECK(contents(path) == "own");
  CHECK(contents(path + ".before") == "the user's");
  all.set_aside(path, "test", 3);
  CHECK_FALSE(std::filesystem::exists(path));
  all.end(2);
  CHECK(contents(path + ".before.4") == "own");
  CHECK(has(thrown<file_error>([&] { all.set_aside(here / "none", "test", 0); }),
            "test: " + here / "none" + " of an earlier run must be kept as "));
}

TEST_CASE("earlier_files: a file of a run of unknown length is not removed", "[earlier]") {
  test::temporary_directory const here;
  std::string const path = here / "best";
  std::ofstream(path) << "of a long run";
  earlier_files all;
  all.keep(path, "test");
  all.end(1'000);
  CHECK(contents(path + ".before") == "of a long run");
}

TEST_CASE("earlier_files: each file goes by the epochs of its own run", "[earlier]") {
  test::temporary_directory const here;
  auto const put = [&](char const* name, char const* text) { std::ofstream(here / name) << text; };
  earlier_files all;
  for (char const* name : {"log", "best", "state"}) put(name, name);
  all.keep(here / "best", "test");
  all.keep(here / "log", "test", 2);
  all.end(1);
  CHECK(files_of(here.path).size() == 5);
  all.end(2);  // the log tells of two epochs, the best weights of none
  CHECK(files_of(here.path) == std::map<std::string, std::string>{
                                   {"best", "best"}, {"best.before", "best"}, {"log", "log"}, {"state", "state"}});
  std::filesystem::rename(here / "best.before", here / "best");
  all = {};
  all.keep(here / "log", "test", 2), all.set_aside(here / "state", "test", 5);
  all.end(4);  // the log may be that of the state, whose run had begun another epoch
  CHECK(std::filesystem::exists(here / "log.before"));
  // What is kept is not kept once more, neither by this run nor by the next.
  all.keep(here / "log", "test", 2);
  all = {};
  all.keep(here / "log", "test", 2);
  CHECK(all.files().empty());
  CHECK_FALSE(std::filesystem::exists(here / "log.before.2"));
  // A file that appears later, because its folder was away, is no file of this run either.
  all.keep(here / "late", "test");
  put("late", "late");
  all.keep(here / "late", "test", 1, true);
  CHECK(contents(here / "late.before") == "late");
  CHECK_FALSE(std::filesystem::exists(here / "late"));  // for a writer that writes into the file that is there
  put("late", "late");
  all.wrote(here / "late");
  all.end(0);
  CHECK_FALSE(std::filesystem::exists(here / "late.before"));  // it has the same bytes
}

TEST_CASE("earlier_files: the files of a run that has ended tell its epochs", "[earlier]") {
  test::temporary_directory const here;
  auto const put = [&](char const* text) {
    std::filesystem::remove(here / "best");
    std::ofstream(here / "best") << text;
  };
  auto const run = [&](char const* text, int epochs) {
    earlier_files all;
    all.keep(here / "best", "test");
    put(text), all.wrote(here / "best");
    all.end(epochs);
    return files_of(here.path).size();
  };
  CHECK(run("three epochs", 3) == 1);
  std::string const mark = "user.typenet.epochs";
  if (::getxattr((here / "best").c_str(), mark.c_str(), nullptr, 0) < 0) return;  // not on this file system
  CHECK(run("two epochs", 2) == 2);
  CHECK(contents(here / "best.before") == "three epochs");
  CHECK(run("two epochs, again", 2) == 2);
  std::filesystem::remove(here / "best.before");
  CHECK(run("five epochs", 5) == 1);
  put("a user's");  // has no mark
  CHECK(run("nine epochs", 9) == 2);
  // A run that continues a file makes its mark untrue.
  earlier_files all;
  all.wrote(here / "best");
  CHECK(::getxattr((here / "best").c_str(), mark.c_str(), nullptr, 0) < 0);
}

TEST_CASE("earlier_files: a change in the middle of a large file is seen by a run that resumes", "[earlier]") {
  test::temporary_directory const here;
  std::string const path = here / "weights";
  std::string bytes(100'000, 'a');
  std::ofstream(path) << bytes;
  callback_state saved;
  earlier_files first;
  first.wrote(path);
  first.keep(here / "none", "test");
  first.state(saved);
  auto const resumed = [&] {
    callback_state s(saved.bytes(), "test");
    earlier_files second;
    second.state(s);
    second.keep(path, "test");
    return second.files().size();
  };
  CHECK(resumed() == 0);
  bytes[50'000] = 'b';
  std::ofstream(path) << bytes;
  CHECK(resumed() == 1);
}

TEST_CASE("earlier_files: a writer that fails does not fill the disk, and a link is no way into another's file",
          "[earlier]") {
  test::temporary_directory const here;
  trainer t = toy::compiled();
  auto const fit = [&](bool fails) {
    return test::warnings([&] {
      toy::fit(t, 4,
               {model_checkpoint<>(here / "best",
                                   {.save_weights_only = true, .writer = [&](trainer&, std::string const& path) {
                                      std::ofstream(path) << t.steps();
                                      if (fails && t.steps() > 0) throw file_error("full");
                                    }})});
    });
  };
  std::ofstream(here / "archive") << "of another run";
  std::filesystem::create_symlink(here / "archive", here / "best");
  fit(true);
  CHECK(contents(here / "archive") == "of another run");
  CHECK(std::filesystem::is_symlink(here / "best.before"));
  CHECK(files_of(here.path).size() == 3);
}

TEST_CASE("a writer that writes into an existing file does not write into the file that is kept", "[earlier]") {
  test::temporary_directory const here;
  std::ofstream(here / "weights") << "of another run";
  trainer t = toy::compiled();
  toy::fit(t, 2,
           {model_checkpoint<>(here / "weights",
                               {.save_weights_only = true, .writer = [](trainer&, std::string const& path) {
                                  std::ofstream(path) << "of this run";
                                }})});
  CHECK(contents(here / "weights") == "of this run");
  CHECK(contents(here / "weights.before") == "of another run");
}

TEST_CASE("a run that resumes replaces only files of its own", "[earlier]") {
  test::temporary_directory const here;
  std::string const folder = here.path.string();
  auto const run = [&](int crash_in, int save_every, bool append = false) {
    trainer t = toy::compiled();
    try {
      toy::fit(t, 6,
               {backup_and_restore(folder + "/state", {.save_freq = every_epochs(save_every), .verbose = false}),
                model_checkpoint<val_loss>(folder + "/best", {.save_best_only = true, .save_weights_only = true}),
                model_checkpoint<>(folder + "/{epoch}", {.save_weights_only = true}),
                model_checkpoint<>(folder + "/newest", {.save_weights_only = true}),
                csv_logger(folder + "/log.csv", {.append = append}), ends_in{crash_in, 0}});
    } catch (error const& e) {
      CHECK(std::string(e.what()) == "crashed");
    }
    std::string names;
    for (auto const& [name, bytes] : files_of(here.path)) names += name + " ";
    return names;
  };
  std::string const own = "1 2 3 4 5 6 best log.csv newest ";
  auto const put = [&](char const* name) { std::ofstream(here / name) << "another run's " << name; };
  SECTION("those that it wrote after its state, too: it writes the same again") {
    run(5, 2);
    CHECK(run(9, 2) == own);
  }
  SECTION("after each epoch, nothing else is left") {
    run(3, 1);
    run(5, 1);
    CHECK(run(9, 1) == own);
  }
  SECTION("others are kept") {
    run(3, 1);
    for (char const* name : {"3", "5", "best", "log.csv", "newest"}) put(name);
    run(9, 1);
    auto const files = files_of(here.path);
    for (char const* name : {"3", "5", "best", "log.csv", "newest"}) {
      INFO(name);
      CHECK(has_bytes(files, std::string("another run's ") + name));
    }
  }
  SECTION("rows that another run has appended are kept") {
    std::ofstream(here / "log.csv") << history_csv_header << "1,earlier row\n";
    run(3, 1, true);
    std::ofstream(here / "log.csv", std::ios::app) << "1,another run's row\n";
    std::string const both = contents(here / "log.csv");
    run(9, 1, true);
    CHECK(contents(here / "log.csv.before") == both);
    CHECK(has(contents(here / "log.csv"), "1,earlier row\n"));
    CHECK(test::lines(contents(here / "log.csv")).size() == 1 + 1 + 6);
  }
}

TEST_CASE("backup_and_restore: a state that is renamed to its file while it runs is neither replaced nor deleted",
          "[earlier]") {
  struct renames : callback {
    std::string path;
    int epoch;
    renames(std::string p, int e) : path(std::move(p)), epoch(e) {}
    void on_epoch_begin(fit_run& run) override {
      if (run.epoch == epoch) std::filesystem::rename(path + ".before", path);
    }
  };
  place const state = places()[0];
  for (int const epoch : {0, 1, 2})
    for (int const crash_in : {2, 99}) {
      INFO("renamed in epoch " << epoch << ", crashed in " << crash_in);
      test::temporary_directory const here;
      std::string const folder = here.path.string(), path = here / "state";
      fit(state, folder, 5, {ends_in{4, 0}});
      std::string const first = contents(path);
      fit(state, folder, 3, {renames{path, epoch}, ends_in{crash_in, 0}});
      CHECK(has_bytes(files_of(here.path), first));
    }
}

TEST_CASE("backup_and_restore: a file that is no state is refused, whether the run resumes or not", "[earlier]") {
  test::temporary_directory const here;
  std::string const path = here / "notes.txt";
  std::ofstream(path) << "my notes";
  std::ofstream(path + ".before") << "my older notes";
  trainer t = toy::compiled();
  for (bool const restore : {true, false}) {
    CHECK(has(thrown<file_error>([&] { toy::fit(t, 2, {backup_and_restore(path, {.restore = restore})}); }),
              path + " must be"));
    save_weights(t, here / "weights");
    CHECK(has(thrown<file_error>([&] { toy::fit(t, 2, {backup_and_restore(here / "weights", {.restore = restore})}); }),
              "found only weights, as save_weights writes them"));
  }
  CHECK(t.steps() == 0);
  CHECK(contents(path) == "my notes");
  CHECK(contents(path + ".before") == "my older notes");
  CHECK(files_of(here.path).size() == 3);
}

TEST_CASE("a file that could not be kept is not replaced by the next save either", "[earlier]") {
  test::temporary_directory const here;
  std::string const path = (here.path / std::string(252, 'x')).string();  // too long for a .before at its end
  std::ofstream(path) << "a run's";
  earlier_files all;
  for (int save = 0; save < 2; ++save) CHECK_THROWS_AS(all.keep(path, "test"), file_error);
  CHECK(all.files().empty());
  CHECK(contents(path) == "a run's");
}

TEST_CASE("no output has a name that is empty, has a NUL byte, or is a link of the system", "[earlier][hostile]") {
  test::temporary_directory const here;
  std::string const out = here / "out";
  std::filesystem::create_symlink("/proc/self/fd/1", here / "stdout");
  std::filesystem::create_symlink(here / "stdout", here / "second");
  trainer t = toy::compiled();
  history const h = toy::fit(t, 1, {});
  auto const training = [&](callback_handle const& c) { toy::fit(t, 1, {c}); };
  std::vector<std::pair<char const*, std::function<void(std::string const&)>>> const outputs{
      {"backup_and_restore", [&](auto& path) { training(backup_and_restore(path)); }},
      {"backup_and_restore anew", [&](auto& path) { training(backup_and_restore(path, {.restore = false})); }},
      {"checkpoint_each_epoch", [&](auto& path) { training(checkpoint_each_epoch{path}); }},
      {"model_checkpoint", [&](auto& path) { training(model_checkpoint<>(path)); }},
      {"csv_logger", [&](auto& path) { training(csv_logger(path)); }},
      {"tensorboard", [&](auto& path) { training(tensorboard(path)); }},
      {"plot_each_epoch", [&](auto& path) { training(plot_each_epoch(path)); }},
      {"plot", [&](auto& path) { plot(h, path); }},
      {"write_history_csv", [&](auto& path) { write_history_csv(h, path); }},
      {"write_checkpoint", [&](auto& path) { write_checkpoint("state", path); }},
      {"write_classes", [&](auto& path) { write_classes(classes_of(toy::pictures()), path); }},
      {"save_weights", [&](auto& path) { save_weights(t, path); }},
      {"save_embedded_weights", [&](auto& path) { save_embedded_weights(t, path); }},
      {"atomic_file", [&](auto& path) { atomic_file const file(path, "test"); }},
      {"file_lock", [&](auto& path) { file_lock const lock(path, "test"); }},
  };
  for (auto const& [name, write] : outputs) {
    bool const plots = std::string(name).starts_with("plot"), locks = std::string(name) == "file_lock";
    std::string const nul = plots ? std::string("\0.svg", 5) : std::string("\0more", 5);
    std::vector<std::string> paths{"", out + nul};
    if (!plots && !locks && std::string(name) != "tensorboard")
      paths.insert(paths.end(), {here / "stdout", here / "second", "/dev/stdout"});
    for (std::string const& path : paths) {
      INFO(name << ": " << path.c_str());
      std::string const said = thrown<file_error>([&, &save = write] { save(path); });
      INFO(said);
      CHECK((path.empty() ? has(said, "its name is empty") || has(said, "found nothing")
             : path[path.size() - 5] == '\0' || path.find('\0') != path.npos
                 ? has(said, "its name has a NUL byte after that")
                 : has(said, "it is a link of the system in /dev or /proc")));
    }
  }
  CHECK(t.steps() == 6);
  CHECK(files_of(here.path).empty());
  CHECK(std::filesystem::is_symlink(here / "stdout"));
  CHECK(std::filesystem::is_symlink("/dev/stdout"));
  CHECK_THROWS_AS(read_checkpoint(out + std::string("\0x", 2)), file_error);
}

TEST_CASE("backup_and_restore: a run with other data, augmentation, validation or callbacks says so", "[earlier]") {
  using network = dsl::network<features<2>, dense<2>, softmax>;
  struct rates : callback {
    double rate = 0.01;
    void on_epoch_begin(fit_run& run) override { run.learning_rate = rate; }
    void state(callback_state& s) override { s("rate", rate); }
  };
  auto const points = [](std::vector<float> x, std::vector<std::int32_t> labels) {
    return in_memory_classes({2}, std::move(x), 2, std::move(labels));
  };
  dataset const a = points({0, 0, 1, 1, 2, 2, 3, 3}, {0, 1, 0, 1});
  auto const said = [&](fit_options const& first, dataset const& before, fit_options const& second,
                        dataset const& now) {
    test::temporary_directory const here;
    auto const run = [&](fit_options o, dataset const& d, bool crashes) {
      trainer t = compile<network>(native{}, sgd{});
      o.epochs = 3, o.batch_size = 2;
      o.callbacks.emplace_back(backup_and_restore(here / "state", {.save_freq = every_batches(1), .verbose = false}));
      struct cut : callback {
        void on_batch_end(fit_run& r) override {
          if (r.epoch == 1 && r.step == 1) throw error("crashed");
        }
      };
      if (crashes) o.callbacks.emplace_back(cut{});
      try {
        t.fit(d, o);
      } catch (error const& e) {
        CHECK(std::string(e.what()) == "crashed");
      }
    };
    run(first, before, true);
    std::vector<std::string> const all = test::warnings([&] { run(second, now, false); });
    CHECK(all.size() <= 1);
    std::string text = all.empty() ? "" : all[0];
    for (std::size_t at; (at = text.find(here / "state")) != text.npos;) text.replace(at, (here / "state").size(), "X");
    return text;
  };
  std::string const end = "; the run continues, but its results will not be bit-identical";
  CHECK(said({}, a, {}, a).empty());
  CHECK(said({}, a, {}, points({0, 0, 1, 1, 2, 2, 3, 3}, {0, 1, 0, 1})).empty());  // the same, elsewhere in memory
  for (dataset const& other :
       {points({0, 0, 1, 1, 2, 2, 3, 4}, {0, 1, 0, 1}), points({0, 0, 1, 1, 2, 2, 3, 3}, {0, 1, 1, 0})}) {
    std::string const text = said({}, a, {}, other);
    CHECK(text.starts_with("checkpoint: X is from a run with training data 4 samples of 2x1x1 ("));
    CHECK(has(text, "), now 4 samples of 2x1x1 ("));
    CHECK(text.ends_with(")" + end));
  }
  CHECK(has(said({}, a, {}, points({0, 0, 1, 1, 2, 2, 3, 3, 4, 4}, {0, 1, 0, 1, 0})), "now 5 samples of 2x1x1 ("));
  CHECK(has(said({.validation = &a}, a, {}, a), "with validation data 4 samples of 2x1x1 ("));
  CHECK(said({.validation = &a}, a, {}, a).ends_with("), now none" + end));
  CHECK(said({.shuffle = false}, a, {}, a) == "checkpoint: X is from a run with shuffling off, now on" + end);
  CHECK(said({.callbacks = {rates{}}}, a, {}, a) ==
        "checkpoint: X is from a run with the callbacks rates 0, which this run does not have" + end);
  CHECK(said({.callbacks = {learning_rate_schedule{step_decay{0.01, 1}}}}, a, {}, a) ==
        "checkpoint: X is from a run with the callbacks learning_rate_schedule 0, which this run does not have" + end);
  CHECK(said({}, a, {.callbacks = {rates{}}}, a).empty());
}

TEST_CASE("backup_and_restore: an augmentation counts by what it draws, in later epochs, too", "[earlier]") {
  auto const said = [](augmentation const& before, augmentation const& now, int epochs = 3) {
    test::temporary_directory const here;
    dataset const data = toy::pictures();
    auto const run = [&](augmentation const& by, int n, int crash_in) {
      trainer t = toy::compiled();
      try {
        t.fit(data, {.epochs = n,
                     .batch_size = 8,
                     .augment = by,
                     .callbacks = {backup_and_restore(here / "state", {.verbose = false}), ends_in{crash_in, 0}}});
      } catch (error const& e) {
        CHECK(std::string(e.what()) == "crashed");
      }
    };
    run(before, 3, 2);
    std::vector<std::string> const all = test::warnings([&] { run(now, epochs, 99); });
    CHECK(all.size() <= 1);
    return all.empty() ? "" : all[0];
  };
  CHECK(said({}, {}).empty());
  CHECK(said(shift_and_flip{}, shift_and_flip{}).empty());
  CHECK(said(shift_and_flip{}, shift_and_flip{}, 5).empty());  // more epochs are no other augmentation
  CHECK(has(said(shift_and_flip{}, {}), "with augmentation a policy ("));
  CHECK(has(said({}, shift_and_flip{}), "with augmentation none, now a policy ("));
  CHECK(has(said(shift_and_flip{}, shift_and_flip{.width = 0.3}), "augmentation a policy ("));
  CHECK(has(said(cutout{.size = 2, .epochs = 50}, cutout{.size = 2, .epochs = 51}), "augmentation a policy ("));
}
