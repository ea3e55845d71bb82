// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/recorded_files.hpp"

// Every state of a folder that a power failure may leave, from recorded events.

namespace dsl::test::recorded {

using files = std::map<std::string, std::string>;

/// Calls `visit` with each different state in which a crash after the first n events may leave the folder, for every n;
/// n is also passed. POSIX promises no more than this: what was written to a file before its fsync is there; of what
/// was written later anything may be there, here the content after any of the writes, half of a write, or zeros in its
/// place. Of creations, renames and removals since the folder's fsync, any may have happened, each as a whole. At most
/// `most` states are visited; returns how many.
class crash_states {
 public:
  crash_states(std::vector<event> const& events, long most) : events_(events), most_(most) {}

  long visit(std::function<void(std::size_t, files const&)> const& visitor) {
    visited_ = 0;
    for (std::size_t n = 0; n <= events_.size() && visited_ < most_; ++n) {
      std::set<files> seen;  // of this n
      for_each_table([&](table const& names) {
        for_each_content(names, [&](files const& state) {
          if (visited_ < most_ && seen.insert(state).second) ++visited_, visitor(n, state);
        });
      });
      if (n < events_.size()) apply(events_[n]);
    }
    return visited_;
  }

 private:
  struct file {
    std::vector<std::string> versions{""};  // the first is on the disk, later ones may be
  };
  using table = std::map<std::string, int>;

  static void change(table& names, event const& e) {
    if (e.what == event::rename) {
      if (auto const old = names.find(e.from); old != names.end() && old->second == e.file) names.erase(old);
      names[e.name] = e.file;
    }
    if (e.what == event::create) names[e.name] = e.file;
    if (e.what == event::unlink) names.erase(e.name);
  }
  void apply(event const& e) {
    std::vector<std::string>* const of = e.file < 0 ? nullptr : &files_[e.file].versions;
    switch (e.what) {
      case event::content: of->push_back(e.bytes); break;
      case event::sync_file: of->erase(of->begin(), of->end() - 1); break;
      case event::sync_folder:
        for (event const& p : pending_) change(on_disk_, p);
        pending_.clear();
        break;
      default: pending_.push_back(e); break;
    }
  }

  /// All subsets of the changes to the folder or, if there are more than ten, all beginnings, and those without one.
  template <class F>
  void for_each_table(F f) const {
    std::size_t const n = pending_.size();
    auto const with = [&](auto happened) {
      table names = on_disk_;
      for (std::size_t i = 0; i < n; ++i)
        if (happened(i)) change(names, pending_[i]);
      f(names);
    };
    if (n <= 10) {
      for (unsigned set = 0; set < 1U << n; ++set) with([&](std::size_t i) { return (set >> i & 1U) != 0; });
      return;
    }
    for (std::size_t end = 0; end <= n; ++end)
      for (std::size_t without = 0; without <= end; ++without)
        with([&](std::size_t i) { return i < end && i != without; });
  }

  static std::vector<std::string> contents_of(file const& f) {
    std::vector<std::string> all = f.versions;
    for (std::size_t i = 1; i < f.versions.size(); ++i) {
      std::string const &before = f.versions[i - 1], &after = f.versions[i];
      std::size_t const same = static_cast<std::size_t>(
          std::mismatch(before.begin(), before.end(), after.begin(), after.end()).second - after.begin());
      all.push_back(after.substr(0, same + (after.size() - same) / 2));
      std::string zeros = after;
      std::fill(zeros.begin() + static_cast<std::ptrdiff_t>(same), zeros.end(), '\0');
      all.push_back(zeros);
    }
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return all;
  }

  /// All combinations of the files' contents or, if there are more than 200, each content of one file with the oldest
  /// and with the newest of the others.
  template <class F>
  void for_each_content(table const& names, F f) const {
    std::vector<std::pair<std::string, std::vector<std::string>>> choices;
    files oldest, newest;
    std::size_t combinations = 1;
    for (auto const& [name, number] : names) {
      file const& its = files_.contains(number) ? files_.at(number) : none_;
      choices.emplace_back(name, contents_of(its));
      combinations = std::min<std::size_t>(combinations * choices.back().second.size(), 1000);
      oldest[name] = its.versions.front(), newest[name] = its.versions.back();
    }
    if (combinations > 200) {
      for (auto const& [name, contents] : choices)
        for (std::string const& c : contents)
          for (files state : {oldest, newest}) state[name] = c, f(state);
      return;
    }
    files state;
    std::function<void(std::size_t)> const choose = [&](std::size_t i) {
      if (i == choices.size()) return f(state);
      for (std::string const& c : choices[i].second) state[choices[i].first] = c, choose(i + 1);
    };
    choose(0);
  }

  std::vector<event> const& events_;
  long most_;
  long visited_ = 0;
  table on_disk_{};
  std::vector<event> pending_{};  // changes to the folder since its fsync
  std::map<int, file> files_{};
  file none_{};
};

}  // namespace dsl::test::recorded
