// SPDX-License-Identifier: MIT
// Plots that are drawn again while a training runs, by a gnuplot that keeps what it was told.
#include "support/catch.hpp"
#include "support/temporary_directory.hpp"
#include "support/toy_training.hpp"
#include "support/warnings.hpp"
#include "support/words.hpp"

#include <dsl/io/backup_and_restore.hpp>
#include <dsl/io/plot_each_epoch.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include <stdlib.h>
#include <unistd.h>

using namespace dsl;
using test::toy;

using dsl::test::contents;

namespace {

namespace fs = std::filesystem;

/// First on PATH while it lives. `last` are shell commands after the picture, in which $n counts from 0.
struct fake_gnuplot {
  test::temporary_directory bin{};
  std::string before = std::getenv("PATH");

  explicit fake_gnuplot(std::string const& last = "") {
    std::ofstream(bin / "gnuplot") << "#!/bin/sh\nn=$(ls \"$0\".* 2>/dev/null | wc -l)\ncat >\"$0.$n\"\n"
                                   << last << "\nprintf \"%200s$n<svg></svg>IEND\"\n";
    fs::permissions(bin / "gnuplot", fs::perms::owner_all);
    ::setenv("PATH", (bin.path.string() + ":" + before).c_str(), 1);
  }
  fake_gnuplot(fake_gnuplot const&) = delete;
  fake_gnuplot& operator=(fake_gnuplot const&) = delete;
  ~fake_gnuplot() { ::setenv("PATH", before.c_str(), 1); }

  std::string script(int n) const { return contents(bin / ("gnuplot." + std::to_string(n))); }
  /// The epochs, from 1, that each picture shows; the trial's one among them.
  std::vector<std::vector<int>> drawn() const {
    std::vector<std::vector<int>> all;
    for (int n = 0; fs::exists(bin / ("gnuplot." + std::to_string(n))); ++n) {
      std::string const text = script(n);
      all.emplace_back();
      for (std::size_t at = text.find('\n') + 1; text.compare(at, 4, "END\n") != 0; at = text.find('\n', at) + 1)
        all.back().push_back(std::atoi(text.c_str() + at));
    }
    return all;
  }
};
using pictures = std::vector<std::vector<int>>;
plot_each_epoch_options const always{.most_time = 1};

struct killed {};
struct killer : callback {
  void on_batch_end(fit_run& run) override {
    if (run.epoch == 2 && run.step == 1) throw killed{};
  }
};

}  // namespace

TEST_CASE("plot: a program that was started without a standard input draws, too", "[text]") {
  fake_gnuplot const gnuplot;
  test::temporary_directory const here;
  history h;
  h.epochs.resize(2);
  int const kept = ::dup(0);
  ::close(0);  // and the picture's file is there
  std::string said;
  try {
    plot(h, here / "plot.svg");
  } catch (file_error const& e) {
    said = e.what();
  }
  if (kept >= 0) ::dup2(kept, 0), ::close(kept);
  CHECK(said == "");
  CHECK(gnuplot.script(0).find("set title") != std::string::npos);
  CHECK(contents(here / "plot.svg").ends_with("IEND"));
}

TEST_CASE("plot_each_epoch: after every epoch a picture of all so far, whole", "[plot]") {
  test::temporary_directory const here;
  fake_gnuplot const gnuplot;
  struct look : callback {
    std::string path;
    std::vector<std::string> seen{};
    explicit look(std::string p) : path(std::move(p)) {}
    void on_epoch_end(fit_run&) override { seen.push_back(contents(path)); }
  };
  auto const looked = std::make_shared<look>(here / "a/run.png");
  trainer t = toy::compiled();
  toy::fit(t, 3, {plot_each_epoch(here / "a/run.png", {.plot = {.title = "a run"}, .most_time = 1}), looked});
  CHECK(gnuplot.drawn() == pictures{{1}, {1}, {1, 2}, {1, 2, 3}});
  for (int n : {1, 2, 3}) {
    CHECK(gnuplot.script(n).find("set title \"a run\"") != std::string::npos);
    CHECK(looked->seen[static_cast<std::size_t>(n - 1)].ends_with(std::to_string(n) + "<svg></svg>IEND"));
  }
  CHECK(std::distance(fs::directory_iterator(here.path / "a"), {}) == 1);
}

TEST_CASE("plot_each_epoch: both formats", "[plot]") {
  test::temporary_directory const here;
  trainer t = toy::compiled();
  toy::fit(t, 2, {plot_each_epoch(here / "run.png"), plot_each_epoch(here / "run.svg")});  // by the real one
  CHECK(contents(here / "run.png").starts_with("\x89PNG"));
  CHECK(contents(here / "run.svg").find("val_acc") != std::string::npos);
}

TEST_CASE("plot_each_epoch: it takes no more of the time than it may, and draws the last epoch", "[plot]") {
  test::temporary_directory const here;
  fake_gnuplot const gnuplot("sleep 0.3");
  trainer t = toy::compiled();
  toy::fit(t, 6, {plot_each_epoch(here / "run.svg")});
  CHECK(gnuplot.drawn() == pictures{{1}, {1}, {1, 2, 3, 4, 5, 6}});
}

TEST_CASE("plot_each_epoch: a run that goes on is drawn from its beginning", "[plot][resume]") {
  test::temporary_directory const here;
  fake_gnuplot const gnuplot;
  auto const run = [&](std::vector<callback_handle> more) {
    trainer t = toy::compiled();
    more.insert(more.begin(), {backup_and_restore(here / "state"), plot_each_epoch(here / "run.png", always)});
    toy::fit(t, 4, more);
  };
  CHECK_THROWS_AS(run({killer{}}), killed);
  run({});
  CHECK(gnuplot.drawn() == pictures{{1}, {1}, {1, 2}, {1}, {1, 2, 3}, {1, 2, 3, 4}});

  {  // killed after its last epoch, which is drawn when it goes on, although none is left
    fake_gnuplot const slow("sleep 0.3");
    struct killed_at_the_end : callback {
      void on_train_end(fit_run&) override { throw killed{}; }
    };
    auto const to_the_end = [&](std::vector<callback_handle> more) {
      trainer t = toy::compiled();
      more.insert(more.end(), {backup_and_restore(here / "late"), plot_each_epoch(here / "late.png")});
      toy::fit(t, 4, more);
    };
    CHECK_THROWS_AS(to_the_end({killed_at_the_end{}}), killed);
    to_the_end({});
    CHECK(slow.drawn() == pictures{{1}, {1}, {1}, {1, 2, 3, 4}});
  }
  fake_gnuplot const another;
  trainer t = toy::compiled();
  history const first = toy::fit(t, 2, {});
  dataset const data = toy::pictures();
  t.fit(data, {.epochs = 4,
               .batch_size = 8,
               .callbacks = {plot_each_epoch(here / "run.png", always, first)},
               .initial_epoch = 2});
  CHECK(another.drawn() == pictures{{1}, {1, 2, 3}, {1, 2, 3, 4}});
}

TEST_CASE("plot_each_epoch: where it fails it says so once, and training goes on", "[plot]") {
  test::temporary_directory const here;
  fake_gnuplot const gnuplot("[ $n -lt 2 ] || { echo no ink >&2; exit 3; }");
  trainer t = toy::compiled();
  test::warnings_kept const warned;
  CHECK(toy::fit(t, 4, {plot_each_epoch(here / "run.png", always)}).epochs.size() == 4);
  REQUIRE(test::warnings_kept::said.size() == 1);
  CHECK(test::warnings_kept::said[0].starts_with("plot: gnuplot failed (version 5 or later is needed): no ink"));
  CHECK(contents(here / "run.png").ends_with("1<svg></svg>IEND"));  // the first epoch's
  CHECK(gnuplot.drawn().size() == 5);                               // it tried again
}

TEST_CASE("plot_each_epoch: what can't be is known before the first step; other processes draw nothing", "[plot]") {
  test::temporary_directory const here;
  trainer t = toy::compiled();
  CHECK_THROWS_AS(toy::fit(t, 1, {plot_each_epoch(here / "deep/run.gif")}), file_error);
  CHECK(here.empty());
  CHECK_THROWS_AS(toy::fit(t, 1, {plot_each_epoch("/proc/run.png")}), file_error);
  {
    fake_gnuplot const bad("exit 1");
    CHECK_THROWS_AS(toy::fit(t, 1, {plot_each_epoch(here / "run.png")}), file_error);
  }
  CHECK(t.steps() == 0);
  plot_each_epoch c(here / "deep/run.png", always);
  fit_run other{.trainer = t, .epochs = 1, .steps = 6, .batch_size = 8, .leads = false};
  c.on_train_begin(other);
  other.past.epochs.push_back({});
  c.on_epoch_end(other);
  c.on_train_end(other);
  CHECK(here.empty());
}
