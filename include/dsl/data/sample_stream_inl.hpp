// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/data/dataset.hpp>
#include <dsl/data/in_memory.hpp>
#include <dsl/data/sample_stream.hpp>
#include <dsl/detail/math.hpp>
#include <dsl/detail/message.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/detail/option_check.hpp>
#include <dsl/detail/philox.hpp>
#include <dsl/error.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace dsl::detail::TYPENET_MODE {

TYPENET_INLINE dataset dataset_of_stream(dsl::shape sample, std::shared_ptr<sample_stream> const& stream,
                                         std::int64_t size, char const* what) {
  if (!stream) throw_error<option_error>({what, ": a stream must be given; found a null pointer"});
  if (stream->identity().empty())
    throw_error<option_error>(
        {what, ": a stream's identity() must identify its samples; found an empty text; return a name and a version"});
  if (sample.channels < 1 || sample.height < 1 || sample.width < 1)
    throw_error<data_error>({"dataset: samples must have at least one number; found ", sample.channels, "x",
                             sample.height, "x", sample.width, "; check the shape"});
  option_check{what}.need(size >= 1, "an epoch must have 1 sample or more", size);
  return {.sample = sample, .size = size, .mean = nullptr, .storage = nullptr};
}

TYPENET_INLINE void require_no_stream(dataset const& data, char const* what) {
  if (is_stream(data))
    throw_error<option_error>(
        {what, ": the samples must come from data that can be read again; found the stream ",
         data.storage->stream->identity(), "; use data in memory or a sample_source",
         std::string_view(what) == "normalize" ? ", or let the stream normalize its samples" : ""});
}

TYPENET_INLINE void require_stream(dataset const& data, char const* what) {
  if (!is_stream(data))
    throw_error<option_error>(
        {what,
         ": the samples must come from a stream; found another data set; make one with stream_classes() or "
         "stream_values()"});
}

TYPENET_INLINE void read_next(dataset const& data, std::int64_t sample, stream_sample const& to) {
  std::string const name = data.storage->stream->identity();
  if (!data.storage->stream->next(to))
    throw_error<data_error>({"stream: ", name, " must have as many samples as are asked for; it ended after ", sample,
                             " of the ", data.size,
                             " samples of an epoch; train for fewer epochs, or make the epochs shorter"});
  if (to.label && (*to.label < 0 || *to.label >= data.classes))
    throw_error<data_error>({"stream: labels of ", name, " must be 0 to ", data.classes - 1, "; found ", *to.label,
                             " for sample ", sample, " of the epoch; correct the label or the number of classes"});
  for (int i = 0; to.values && i < data.values; ++i)
    if (!isfinite(to.values[i]))
      throw_error<data_error>({"stream: all values of ", name, " must be finite; found ",
                               static_cast<double>(to.values[i]), " as number ", i, " of sample ", sample,
                               " of the epoch; correct it or leave the sample out"});
}

/// Keeps a number of samples of another stream, and passes on one of them at a time.
class shuffling_stream final : public sample_stream {
 public:
  shuffling_stream(dataset const& of, int buffer, std::uint64_t seed)
      : from_(of.storage->stream),
        random_(seed, purpose::shuffle, 0),
        seed_(seed),
        buffer_(buffer),
        numbers_(static_cast<std::size_t>(of.sample.size())),
        values_(static_cast<std::size_t>(of.values)) {}
  bool next(stream_sample const& to) override {
    while (kept_.size() < static_cast<std::size_t>(buffer_) && fill()) kept_.push_back(following_);
    if (kept_.empty()) return false;
    std::size_t const drawn = random_.below(static_cast<std::uint32_t>(kept_.size()));
    kept& one = kept_[drawn];
    for (std::size_t i = 0; i < numbers_; ++i) to.numbers[i] = one.numbers[i];
    for (std::size_t i = 0; to.values && i < values_; ++i) to.values[i] = one.values[i];
    if (to.label) *to.label = one.label;
    if (fill()) {
      std::swap(one, following_);
    } else {  // the stream has ended: the rest of the buffer is left
      std::swap(one, kept_.back());
      kept_.pop_back();
    }
    return true;
  }
  std::string identity() const override {
    return message(
        {from_->identity(), ", shuffled in a buffer of ", buffer_, " with seed ", static_cast<long long>(seed_)});
  }

 private:
  struct kept {
    std::vector<float> numbers{}, values{};
    std::int32_t label = 0;
  };
  /// Reads the following sample, unless the stream has ended or thrown, after which it is asked for no other.
  bool fill() {
    if (ended_) return false;
    kept& to = following_;
    to.numbers.resize(numbers_), to.values.resize(values_);
    ended_ = true;
    ended_ =
        !from_->next({to.numbers.data(), values_ > 0 ? nullptr : &to.label, values_ > 0 ? to.values.data() : nullptr});
    return !ended_;
  }

  std::shared_ptr<sample_stream> from_;
  random_stream random_;
  std::uint64_t seed_;
  int buffer_;
  std::size_t numbers_, values_;
  std::vector<kept> kept_{};
  kept following_{};
  bool ended_ = false;
};

}  // namespace dsl::detail::TYPENET_MODE

namespace dsl::TYPENET_MODE {

TYPENET_INLINE dataset stream_classes(dsl::shape sample, std::shared_ptr<sample_stream> stream, int classes,
                                      std::int64_t samples_an_epoch, std::vector<std::string> class_names) {
  detail::option_check{"stream_classes"}.need(classes >= 1, "classes must be 1 or more", classes);
  dataset data = detail::dataset_of_stream(sample, stream, samples_an_epoch, "stream_classes");
  data.classes = classes;
  data.storage = std::make_shared<dataset_storage const>(
      dataset_storage{.class_names = std::move(class_names), .elements = element::real, .stream = std::move(stream)});
  return data;
}

TYPENET_INLINE dataset stream_values(dsl::shape sample, std::shared_ptr<sample_stream> stream, int values,
                                     std::int64_t samples_an_epoch) {
  detail::option_check{"stream_values"}.need(values >= 1, "values must be 1 or more", values);
  dataset data = detail::dataset_of_stream(sample, stream, samples_an_epoch, "stream_values");
  data.values = values;
  data.storage =
      std::make_shared<dataset_storage const>(dataset_storage{.elements = element::real, .stream = std::move(stream)});
  return data;
}

TYPENET_INLINE dataset shuffle_stream(dataset data, int buffer, std::uint64_t seed) {
  detail::require_stream(data, "shuffle_stream");
  detail::option_check{"shuffle_stream"}.need(buffer >= 1, "the buffer must have 1 sample or more", buffer);
  dataset_storage storage = *data.storage;
  storage.stream = std::make_shared<detail::shuffling_stream>(data, buffer, seed);
  data.storage = std::make_shared<dataset_storage const>(std::move(storage));
  return data;
}

TYPENET_INLINE dataset read_from_stream(dataset const& data, std::int64_t count) {
  detail::require_stream(data, "read_from_stream");
  detail::option_check{"read_from_stream"}.need(count >= 1, "there must be 1 sample or more", count);
  auto const each = static_cast<std::size_t>(data.sample.size()), samples = static_cast<std::size_t>(count),
             wanted = static_cast<std::size_t>(data.values);
  std::vector<float> numbers(samples * each), values(samples * wanted);
  std::vector<std::int32_t> labels(data.has_classes() ? samples : 0);
  for (std::size_t i = 0; i < samples; ++i)
    detail::read_next(data, static_cast<std::int64_t>(i),
                      {numbers.data() + i * each, data.has_classes() ? &labels[i] : nullptr,
                       data.has_classes() ? nullptr : values.data() + i * wanted});
  dataset read = data.has_classes() ? in_memory_classes(data.sample, std::move(numbers), data.classes,
                                                        std::move(labels), data.storage->class_names)
                                    : in_memory_values(data.sample, std::move(numbers), data.values, std::move(values));
  read.mean = data.mean, read.deviation = data.deviation;
  return read;
}

}  // namespace dsl::TYPENET_MODE
