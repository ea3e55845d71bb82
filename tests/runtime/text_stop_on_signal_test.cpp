// SPDX-License-Identifier: MIT
// Tests a run whose process is asked to end: it writes its state, and a run resumed from it ends with the same bits.
#include "support/catch.hpp"
#include "support/temporary_directory.hpp"
#include "support/toy_training.hpp"
#include "support/warnings.hpp"
#include "support/words.hpp"

#include <dsl/callbacks.hpp>
#include <dsl/text.hpp>
#include <dsl/training/weights.hpp>

#include <csignal>
#include <cstdint>
#include <ctime>
#include <filesystem>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace dsl;
using test::has;
using test::thrown;
using test::toy;

namespace {

bool exists(std::string const& path) { return std::filesystem::exists(path); }

/// Does something in the last moment of a step or an epoch.
struct at_moment : callback {
  int epoch;
  std::int64_t step;  // -1: at the end of the epoch
  std::function<void()> what;
  at_moment(int e, std::int64_t s, std::function<void()> f) : epoch(e), step(s), what(std::move(f)) {}
  void on_batch_end(fit_run& run) override {
    if (run.epoch == epoch && run.step == step) what();
  }
  void on_epoch_end(fit_run& run) override {
    if (run.epoch == epoch && step < 0) what();
  }
};
at_moment signal_at(int epoch, std::int64_t step, int signal = SIGINT) {
  return {epoch, step, [=] { ::raise(signal); }};
}

std::uint64_t weights(trainer& t) { return detail::fingerprint_of(t.engine()); }
backup_options quiet() { return {.verbose = false}; }

void (*handler_of(int signal))(int) {
  struct sigaction now{};
  REQUIRE(::sigaction(signal, nullptr, &now) == 0);
  return now.sa_handler;
}
void own_handler(int) {}

/// Returns where the run ended, from fit's message.
std::string ended(trainer& t, int epochs, std::vector<callback_handle> const& callbacks, bool validation = true,
                  std::optional<weight_average> const& average = {}) {
  return thrown<interrupted>([&] { toy::fit(t, epochs, callbacks, validation, average); });
}

}  // namespace

TEST_CASE("stop_on_signal: a run that is interrupted anywhere resumes to the same bits", "[signals]") {
  test::temporary_directory const here;
  std::string const path = here / "state";
  for (bool const validation : {true, false})
    for (std::optional<weight_average> const& average :
         {std::optional<weight_average>{}, std::optional(weight_average{.start_from_epoch = 1, .every = 2})}) {
      trainer whole = toy::compiled();
      history const wanted = toy::fit(whole, 3, {}, validation, average);
      for (int epoch = 0; epoch < 3; ++epoch)
        for (std::int64_t const step : {0, 2, 4, 5, -1}) {
          bool const averaged = average && epoch >= 1;
          INFO("epoch " << epoch << ", step " << step << ", validation " << validation << ", average " << averaged);
          auto const backup = std::make_shared<backup_and_restore>(path, quiet());
          trainer t = toy::compiled();
          std::string const said = ended(t, 3, {backup, stop_on_signal{}, signal_at(epoch, step)}, validation, average);
          if (epoch == 2 && step == -1) {  // the run is over: all numbers are known
            CHECK(said == "nothing");
            CHECK(stop_on_signal::received() == SIGINT);
          } else {
            // The signal comes when a step's loss is known, and is seen with the next one. After an epoch's last step,
            // that is validation's first batch; without validation, or if it evaluates the average, it is the next
            // epoch's first step.
            std::string const end = "fit: interrupted by signal 2 after ";
            std::string const next = "epoch " + std::to_string(epoch + 1);
            bool const to_end = step == 4 && (!validation || averaged);
            std::string const in_epoch = "batch " + std::to_string(step + 2) + " of 6 of " + next + " of 3";
            if (step >= 0 && step < 4)
              CHECK(said == end + in_epoch);
            else if (step == 4 && !to_end)
              CHECK(said == end + "batch 6 of 6 of " + next + " of 3");
            else if (step == 4 || (step == 5 && validation && averaged))
              CHECK(said == end + next + " of 3");
            else if (step == 5 && validation)
              CHECK(said == end + "batch 6 of 6 of " + next + " of 3");
            else if (epoch < 2)
              CHECK(said == end + "batch 1 of 6 of epoch " + std::to_string(epoch + 2) + " of 3");
            if (said == "nothing") {
              CHECK((epoch == 2 && step == 5 && !validation));
            } else {
              CHECK(exists(path));
              CHECK(backup->saved());
            }
          }
          if (said != "nothing") {
            trainer again = toy::compiled();
            CHECK(test::figures(toy::fit(again, 3, {backup_and_restore(path, quiet())}, validation, average)) ==
                  test::figures(wanted));
            CHECK(weights(again) == weights(whole));
          }
          CHECK_FALSE(exists(path));
        }
    }
}

TEST_CASE("stop_on_signal: handlers are there while fit runs, and those before come back", "[signals]") {
  auto* const of_the_tests = std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, &own_handler);
  std::signal(SIGHUP, SIG_IGN);
  struct look : callback {
    void on_batch_end(fit_run&) override {
      CHECK(handler_of(SIGINT) != SIG_DFL);
      CHECK(handler_of(SIGTERM) != &own_handler);
      CHECK(handler_of(SIGHUP) == SIG_IGN);  // as nohup leaves it
      CHECK(handler_of(SIGUSR1) == SIG_DFL);
    }
  };
  auto const as_before = [] {
    CHECK(handler_of(SIGINT) == SIG_DFL);
    CHECK(handler_of(SIGTERM) == &own_handler);
    CHECK(handler_of(SIGHUP) == SIG_IGN);
  };
  stop_on_signal const made;
  as_before();
  trainer t = toy::compiled();
  toy::fit(t, 1, {made, look{}, stop_on_signal{}});
  as_before();
  CHECK(stop_on_signal::received() == 0);
  std::vector<callback_handle> const all{stop_on_signal{SIGUSR2}, signal_at(0, 1, SIGUSR2)};
  CHECK(has(ended(t, 1, all), "by signal 12 after batch 3 of 6"));
  CHECK(handler_of(SIGUSR2) == SIG_DFL);
  CHECK_THROWS_AS(toy::fit(t, 1, {stop_on_signal{}, at_moment{0, 1, [] { throw error("other"); }}}), error);
  as_before();
  std::signal(SIGINT, of_the_tests);
  std::signal(SIGTERM, of_the_tests);
  std::signal(SIGHUP, SIG_DFL);
  for (int const none : {0, -1, 65, 1000, SIGKILL, SIGSTOP})
    CHECK(has(thrown<option_error>([&] { stop_on_signal{none}; }),
              "stop_on_signal: it must be a signal that a process may handle; found " + std::to_string(none)));
}

namespace {

/// The milliseconds that have passed by the clock of this program; -1: by the system's.
std::int64_t clock_ms = -1;

}  // namespace

/// The clock that a handler reads.
extern "C" int clock_gettime(clockid_t which, timespec* to) noexcept {
  if (clock_ms < 0 || which != CLOCK_MONOTONIC) return static_cast<int>(::syscall(SYS_clock_gettime, which, to));
  *to = {1000 + clock_ms / 1000, clock_ms % 1000 * 1'000'000};
  return 0;
}

TEST_CASE("stop_on_signal: the second signal ends the process at once, unless it is the same within a second",
          "[signals]") {
  struct second {
    int signal;
    std::int64_t after_ms;
    bool ends;
  };
  for (second const& s : {second{SIGINT, 0, false},
                          {SIGINT, 1, false},
                          {SIGINT, 999, false},
                          {SIGINT, 1000, true},
                          {SIGINT, 60'000, true},
                          {SIGTERM, 0, true},
                          {SIGTERM, 1000, true}}) {
    INFO("signal " << s.signal << " after " << s.after_ms << " ms");
    test::temporary_directory const here;
    pid_t const child = ::fork();
    if (child == 0) {
      for (int const each : {SIGINT, SIGTERM}) std::signal(each, SIG_DFL);
      trainer t = toy::compiled();
      clock_ms = 0;
      try {
        toy::fit(t, 2,
                 {stop_on_signal{}, signal_at(0, 1, SIGINT), at_moment{0, 1, [&] { clock_ms = s.after_ms; }},
                  signal_at(0, 1, s.signal), backup_and_restore(here / "state", quiet())});
      } catch (interrupted const& e) {
        ::_exit(e.signal);
      }
      ::_exit(0);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(WIFSIGNALED(status) == s.ends);
    if (s.ends)
      CHECK(WTERMSIG(status) == s.signal);
    else
      CHECK(WEXITSTATUS(status) == SIGINT);
    CHECK(exists(here / "state") == !s.ends);
  }
}

TEST_CASE("end_by_signal: the process ends by it, handled and blocked as it may be", "[signals]") {
  pid_t const child = ::fork();
  if (child == 0) {
    std::signal(SIGTERM, &own_handler);
    sigset_t all;
    ::sigfillset(&all);
    ::sigprocmask(SIG_BLOCK, &all, nullptr);
    end_by_signal(SIGTERM);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WIFSIGNALED(status));
  CHECK(WTERMSIG(status) == SIGTERM);
}

TEST_CASE("an interrupted run without a callback that keeps its state ends all the same", "[signals]") {
  struct flag : callback {
    int asked = 0;  // set by another thread, such as a window's
    void on_train_begin(fit_run& run) override { run.interrupt = &asked; }
    void on_batch_end(fit_run& run) override { asked = run.step == 2 ? 1 : asked; }
  };
  trainer t = toy::compiled();
  try {
    toy::fit(t, 2, {flag{}});
    FAIL("it was not interrupted");
  } catch (interrupted const& e) {
    CHECK(e.signal == 1);
  }
  CHECK(t.steps() == 5);  // seen with the fourth loss; the fifth says whether the state after the fourth is valid
}

TEST_CASE("an interrupted run whose weights break keeps the last good state", "[signals]") {
  test::temporary_directory const here;
  std::string const path = here / "state";
  struct poison : callback {  // in the step after which the signal is seen
    void on_batch_end(fit_run& run) override {
      if (run.epoch != 1 || run.step != 4) return;
      std::vector<float> weights = detail::read_weights(run.trainer.engine());
      weights[0] = std::numeric_limits<float>::quiet_NaN();
      detail::write_weights(run.trainer.engine(), weights);
    }
  };
  trainer t = toy::compiled();
  auto const backup = std::make_shared<backup_and_restore>(path, quiet());
  CHECK(has(thrown<training_error>([&] { toy::fit(t, 2, {backup, stop_on_signal{}, signal_at(1, 3), poison{}}); }),
            "in epoch 2, batch 6"));
  CHECK_FALSE(backup->saved());
  trainer again = toy::compiled();
  CHECK(toy::fit(again, 2, {backup_and_restore(path, quiet())}).epochs.size() == 2);  // from the end of the first epoch
}

TEST_CASE("an interrupted run that can't write its state says so, and has not lost the one before", "[signals]") {
  test::temporary_directory const here;
  std::string const path = here / "state";
  auto const backup = std::make_shared<backup_and_restore>(path, quiet());
  trainer t = toy::compiled();
  std::vector<std::string> const said = test::warnings([&] {
    CHECK(ended(t, 3,
                {backup, stop_on_signal{},
                 at_moment{1, 1, [&] { std::filesystem::permissions(path, std::filesystem::perms::owner_read); }},
                 signal_at(1, 1)}) == "fit: interrupted by signal 2 after batch 3 of 6 of epoch 2 of 3");
  });
  REQUIRE(said.size() == 1);
  CHECK(has(said[0], ": it is read-only; make it writable"));
  CHECK_FALSE(backup->saved());
  CHECK(exists(path));
}
