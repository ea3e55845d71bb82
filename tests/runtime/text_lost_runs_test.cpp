// SPDX-License-Identifier: MIT
// Draws sequences of what users do with runs and their files (start, kill, Ctrl-C, resume, forget to resume, rename,
// other folder, other data, a full disk, two at once, an older version's files), and looks for a loss that only a later
// command shows. A sequence that finds one is shrunk and printed. TYPENET_SEQUENCES sets how many there are;
// TYPENET_SEQUENCE is the number of one to repeat, with TYPENET_SHOW each command of which prints what is then on disk.
#include "support/catch.hpp"
#include "support/extent.hpp"
#include "support/users_disk.hpp"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

using namespace dsl::test;
using users::command;
using users::finding;

namespace {

int sequences() {
  char const* const asked = std::getenv("TYPENET_SEQUENCES");
  return asked ? std::atoi(asked) : everything() ? 10'000 : only_a_sample() ? 20 : 500;
}

struct outcome {
  std::size_t commands = 0;  // until the finding
  std::optional<finding> wrong{};
};

users::programs const& others() {
  static temporary_directory const bin;
  static users::programs const all = [] {
    std::string const gnuplot = bin / "gnuplot";
    users::put(gnuplot, "#!/bin/sh\nprintf '%200s</svg>'\n");
    std::filesystem::permissions(gnuplot, std::filesystem::perms::owner_all);
    return users::programs{.onnx_to_typenet = TYPENET_ONNX_TO_TYPENET,
                           .minigooglenet_cifar = TYPENET_MINIGOOGLENET_CIFAR,
                           .moments_preloaded = TYPENET_MOMENTS_PRELOADED,
                           .path = bin.path.string() + ":" + std::getenv("PATH")};
  }();
  return all;
}

/// Enters the commands in an empty folder, until one of them breaks a promise.
outcome enter(std::vector<command> const& all) {
  static std::string const older = users::bytes_at(TYPENET_TEST_DATA "/states/lost_runs.state");
  static std::string const onnx = users::bytes_at(TYPENET_TEST_DATA "/../fuzz/corpus/onnx/good_chain");
  temporary_directory const here;
  std::filesystem::path const outside = std::filesystem::current_path();
  std::filesystem::current_path(here.path);
  outcome o;
  {
    users::disk disk(older, others(), onnx);
    for (command const& c : all) {
      o.commands += 1;
      o.wrong = disk.enter(c);
      if (std::getenv("TYPENET_SHOW")) std::printf("%s\n%s", c.text().c_str(), disk.listing().c_str());
      if (o.wrong) break;
    }
  }
  std::filesystem::current_path(outside);
  return o;
}

/// Returns the shortest sequence of the simplest commands that breaks the same promise.
std::vector<command> shrunk(std::vector<command> all, std::string const& rule) {
  auto const still = [&](std::vector<command> const& tried) {
    outcome const o = enter(tried);
    return o.wrong && o.wrong->rule == rule;
  };
  auto const change = [&](std::size_t i, auto make) {
    std::vector<command> tried = all;
    make(tried[i]);
    if (tried[i].text() == all[i].text() || !still(tried)) return false;
    all = std::move(tried);
    return true;
  };
  for (bool again = true; again;) {
    again = false;
    for (std::size_t i = all.size(); i-- > 0;) {
      std::vector<command> fewer = all;
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
      if (still(fewer)) all = std::move(fewer), again = true;
    }
    for (std::size_t i = 0; i < all.size(); ++i) {
      again |= change(i, [&](command& c) { c.disturbed.clear(); });
      for (std::size_t k = all[i].disturbed.size(); k-- > 0;)
        again |=
            change(i, [&](command& c) { c.disturbed.erase(c.disturbed.begin() + static_cast<std::ptrdiff_t>(k)); });
      again |= change(i, [&](command& c) { c.restore = true; });
      again |= change(i, [&](command& c) { c.curves = false; });
      again |= change(i, [&](command& c) { c.append = false; });
      again |= change(i, [&](command& c) { c.removes_last = false; });
      again |= change(i, [&](command& c) { c.folder.clear(); });
      again |= change(i, [&](command& c) { c.data = 0; });
      again |= change(i, [&](command& c) { c.augments = false, c.validates = true; });
      again |= change(i, [&](command& c) { c.save_every = 0; });
      again |= change(i, [&](command& c) { c.epochs = 3; });
    }
  }
  return all;
}

std::string as_text(std::vector<command> const& all) {
  std::string text;
  for (command const& c : all) text += "  " + c.text() + "\n";
  return text;
}

/// Tries `count` sequences, and prints the shortest one for each promise that is broken.
void try_sequences(int count, bool example) {
  char const* const asked = std::getenv("TYPENET_SEQUENCE");
  int const first = asked ? std::atoi(asked) : 0;
  int const last = asked ? first + 1 : count;
  std::map<std::string, int> found;
  std::size_t commands = 0;
  for (int seed = first; seed < last; ++seed) {
    std::vector<command> const all = users::drawn_commands(static_cast<std::uint64_t>(seed), example);
    outcome const o = enter(all);
    commands += o.commands;
    if (!o.wrong || found[o.wrong->rule]++ > 0) continue;
    std::fprintf(stderr, "sequence %d: %s: %s; looking for a shorter one\n", seed, o.wrong->rule.c_str(),
                 o.wrong->text.c_str());
    std::vector<command> const shortest = shrunk(all, o.wrong->rule);
    outcome const again = enter(shortest);
    FAIL_CHECK("sequence " << seed << ": " << o.wrong->rule << "; in short:\n"
                           << as_text(shortest) << (again.wrong ? again.wrong->text : "not again"));
  }
  std::string table;
  for (auto const& [rule, times] : found) table += "; " + rule + " " + std::to_string(times);
  WARN(last - first << " sequences, " << commands << " commands" << table);
}

}  // namespace

TEST_CASE("runs and files: whatever a user enters, no run is lost and no file destroyed", "[drawn]") {
  try_sequences(sequences(), false);
}

TEST_CASE("runs and files: the sequences that have found something", "[lost]") {
  using enum moments::action;
  std::string const kept = "kept";
  std::vector<std::vector<command>> const all{
      // Ctrl-C and a normal end after fewer epochs deleted the earlier run's state; so did a third run.
      {{.epochs = 5, .disturbed = {{95, kill}}}, {.restore = false, .disturbed = {{70, interrupt}}}},
      {{.epochs = 5, .save_every = 1, .disturbed = {{112, kill}}}, {.restore = false}},
      {{.epochs = 5, .disturbed = {{95, kill}}}, {.restore = false, .disturbed = {{70, kill}}}, {.restore = false}},
      // A run between them had set the state aside and was killed; the third one ended and deleted the best weights.
      {{.epochs = 5, .disturbed = {{76, interrupt}}}, {.restore = false, .disturbed = {{30, kill}}}, {.data = 1}},
      // A run that was refused for another reason had set the state aside.
      {{.disturbed = {{31, interrupt}}}, {.restore = false, .disturbed = {{19, fill_disk}}}},
      // Runs that resume replaced the best weights and the log of another, or ended with those.
      {{}, {.disturbed = {{27, terminate}}}, {.curves = true, .disturbed = {{55, interrupt}}}},
      {{.curves = true, .disturbed = {{86, kill}}},
       {.state = kept, .curves = true, .disturbed = {{63, interrupt}}},
       {}},
      {{.epochs = 5, .save_every = 2, .disturbed = {{111, kill}}},
       {.what = command::move, .from = "run.state", .to = kept},
       {}},
      {{.state = "notes.txt", .restore = false}},
      {{.augments = true, .disturbed = {{48, interrupt}}}, {}},
      {{.validates = false, .disturbed = {{48, interrupt}}}, {}},
      {{.data = 1, .disturbed = {{48, interrupt}}}, {}},
      {{.what = command::convert}},
  };
  for (std::vector<command> const& one : all) {
    outcome const o = enter(one);
    INFO(as_text(one) << (o.wrong ? o.wrong->rule + ": " + o.wrong->text : ""));
    CHECK_FALSE(o.wrong);
  }
}

TEST_CASE("runs and files: the same with the example program", "[drawn_example]") {
  if (others().minigooglenet_cifar.empty()) return;
  try_sequences(std::getenv("TYPENET_SEQUENCES") ? sequences() : everything() ? 100 : 2, true);
}
