// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/data/dataset.hpp>
#include <dsl/detail/mode.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace dsl::TYPENET_MODE {

/// The memory to which a stream writes its next sample: the numbers, channel by channel, and either the class or the
/// target values. The pointer to what the data set does not have, class or values, is null.
struct stream_sample {
  float* numbers = nullptr;
  std::int32_t* label = nullptr;
  float* values = nullptr;
};

/// A source of samples that come one after another and cannot be read again, such as a simulation or a socket. It may
/// be endless. Derive your own stream from this class:
///   struct games : dsl::sample_stream {
///     bool next(dsl::stream_sample const& to) override { return play(to.numbers, *to.label); }
///     std::string identity() const override { return "games of the first bot, version 3"; }
///   };
class sample_stream {
 public:
  virtual ~sample_stream() = default;
  /// Writes the next sample, and returns false instead if there is none. fit calls it from one thread at a time, in the
  /// order of the samples of its batches. If it throws, the epoch ends and fit rethrows the exception.
  virtual bool next(stream_sample const& to) = 0;
  /// Returns a line that identifies the samples; it must not be empty. Saved states of runs contain this line.
  virtual std::string identity() const = 0;

 protected:
  sample_stream() = default;
  sample_stream(sample_stream const&) = default;
  sample_stream& operator=(sample_stream const&) = default;
};

/// Make a data set of a stream whose samples have a class, or `values` target values. An epoch is the next
/// `samples_an_epoch` samples. Throw option_error if the stream is null or has no identity, and for a number below 1.
dataset stream_classes(dsl::shape sample, std::shared_ptr<sample_stream> stream, int classes,
                       std::int64_t samples_an_epoch, std::vector<std::string> class_names = {});
dataset stream_values(dsl::shape sample, std::shared_ptr<sample_stream> stream, int values,
                      std::int64_t samples_an_epoch);

/// Returns the data set of a stream in another order: each next sample is drawn at random from a buffer of `buffer`
/// samples, which the stream fills again. The order depends only on the stream and the seed. Throws option_error if the
/// data set has no stream, and for a buffer of less than 1 sample.
dataset shuffle_stream(dataset data, int buffer, std::uint64_t seed);

/// Reads the next `count` samples of a stream into memory, for a validation or to find a mean and a deviation. The
/// training continues with the samples after them. Throws option_error if the data set has no stream, and data_error if
/// the stream ends earlier.
dataset read_from_stream(dataset const& data, std::int64_t count);

}  // namespace dsl::TYPENET_MODE

namespace dsl::detail::TYPENET_MODE {

/// Whether the samples of a data set come from a stream.
inline bool is_stream(dataset const& data) { return data.storage && data.storage->stream; }
/// Throws option_error if the data set's samples come from a stream, for a function that must know all samples.
void require_no_stream(dataset const& data, char const* what);
/// Reads the next sample of a data set's stream. Throws data_error if the stream has ended, and for a label or a value
/// that cannot be right. `sample` is the number of the sample in its epoch.
void read_next(dataset const& data, std::int64_t sample, stream_sample const& to);

}  // namespace dsl::detail::TYPENET_MODE

#ifdef TYPENET_DEFINITIONS
#include <dsl/data/sample_stream_inl.hpp>
#endif
