// SPDX-License-Identifier: MIT
// Records what a training writes, and tries every state that a power failure may leave of it: a reader must find an old
// or a new file, never a mixture, and the training must resume and end with the same bytes.
#include "support/catch.hpp"
#include "support/crash_states.hpp"
#include "support/extent.hpp"
#include "support/saved_runs.hpp"
#include "support/temporary_directory.hpp"
#include "support/warnings.hpp"

#include <dsl/io/checkpoint.hpp>
#include <dsl/io/csv_logger.hpp>

#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <sstream>

using namespace dsl;
using namespace dsl::test;
using recorded::event;
using recorded::files;

namespace {

constexpr char const* atomic_names[] = {"run.state", "best", "weights"};
constexpr long most_states = 100'000;

/// Without the two columns of times at the end of each row.
std::string without_times(std::string const& rows) {
  std::istringstream in(rows);
  std::string all, row;
  while (std::getline(in, row)) {
    for (int i = 0; i < 2; ++i) row.resize(std::min(row.size(), row.rfind(',')));
    all += row + '\n';
  }
  return all;
}

/// Trains, or goes on with the training in the folder, and returns what it has computed and left.
files trained_in(std::filesystem::path const& folder) {
  auto const name = [&](char const* file) { return (folder / file).string(); };
  saved_run_of run("sgd");
  history const h =
      run.fit({model_checkpoint<val_loss>{name("best"), {.save_best_only = true, .save_weights_only = true}},
               csv_logger{name("log.csv")},
               backup_and_restore{name("run.state"), {.save_freq = every_batches(4), .verbose = false}}});
  save_weights(run.trainer, name("weights"));
  files all;
  for (auto const& entry : std::filesystem::directory_iterator(folder))
    all[entry.path().filename().string()] = bytes_of(entry.path().string());
  all["log.csv"] = without_times(all["log.csv"]);
  all["what fit returned"] = run.outcome(h);
  return all;
}

struct recorded_run {
  std::vector<event> events;
  files left;
  bool complete = false;  // whether the events explain what is in the folder

  recorded_run() {
    temporary_directory const here;
    recorded::folder watch(here.path.string());
    left = trained_in(here.path);
    files from_events = watch.files();
    complete = from_events.contains("log.csv");
    from_events["log.csv"] = without_times(from_events["log.csv"]);
    from_events["what fit returned"] = left["what fit returned"];
    complete = complete && from_events == left;
    events = watch.events;
  }
};
recorded_run const& the_run() {
  static recorded_run const once;
  return once;
}

/// What may be found under a name after a crash: its content, or nothing, when the folder was last synced, and all
/// later ones.
class promise {
 public:
  promise(std::vector<event> const& events, std::string const& name) : name_(name) {
    std::map<int, std::string> contents;
    std::vector<found> versions{std::nullopt};
    for (event const& e : events) {
      allowed_.push_back(versions);
      if (e.what == event::content) contents[e.file] = e.bytes;
      if (e.what == event::rename && e.name == name) versions.emplace_back(contents[e.file]);
      if (e.what == event::unlink && e.name == name) versions.emplace_back(std::nullopt);
      if (e.what == event::sync_folder) versions.erase(versions.begin(), versions.end() - 1);
    }
    allowed_.push_back(versions);
  }
  bool is_kept(std::size_t n, files const& state) const {
    auto const it = state.find(name_);
    found const now = it == state.end() ? found() : found(it->second);
    return std::find(allowed_[n].begin(), allowed_[n].end(), now) != allowed_[n].end();
  }

 private:
  using found = std::optional<std::string>;
  std::string name_;
  std::vector<std::vector<found>> allowed_;  // after n events
};

/// Counts the states that `events` may leave and in which a promise that was made by the whole run is broken.
long broken_promises(std::vector<event> const& events) {
  std::vector<promise> all;
  for (char const* name : atomic_names) all.emplace_back(the_run().events, name);
  long broken = 0;
  recorded::crash_states(events, most_states).visit([&](std::size_t n, files const& state) {
    for (promise const& p : all) broken += !p.is_kept(n, state);
  });
  return broken;
}

}  // namespace

TEST_CASE("the record explains the folder", "[crash]") {
  CHECK(the_run().complete);
  CHECK(the_run().left.size() == 4);  // best, log.csv, weights, and what fit returned
}

TEST_CASE("after a power failure a file is an old or a new one, never a mixture", "[crash]") {
  CHECK(broken_promises(the_run().events) == 0);
}

TEST_CASE("each fsync that is left out is caught", "[crash]") {
  std::vector<event> const& all = the_run().events;
  int tried = 0;
  for (std::size_t i = 0; i + 2 < all.size(); ++i) {
    // A file is synced, renamed, and its folder is synced.
    bool const commits = all[i].what == event::sync_file && all[i + 1].what == event::rename &&
                         all[i + 1].file == all[i].file && all[i + 2].what == event::sync_folder;
    if (!commits ||
        std::find(std::begin(atomic_names), std::end(atomic_names), all[i + 1].name) == std::end(atomic_names))
      continue;
    for (std::size_t left_out : {i, i + 2}) {
      std::vector<event> events = all;
      events[left_out] = {event::nothing};
      INFO("event " << left_out << ", " << all[i + 1].name);
      CHECK(broken_promises(events) > 0);
      ++tried;
    }
    if (only_a_sample() && tried >= 4) break;
  }
  CHECK(tried >= 4);
}

TEST_CASE("after a power failure a training resumes and ends with the same bytes", "[crash]") {
  std::set<files> seen;
  long runs = 0, wrong = 0;
  long const of_states =
      recorded::crash_states(the_run().events, most_states).visit([&](std::size_t n, files const& state) {
        if (!seen.insert(state).second || wrong > 3) return;
        if (!everything() && seen.size() % 8 != 1) return;
        temporary_directory const here;
        for (auto const& [name, bytes] : state) std::ofstream(here / name, std::ios::binary) << bytes;
        ++runs;
        files left;
        std::string said;
        warnings_kept const kept;
        try {
          left = trained_in(here.path);
        } catch (std::exception const& e) {
          said = e.what();
        }
        if (left == the_run().left) return;
        ++wrong;
        for (auto const& [name, bytes] : state)
          said += "; there was " + name + ", " + std::to_string(bytes.size()) + " bytes";
        for (auto const& [name, bytes] : left)
          if (!the_run().left.contains(name) || the_run().left.at(name) != bytes) said += "; " + name + " differs";
        INFO("after event " << n << ": " << said);
        CHECK(left == the_run().left);
      });
  WARN(of_states << " states after " << the_run().events.size() << " events, " << seen.size() << " different ones, "
                 << runs << " trainings");
  CHECK(runs > 20);
}
