// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/data/dataset.hpp>
#include <dsl/detail/mode.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace dsl::TYPENET_MODE {

/// A source that makes samples when a batch needs them, for example by decoding images from files, instead of holding
/// all samples in memory. Derive your own source from this class; ordering, augmentation and normalisation work as for
/// any other data set.
class sample_source {
 public:
  virtual ~sample_source() = default;
  /// Writes sample i to `out` as floats, channel-major, as many as a sample's shape has. The same i must always give
  /// the same floats. Several loader threads call read() at the same time. If it throws, the epoch ends and fit
  /// rethrows the exception.
  virtual void read(std::int64_t i, float* out) const = 0;
  /// Returns a line that identifies the samples, for example with a version and a checksum; it must not be empty. Saved
  /// states of runs contain this line, and backup_and_restore refuses to resume a run if the line has changed.
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
/// data_error if a target is infinite or NaN, or if the number of targets is wrong.
dataset source_values(dsl::shape sample, std::shared_ptr<sample_source const> source, int values,
                      std::vector<float> wanted);

}  // namespace dsl::TYPENET_MODE

namespace dsl::detail::TYPENET_MODE {

/// Returns the address of sample i of a data set of floats. This is in memory, or it is `room` after the data set's
/// source has written the sample there.
float const* floats_of(dataset const& data, std::int64_t i, std::vector<float>& room);

/// Returns the identity of a data set's source; empty if its samples are in memory.
std::string identity_of(dataset const& data);

}  // namespace dsl::detail::TYPENET_MODE

#ifdef TYPENET_DEFINITIONS
#include <dsl/data/sample_source_inl.hpp>
#endif
