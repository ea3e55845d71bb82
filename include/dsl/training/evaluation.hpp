// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>

#include <cstdint>

namespace dsl::TYPENET_MODE {

struct dataset;
class process_checks;

/// Observes the outputs while trainer::evaluate goes through a data set. Derive from it to compute more than the mean
/// loss and the accuracy.
class evaluation_observer {
 public:
  virtual ~evaluation_observer() = default;
  /// Returns the name of the output that it observes: that of a named_output<...>, or "main" for the network's result.
  /// If each output has separate targets, on_begin gets a data set with the target of this output.
  virtual char const* output() const { return "main"; }
  /// Called before the first batch of a data set.
  virtual void on_begin(dataset const&) {}
  /// Called with samples first .. first+size-1 of the data set. Each sample is passed exactly once, however batches are
  /// divided into micro-batches or among towers. outputs: (size, outputs per sample); for two classes with a single
  /// output p, (size, 2) with 1 - p and p. For a class per pixel, outputs are (size, classes, height, width), and
  /// labels are (size, height, width), with -1 for a pixel without a class. If there are several processes, each sees
  /// only its own part.
  virtual void on_batch(float const* outputs, std::int32_t const* labels, std::int64_t first, int size) = 0;
  /// Called instead of on_batch if the samples have target values. `outputs` and `values` are (size, outputs per
  /// sample).
  virtual void on_values(float const* /*outputs*/, float const* /*values*/, std::int64_t /*first*/, int /*size*/) {}
  /// Called after the last batch. `processes` can sum counts over several processes; it is null if there is only one
  /// process.
  virtual void on_end(process_checks* /*processes*/) {}

 protected:
  evaluation_observer() = default;
  evaluation_observer(evaluation_observer const&) = default;
  evaluation_observer& operator=(evaluation_observer const&) = default;
};

}  // namespace dsl::TYPENET_MODE
