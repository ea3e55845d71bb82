// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/cuda/cache_folder.hpp>
#include <dsl/executors/cuda/convolution_plan.hpp>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

namespace dsl::cu::TYPENET_MODE {

/// The plans of one convolution that ended the device or the program when they ran for the first time, or computed
/// wrong numbers. A file of the cache names the plan that is being tried, and the process and machine that try it. If a
/// later start on that machine finds such an entry and the process no longer exists, the plan is excluded. With an
/// empty folder nothing is remembered.
class plan_trials {
 public:
  /// `file` is the name of the file; `what` names the convolution in messages.
  plan_trials(std::string folder, std::string file, std::string what)
      : folder_(std::move(folder)), file_(std::move(file)), what_(std::move(what)) {
    std::istringstream in(read_cached(folder_, file_).value_or(""));
    std::string line;
    if (!std::getline(in, line) || line != magic) return;
    while (std::getline(in, line)) {
      auto const colon = line.find(": ");
      if (colon == std::string::npos) return;
      char* host = nullptr;
      long const process = std::strtol(line.c_str(), &host, 10);
      // 0: the plan is known to be fatal. If the process still exists, the plan has not failed so far.
      if (process == 0 || (*host == ' ' && line.substr(0, colon) == trying(process) && is_gone(process)))
        fatal_.push_back(line.substr(colon + 2));
    }
  }

  bool was_fatal(plan_facts const& f) const {
    return !fatal_.empty() && std::find(fatal_.begin(), fatal_.end(), f.tag()) != fatal_.end();
  }

  /// Excludes a plan from now on.
  void exclude(plan_facts const& f) {
    fatal_.push_back(f.tag());
    write();
  }

  /// Runs the plan by calling `run`, and returns whether that succeeds. Throws an executor_error that names the
  /// convolution and the plan if the device fails while it runs; passes a memory_error on.
  template <class Run>
  bool first_run(convolution_plan const& p, Run run) {
    std::string const tag = p.facts.tag();
    write(tag);
    try {
      bool const runs = run();
      write();
      return runs;
    } catch (memory_error const&) {
      write();
      throw;
    } catch (executor_error const& e) {
      fatal_.push_back(tag);
      write();
      throw executor_error(detail::message(
          {e.what(), ", in ", tag, " of ", what_, "; start the program again: it will skip this plan"}));
    }
  }

 private:
  static constexpr char const* magic = "typenet trials 1";

  /// Returns the text for a process that tries a plan: "1234 name-of-this-machine".
  static std::string trying(long process) {
    char name[256] = "";
    ::gethostname(name, sizeof name - 1);
    return std::to_string(process) + ' ' + name;
  }
  static bool is_gone(long process) { return ::kill(static_cast<pid_t>(process), 0) != 0 && errno == ESRCH; }

  /// Writes the fatal plans, and the one that is tried now.
  void write(std::string const& tag = {}) {
    if (folder_.empty()) return;
    std::string text = std::string(magic) + '\n';
    for (std::string const& f : fatal_) text += "0: " + f + '\n';
    if (!tag.empty()) text += trying(::getpid()) + ": " + tag + '\n';
    if (tag.empty() && fatal_.empty())
      ::unlink((folder_ + '/' + file_).c_str());
    else
      write_cached(folder_, file_, text);
  }

  std::string folder_, file_, what_;
  std::vector<std::string> fatal_{};
};

}  // namespace dsl::cu::TYPENET_MODE
