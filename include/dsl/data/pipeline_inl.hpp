// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/data/augment.hpp>
#include <dsl/data/dataset.hpp>
#include <dsl/data/pipeline.hpp>
#include <dsl/data/sample_source.hpp>
#include <dsl/detail/list.hpp>
#include <dsl/detail/message.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/detail/option_check.hpp>
#include <dsl/detail/threads.hpp>
#include <dsl/detail/zeros.hpp>
#include <dsl/error.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <utility>
#include <vector>

namespace dsl::TYPENET_MODE {

TYPENET_INLINE batch_loader::batch_loader(dataset data, pipeline_options options)
    : data_(std::move(data)), options_(std::move(options)) {
  check();
  if (options_.part_size < 0) options_.part_size = options_.batch_size;
  auto const pictures = static_cast<std::size_t>(data_.size);
  auto const part = static_cast<std::size_t>(options_.part_size);
  std::size_t const batch_size = part < pictures ? part : pictures;  // no batch is larger
  picture_ = static_cast<std::size_t>(data_.sample.size());
  order_.allocate(pictures);
  if (options_.prefetch > steps_per_epoch()) options_.prefetch = static_cast<int>(steps_per_epoch());
  slots_ = detail::list<slot>(options_.prefetch + 1);
  for (auto& s : slots_) {
    s.images.allocate(batch_size * picture_);
    s.labels.allocate((batch_size + 1) * static_cast<std::size_t>(data_.labels_each()));  // and one for others' parts
    s.samples.allocate(batch_size);
    s.values.allocate(batch_size * static_cast<std::size_t>(options_.values));
    if (weighs()) s.weights.allocate(batch_size * static_cast<std::size_t>(data_.labels_each()));
    s.further = detail::list<detail::zeros<float>>(data_.further_inputs());
    for (int k = 0; k < data_.further_inputs(); ++k) {
      s.further[k].allocate(batch_size *
                            static_cast<std::size_t>((*data_.further)[static_cast<std::size_t>(k)].sample.size()));
      s.inputs.push(s.further[k].data());
    }
  }
  if (options_.cache) {
    cache_.allocate(pictures * picture_);
    cached_.allocate(pictures);
  }
  try {
    for (int i = 0; i < options_.threads && options_.prefetch > 0; ++i) workers_.start(run_worker, this);
  } catch (...) {
    stop();
    throw;
  }
}

TYPENET_INLINE std::int64_t batch_loader::steps_per_epoch() const {
  return (data_.size + (options_.drop_last ? 0 : options_.batch_size - 1)) / options_.batch_size;
}

TYPENET_INLINE void batch_loader::start(int epoch, std::int64_t step) {
  if (epoch < 0 || step < 0 || step > steps_per_epoch())
    detail::throw_error<option_error>({"batch_loader: epoch must be 0 or more and the step 0 to ", steps_per_epoch(),
                                       "; found epoch ", epoch, ", step ", step, "; check where the run resumes"});
  detail::lock const lock(mutex_);
  end_ = 0;  // workers begin no more batches
  while (busy_ > 0) idle_.wait(mutex_);
  epoch_ = epoch;
  if (options_.shuffle)
    epoch_order(options_.seed, epoch, order_);
  else
    for (std::size_t i = 0; i < order_.size(); ++i) order_[i] = static_cast<std::int64_t>(i);
  for (auto& s : slots_) {
    s.ready = false;
    s.failure = nullptr;
  }
  taken_ = given_ = released_ = step;
  end_ = steps_per_epoch();
  room_.notify_all();
}

TYPENET_INLINE batch const* batch_loader::next() {
  detail::lock const lock(mutex_);
  if (released_ < given_) {  // the caller has finished with the previous batch
    slot_of(released_++).ready = false;
    room_.notify_one();
  }
  if (given_ >= end_) return nullptr;
  auto& s = slot_of(given_);
  if (workers_.size() == 0)
    make(given_, s);
  else
    while (!s.ready) filled_.wait(mutex_);
  if (s.failure) {
    end_ = 0;
    std::rethrow_exception(std::exchange(s.failure, nullptr));
  }
  ++given_;
  return &s.view;
}

TYPENET_INLINE void batch_loader::check() const {
  detail::option_check const loader{"batch_loader"};
  auto const need = [&](bool holds, char const* must, std::int64_t found, char const* advice) {
    loader.need(holds, must, found, advice);
  };
  need(data_.size > 0 && data_.storage, "the data set must have at least one sample", data_.size, "load one first");
  need(data_.size <= 0xffffffff, "a data set must have at most 4,294,967,295 samples", data_.size, "split it");
  need(options_.batch_size > 0, "batch_size must be 1 or more", options_.batch_size, "try 64");
  need(options_.prefetch >= 0, "prefetch must be 0 or more", options_.prefetch, "try 2, or 0 for no threads");
  need(options_.threads > 0, "threads must be 1 or more", options_.threads, "for none, use prefetch = 0");
  bool const is_part = options_.part_size >= 0;
  if (is_part && (options_.part_first < 0 || !options_.drop_last ||
                  options_.part_first > options_.batch_size - options_.part_size))
    detail::throw_error<option_error>(
        {"batch_loader: part_first and part_size must select samples of a batch, and drop_last must be true; found ",
         options_.part_first, " and ", options_.part_size, " for a batch of ", options_.batch_size,
         options_.drop_last ? "" : ", without drop_last", "; use the part that the engine asks for"});
  need(!options_.drop_last || options_.batch_size <= data_.size,
       "with drop_last, batch_size must be at most the size of the data set", options_.batch_size,
       "choose a smaller batch");
  if (data_.mean && static_cast<long long>(data_.mean->size()) != data_.sample.size())
    need(false, "the mean must have as many numbers as a sample", static_cast<std::int64_t>(data_.mean->size()),
         "use mean_picture(train)");
  if (data_.deviation && static_cast<long long>(data_.deviation->size()) != data_.sample.size())
    need(false, "the deviation must have as many numbers as a sample",
         static_cast<std::int64_t>(data_.deviation->size()), "use normalize(train)");
  if (data_.has_classes() && !options_.class_weights.empty())
    need(static_cast<int>(options_.class_weights.size()) == data_.classes,
         "class_weights must have one weight for each class of the data set",
         static_cast<std::int64_t>(options_.class_weights.size()), "give one per class");
  for (int k = 0; k < data_.further_inputs(); ++k) {
    further_input const& f = (*data_.further)[static_cast<std::size_t>(k)];
    for (auto const& numbers : {f.mean, f.deviation})
      if (numbers && static_cast<long long>(numbers->size()) != f.sample.size())
        detail::throw_error<option_error>({"batch_loader: the mean and deviation of input \"", f.name, "\" must have ",
                                           f.sample.size(), " numbers, as many as the input; found ", numbers->size(),
                                           "; use normalize(train)"});
  }
  if (data_.pixel_classes)
    need(options_.values == 0, ".values must be 0 for data with a class per pixel", options_.values, "leave it out");
  else if (data_.has_classes() && options_.values > 0)
    need(options_.values == data_.classes || (options_.values == 1 && data_.classes == 2),
         ".values must be the number of classes, or 1 if there are two", options_.values,
         "change the last layer or the loss");
  else
    need(options_.values == 0 || options_.values == data_.values,
         ".values must be 0, or the number of values per sample in the data set", options_.values,
         "change the last layer or the data");
}

TYPENET_INLINE void batch_loader::make(std::int64_t step, slot& s) noexcept try {
  std::int64_t const first = step * options_.batch_size + options_.part_first;
  auto const left = data_.size - first;
  int const size = left < options_.part_size ? static_cast<int>(left) : options_.part_size;
  auto const labels_each = static_cast<std::size_t>(data_.labels_each());
  std::int64_t labelled = 0;
  for (int i = 0; i < size; ++i) {
    auto const at = static_cast<std::size_t>(i);
    auto const sample = order_[static_cast<std::size_t>(first + i)];
    s.samples[at] = sample;
    if (data_.has_classes()) labelled += put_labels(sample, s.labels.data() + at * labels_each);
    put_values(sample, s.values.data() + at * static_cast<std::size_t>(options_.values));
    if (weighs()) put_weights(sample, s.labels.data() + at * labels_each, s.weights.data() + at * labels_each);
    make_picture(sample, s.images.data() + at * picture_, s.room);
    for (int k = 0; k < s.further.size(); ++k)
      put_further(k, sample, s.further[k].data() + i * (*data_.further)[static_cast<std::size_t>(k)].sample.size());
  }
  if (data_.pixel_classes) {  // the other parts' pixels count, too
    std::int32_t* const scratch = s.labels.data() + static_cast<std::size_t>(size) * labels_each;
    std::int64_t const begin = step * options_.batch_size, end = begin + options_.batch_size;
    for (std::int64_t i = begin; i < end && options_.part_size < options_.batch_size; ++i)
      if (i < first || i >= first + size) labelled += put_labels(order_[static_cast<std::size_t>(i)], scratch);
  }
  s.view = {s.images.data(),
            data_.has_classes() ? s.labels.data() : nullptr,
            s.samples.data(),
            size,
            first,
            options_.values > 0 ? s.values.data() : nullptr,
            data_.pixel_classes ? labelled : -1,
            weighs() ? s.weights.data() : nullptr,
            s.inputs.size() > 0 ? s.inputs.begin() : nullptr};
} catch (...) {
  s.failure = std::current_exception();
}

TYPENET_INLINE void batch_loader::put_weights(std::int64_t sample, std::int32_t const* labels, float* out) const {
  for (std::int64_t i = 0; i < data_.labels_each(); ++i) {
    bool const counts = data_.has_classes() && !options_.class_weights.empty() && labels[i] >= 0;
    out[i] = data_.weight(sample) * (counts ? options_.class_weights[static_cast<std::size_t>(labels[i])] : 1.0F);
  }
}

TYPENET_INLINE void batch_loader::put_further(int input, std::int64_t sample, float* out) const {
  further_input const& f = (*data_.further)[static_cast<std::size_t>(input)];
  detail::pixel_source const from{.floats = data_.further_numbers(input, sample),
                                  .mean = f.mean ? f.mean->data() : nullptr,
                                  .deviation = f.deviation ? f.deviation->data() : nullptr};
  from.copy<1>(0, static_cast<int>(f.sample.size()), out);
}

TYPENET_INLINE std::int64_t batch_loader::put_labels(std::int64_t sample, std::int32_t* out) const {
  if (!data_.pixel_classes) {
    *out = data_.label(sample);
    return 1;
  }
  detail::transform_labels(options_.augment.draw(options_.seed, epoch_, sample, data_.sample), data_.sample,
                           data_.labels(sample), out);
  std::int64_t labelled = 0;
  for (std::int64_t i = 0; i < data_.labels_each(); ++i) labelled += out[i] >= 0 ? 1 : 0;
  return labelled;
}

TYPENET_INLINE void batch_loader::put_values(std::int64_t sample, float* out) const {
  int const label = data_.has_classes() ? data_.label(sample) : 0;
  float const* const wanted = data_.has_classes() ? nullptr : data_.wanted(sample);
  for (int i = 0; i < options_.values; ++i)
    out[i] = wanted ? wanted[i] : static_cast<float>(options_.values == 1 ? label : i == label);
}

TYPENET_INLINE void batch_loader::make_picture(std::int64_t sample, float* out, std::vector<float>& room) {
  transform const t = options_.augment.draw(options_.seed, epoch_, sample, data_.sample);
  auto const read = [&](transform const& moved, float* to) {
    detail::transform_picture(moved, data_.sample, source_of(sample, room), to);
  };
  if (!cache_.data()) return read(t, out);
  auto const at = static_cast<std::size_t>(sample);
  float* const kept = cache_.data() + at * picture_;
  if (!cached_[at]) read(transform{}, kept);
  cached_[at] = 1;  // an epoch visits a sample once, so no other worker reads this byte before the next start()
  apply(t, kept, out, data_.sample);
}

TYPENET_INLINE detail::pixel_source batch_loader::source_of(std::int64_t sample, std::vector<float>& room) const {
  detail::pixel_source from{.mean = data_.mean ? data_.mean->data() : nullptr,
                            .deviation = data_.deviation ? data_.deviation->data() : nullptr};
  if (data_.has_bytes())
    from.bytes = data_.pixels(sample);
  else
    from.floats = detail::floats_of(data_, sample, room);
  return from;
}

TYPENET_INLINE void* batch_loader::run_worker(void* loader) {
  static_cast<batch_loader*>(loader)->work();
  return nullptr;
}

TYPENET_INLINE void batch_loader::work() {
  detail::lock const lock(mutex_);
  for (;;) {
    while (!stopping_ && !may_take()) room_.wait(mutex_);
    if (stopping_) return;
    auto const step = taken_++;
    auto& s = slot_of(step);
    ++busy_;
    mutex_.unlock();
    make(step, s);
    mutex_.lock();
    s.ready = true;
    if (--busy_ == 0) idle_.notify_all();
    filled_.notify_one();
  }
}

TYPENET_INLINE void batch_loader::stop() {
  {
    detail::lock const lock(mutex_);
    stopping_ = true;
  }
  room_.notify_all();
  workers_.join();
}

}  // namespace dsl::TYPENET_MODE
