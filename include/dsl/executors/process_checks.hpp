// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/plan/plan.hpp>

#include <cstdint>
#include <string>

namespace dsl::TYPENET_MODE {

class augmentation;
struct dataset;

/// The facts about a run of fit that must be the same in all processes when the run begins.
struct fit_terms {
  int batch_size = 0;
  int epochs = 0;
  int initial_epoch = 0;
  double learning_rate = 0;
  std::uint64_t steps = 0;  // steps trained so far
  bool shuffle = true;
  augmentation const& augment;
  dataset const& data;
  dataset const* validation = nullptr;
  int average_from_epoch = -1;  // for averaged weights; -1: fit averages none
  double average_momentum = 1;
  int average_every = 1;
  int backups = 0;  // the number of backup_and_restore among the callbacks
};

/// Compares the processes before an action that all of them must take in the same way. If a process differs, each call
/// throws executor_error in every process, and the message names the process and the difference. This is an interface,
/// so that a program with only one process need not compile the checks.
class process_checks {
 public:
  /// Checks that all processes train in the same way.
  virtual void before_fit(fit_terms const&) = 0;
  /// Checks that all processes have the same parameters.
  virtual void after_epoch() = 0;
  virtual void before_evaluation(dataset const&, int batch_size) = 0;
  virtual void before_batch(int size, double learning_rate, std::uint64_t steps,
                            per_output<target_kind> const& targets) = 0;
  virtual void before_epoch(double learning_rate) = 0;

  /// Returns this process's number; process 0 prints, and reads and writes files.
  virtual int process() const = 0;
  /// Returns whether `here` is true in at least one process.
  virtual bool any(char const* what, bool here) = 0;
  /// Replaces the text in every process by the text in process 0.
  virtual void broadcast(char const* what, std::string& text) = 0;

  /// Sends a request to all processes; 0 stands for no request. The request is sent together with the metrics of the
  /// next step, so it needs no separate exchange. After that step, asked() returns the largest request of all
  /// processes, in every process.
  virtual void ask(int what) = 0;
  virtual int asked() const = 0;

  /// Replaces every number by the sum over all processes.
  virtual void sum(char const* what, long long* numbers, int count) = 0;
  /// Replaces every number by the sum over all processes, which is computed in the order of the processes.
  virtual void sum(char const* what, double* numbers, int count) = 0;

 protected:
  ~process_checks() = default;
};

}  // namespace dsl::TYPENET_MODE
