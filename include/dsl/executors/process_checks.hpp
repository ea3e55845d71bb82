// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/plan/plan.hpp>

#include <cstdint>
#include <string>

namespace dsl::TYPENET_MODE {

class augmentation;
struct dataset;

/// The terms of a run of fit, which must be equal in all processes as it begins.
struct fit_terms {
  int batch_size = 0;
  int epochs = 0;
  int initial_epoch = 0;
  double learning_rate = 0;
  std::uint64_t steps = 0;  // trained so far
  bool shuffle = true;
  augmentation const& augment;
  dataset const& data;
  dataset const* validation = nullptr;
  int average_from_epoch = -1;  // of averaged weights; -1: fit averages none
  double average_momentum = 1;
  int average_every = 1;
};

/// Compares processes before they do what all of them must do. Each call throws executor_error in every process, naming
/// one that differs, and in what. An interface, so that programs of one process don't compile it.
class process_checks {
 public:
  virtual void before_fit(fit_terms const&) = 0;
  /// That all have the same parameters.
  virtual void after_epoch() = 0;
  virtual void before_evaluation(dataset const&, int batch_size) = 0;
  virtual void before_batch(int size, double learning_rate, std::uint64_t steps, target_kind targets) = 0;
  virtual void before_epoch(double learning_rate) = 0;

  /// This process's number; process 0 prints, reads and writes files.
  virtual int process() const = 0;
  /// Whether it holds in one of them.
  virtual bool any(char const* what, bool here) = 0;
  /// Process 0's text becomes everybody's.
  virtual void broadcast(char const* what, std::string& text) = 0;

  /// Asks all processes for something, 0 for nothing. The number travels with the next step's metrics and costs no
  /// exchange of its own; asked() then returns, in every process, the largest number that one of them gave.
  virtual void ask(int what) = 0;
  virtual int asked() const = 0;

  /// Every number becomes the sum of all processes' numbers.
  virtual void sum(char const* what, long long* numbers, int count) = 0;
  /// Sums doubles, in the processes' order.
  virtual void sum(char const* what, double* numbers, int count) = 0;

 protected:
  ~process_checks() = default;
};

}  // namespace dsl::TYPENET_MODE
