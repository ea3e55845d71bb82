// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/plan/plan.hpp>

#include <cstdint>
#include <string>

namespace dsl::TYPENET_MODE {

class augmentation;
struct dataset;

/// The terms of a run of fit, which must be equal in all processes when it begins.
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
};

/// Compares the processes before an action that all of them must take alike. Each call throws executor_error in every
/// process if one differs, and names the process and the difference. It is an interface, so that programs of one
/// process need not compile the checks.
class process_checks {
 public:
  /// Checks that all processes train in the same way.
  virtual void before_fit(fit_terms const&) = 0;
  /// Checks that all processes have the same parameters.
  virtual void after_epoch() = 0;
  virtual void before_evaluation(dataset const&, int batch_size) = 0;
  virtual void before_batch(int size, double learning_rate, std::uint64_t steps, target_kind targets) = 0;
  virtual void before_epoch(double learning_rate) = 0;

  /// Returns this process's number; process 0 prints, and reads and writes files.
  virtual int process() const = 0;
  /// Whether `here` is true in any process.
  virtual bool any(char const* what, bool here) = 0;
  /// Replaces the text in every process by that of process 0.
  virtual void broadcast(char const* what, std::string& text) = 0;

  /// Sends a request to all processes; 0 is no request. It is sent with the next step's metrics, without an exchange of
  /// its own; asked() then returns the largest request of all processes, in every process.
  virtual void ask(int what) = 0;
  virtual int asked() const = 0;

  /// Replaces every number by the sum over all processes.
  virtual void sum(char const* what, long long* numbers, int count) = 0;
  /// Does the same with doubles, summed in the order of the processes.
  virtual void sum(char const* what, double* numbers, int count) = 0;

 protected:
  ~process_checks() = default;
};

}  // namespace dsl::TYPENET_MODE
