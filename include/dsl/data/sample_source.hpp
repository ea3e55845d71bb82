// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/data/dataset.hpp>
#include <dsl/detail/mode.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace dsl::TYPENET_MODE {

/// A source of samples that are made when a batch needs them, such as images decoded from files, instead of being kept
/// in memory. Derive from it for a source of your own; ordering, augmentation and normalisation work as for any data
/// set.
class sample_source {
 public:
  virtual ~sample_source() = default;
  /// Writes sample i as floats, channel-major, as many as the shape of a sample has. Equal i must always give equal
  /// floats. Several loader threads call it at the same time. An exception ends the epoch, and fit rethrows it.
  virtual void read(std::int64_t i, float* out) const = 0;
  /// Returns a line that identifies these samples, such as a version and a checksum; it must not be empty. States of
  /// runs contain it, and backup_and_restore refuses to resume a run if it has changed.
  virtual std::string identity() const = 0;

 protected:
  sample_source() = default;
  sample_source(sample_source const&) = default;
  sample_source& operator=(sample_source const&) = default;
};

/// Makes a data set from a source with a class per sample. Throws data_error if a label is not from 0 to classes - 1,
/// and option_error if `source` is null or its identity is empty.
dataset source_classes(dsl::shape sample, std::shared_ptr<sample_source const> source, int classes,
                       std::vector<std::int32_t> labels, std::vector<std::string> class_names = {});
/// Makes a data set from a source with `values` target floats per sample, in the order of the network's outputs. Throws
/// data_error if a target is infinite or NaN, or if their number is wrong.
dataset source_values(dsl::shape sample, std::shared_ptr<sample_source const> source, int values,
                      std::vector<float> wanted);

}  // namespace dsl::TYPENET_MODE

namespace dsl::detail::TYPENET_MODE {

/// Returns the address of sample i of a data set of floats: in memory, or in `room`, where its source writes it.
float const* floats_of(dataset const& data, std::int64_t i, std::vector<float>& room);

/// Returns the identity of a data set's source; empty if its samples are in memory.
std::string identity_of(dataset const& data);

}  // namespace dsl::detail::TYPENET_MODE

#ifndef TYPENET_COMPILED
#include <dsl/data/sample_source_inl.hpp>
#endif
