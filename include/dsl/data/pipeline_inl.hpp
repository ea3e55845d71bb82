// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/data/augment.hpp>
#include <dsl/data/dataset.hpp>
#include <dsl/data/pipeline.hpp>
#include <dsl/data/sample_source.hpp>
#include <dsl/data/sample_stream.hpp>
#include <dsl/detail/list.hpp>
#include <dsl/detail/message.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/detail/option_check.hpp>
#include <dsl/detail/threads.hpp>
#include <dsl/detail/zeros.hpp>
#include <dsl/error.hpp>

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <mutex>
#include <utility>
#include <vector>

namespace dsl::TYPENET_MODE {

struct batch_loader::crew {
  std::mutex mutex;
  std::condition_variable room, filled, idle;  // waited for by workers; by next(); by start()
  detail::thread_group workers;
};

TYPENET_INLINE batch_loader::batch_loader(dataset data, pipeline_options options)
    : data_(std::move(data)), options_(std::move(options)), crew_(new crew) {
  if (options_.targets.empty()) options_.targets.push_back({data_, options_.values});
  std::vector<output_target> const& targets = options_.targets;
  check();
  if (detail::is_stream(data_)) options_.threads = 1;  // its samples have an order
  if (options_.part_size < 0) options_.part_size = options_.batch_size;
  auto const pictures = static_cast<std::size_t>(data_.size);
  auto const part = static_cast<std::size_t>(options_.part_size);
  std::size_t const batch_size = part < pictures ? part : pictures;  // no batch is larger
  picture_ = static_cast<std::size_t>(data_.sample.size());
  order_.allocate(pictures);
  if (options_.prefetch > steps_per_epoch()) options_.prefetch = static_cast<int>(steps_per_epoch());
  slots_ = detail::list<slot>(options_.prefetch + 1);
  for (auto& s : slots_) {
    s.samples.allocate(batch_size);
    s.targets = detail::list<wanted>(static_cast<int>(targets.size()));
    s.views = detail::list<target_view>(static_cast<int>(targets.size()));
    for (std::size_t k = 0; k < targets.size(); ++k) {
      auto const each = static_cast<std::size_t>(targets[k].data.labels_each());
      wanted& to = s.targets[static_cast<int>(k)];
      to.labels.allocate((batch_size + 1) * each);  // and one for others' parts
      to.values.allocate(batch_size * static_cast<std::size_t>(targets[k].values));
      if (weighs()) to.weights.allocate(batch_size * each);
    }
    s.numbers = detail::list<detail::zeros<float>>(1 + data_.further_inputs());
    for (int k = 0; k < s.numbers.size(); ++k) {
      s.numbers[k].allocate(batch_size * (k == 0 ? picture_ : numbers_of(k - 1)));
      s.inputs.push(s.numbers[k].data());
    }
  }
  if (options_.cache) {
    cache_.allocate(pictures * picture_);
    cached_.allocate(pictures);
  }
  try {
    for (int i = 0; i < options_.threads && options_.prefetch > 0; ++i) crew_->workers.start([this] { work(); });
  } catch (...) {
    stop();
    throw;
  }
}

TYPENET_INLINE batch_loader::~batch_loader() { stop(); }

TYPENET_INLINE std::int64_t batch_loader::steps_per_epoch() const {
  return (data_.size + (options_.drop_last ? 0 : options_.batch_size - 1)) / options_.batch_size;
}

TYPENET_INLINE void batch_loader::start(int epoch, std::int64_t step) {
  if (epoch < 0 || step < 0 || step > steps_per_epoch())
    detail::throw_error<option_error>({"batch_loader: epoch must be 0 or more and the step 0 to ", steps_per_epoch(),
                                       "; found epoch ", epoch, ", step ", step, "; check where the run resumes"});
  std::unique_lock lock(crew_->mutex);
  end_ = 0;  // workers begin no more batches
  crew_->idle.wait(lock, [this] { return busy_ == 0; });
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
  crew_->room.notify_all();
}

TYPENET_INLINE batch const* batch_loader::next() {
  std::unique_lock lock(crew_->mutex);
  if (released_ < given_) {  // the caller has finished with the previous batch
    slot_of(released_++).ready = false;
    crew_->room.notify_one();
  }
  if (given_ >= end_) return nullptr;
  auto& s = slot_of(given_);
  if (crew_->workers.size() == 0)
    make(given_, s);
  else
    crew_->filled.wait(lock, [&s] { return s.ready; });
  if (s.failure) {
    end_ = 0;
    std::rethrow_exception(std::exchange(s.failure, nullptr));
  }
  ++given_;
  return &s.view;
}

TYPENET_INLINE batch const* batch_loader::coming() {
  std::scoped_lock const lock(crew_->mutex);
  if (crew_->workers.size() == 0 || given_ >= end_) return nullptr;
  slot const& s = slot_of(given_);
  return s.ready && !s.failure ? &s.view : nullptr;
}

TYPENET_INLINE void batch_loader::check() const {
  detail::option_check const loader{"batch_loader"};
  auto const need = [&](bool holds, char const* must, std::int64_t found, char const* advice) {
    loader.need(holds, must, found, advice);
  };
  need(data_.size > 0, "the data set must have at least one sample", data_.size, "load one first");
  if (!data_.storage)
    detail::throw_error<option_error>({"batch_loader: the data set must have its samples; found none of its ",
                                       data_.size, ", as after std::move(data); use the data set it was moved to"});
  need(data_.size <= 0xffffffff, "a data set must have at most 4,294,967,295 samples", data_.size, "split it");
  need(options_.batch_size > 0, "batch_size must be 1 or more", options_.batch_size, "try 64");
  need(options_.prefetch >= 0, "prefetch must be 0 or more", options_.prefetch, "try 2, or 0 for no threads");
  need(options_.threads > 0, "threads must be 1 or more", options_.threads, "for none, use prefetch = 0");
  need(options_.threads <= 1024, "threads must be 1,024 or fewer", options_.threads, "use one for each core");
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
    detail::throw_error<option_error>({"batch_loader: the mean must have ", data_.sample.size(),
                                       " numbers, as many as a sample; found ", data_.mean->size(),
                                       "; use mean_picture(train)"});
  if (data_.deviation && static_cast<long long>(data_.deviation->size()) != data_.sample.size())
    detail::throw_error<option_error>({"batch_loader: the deviation must have ", data_.sample.size(),
                                       " numbers, as many as a sample; found ", data_.deviation->size(),
                                       "; use normalize(train)"});
  if (data_.has_classes() && !options_.class_weights.empty() &&
      static_cast<int>(options_.class_weights.size()) != data_.classes)
    detail::throw_error<option_error>({"batch_loader: class_weights must have one weight for each of the ",
                                       data_.classes, " classes of the data set; found ",
                                       options_.class_weights.size()});
  if (options_.targets.size() > 1)
    need(options_.class_weights.empty(), "class_weights must be empty if outputs have targets of their own",
         static_cast<std::int64_t>(options_.class_weights.size()), "use with_weights()");
  for (int k = 0; k < data_.further_inputs(); ++k) {
    further_input const& f = (*data_.further)[static_cast<std::size_t>(k)];
    for (auto const& numbers : {f.mean, f.deviation})
      if (numbers && static_cast<long long>(numbers->size()) != f.sample.size())
        detail::throw_error<option_error>({"batch_loader: the mean and deviation of input \"", f.name, "\" must have ",
                                           f.sample.size(), " numbers, as many as the input; found ", numbers->size(),
                                           "; use normalize(train)"});
  }
  if (detail::is_stream(data_) && (options_.shuffle || options_.cache || !options_.drop_last))
    detail::throw_error<option_error>(
        {"batch_loader: shuffle and cache must be false and drop_last true for samples of a stream; found ",
         options_.shuffle ? "shuffle = true; shuffle with shuffle_stream(), or use data that can be read again"
         : options_.cache ? "cache = true; leave .cache out, or use data that can be read again"
                          : "drop_last = false; write .drop_last = true, or use data that can be read again"});
  for (output_target const& t : options_.targets) check(t);
}

TYPENET_INLINE void batch_loader::check(output_target const& t) const {
  detail::option_check const loader{"batch_loader"};
  auto const need = [&](bool holds, char const* must, std::int64_t found, char const* advice) {
    loader.need(holds, must, found, advice);
  };
  if (t.data.pixel_classes && t.data.labels_each() != data_.sample.area())
    detail::throw_error<option_error>({"batch_loader: each sample must have ", data_.sample.area(),
                                       " labels, one for each pixel; found ", t.data.labels_each(),
                                       "; change the labels"});
  if (t.data.pixel_classes)
    need(t.values == 0, ".values must be 0 for data with a class per pixel", t.values, "leave it out");
  else if (t.data.has_classes() && t.values != 0 && t.values != t.data.classes &&
           (t.values != 1 || t.data.classes != 2))
    detail::throw_error<option_error>({"batch_loader: .values must be ", t.data.classes,
                                       t.data.classes == 2 ? " or 1" : ", the number of classes", "; found ", t.values,
                                       "; change the last layer or the loss"});
  else if (!t.data.has_classes() && t.values != 0 && t.values != t.data.values)
    detail::throw_error<option_error>({"batch_loader: .values must be 0 or ", t.data.values,
                                       ", the number of values per sample in the data set; found ", t.values,
                                       "; change the last layer or the data"});
}

TYPENET_INLINE void batch_loader::make(std::int64_t step, slot& s) noexcept try {
  std::int64_t const first = step * options_.batch_size + options_.part_first;
  auto const left = data_.size - first;
  int const size = left < options_.part_size ? static_cast<int>(left) : options_.part_size;
  bool const streams = detail::is_stream(data_);
  if (streams) read_stream(step, s);
  for (int i = 0; i < size; ++i) {
    auto const at = static_cast<std::size_t>(i);
    auto const sample = order_[static_cast<std::size_t>(first + i)];
    s.samples[at] = sample;
    if (streams) continue;
    make_picture(sample, s.numbers[0].data() + at * picture_, s.room);
    for (int k = 0; k < data_.further_inputs(); ++k)
      put_further(k, sample, s.numbers[1 + k].data() + at * numbers_of(k));
  }
  for (int k = 0; k < s.targets.size() && !streams; ++k)
    s.views[k] = make_targets(options_.targets[static_cast<std::size_t>(k)], s.targets[k], step, first, size);
  s.view = {{s.inputs.begin(), s.inputs.end()}, {s.views.begin(), s.views.end()}, s.samples.data(), size, first};
} catch (...) {
  s.failure = std::current_exception();
}

TYPENET_INLINE void batch_loader::read_stream(std::int64_t step, slot& s) {
  wanted& to = s.targets[0];
  int const values = options_.targets[0].values;
  s.room.resize(picture_);
  s.values.resize(static_cast<std::size_t>(data_.values));
  for (std::int64_t i = 0; i < options_.batch_size; ++i) {
    std::int64_t const sample = step * options_.batch_size + i;
    std::int32_t label = 0;
    bool const classes = data_.has_classes();
    detail::read_next(data_, sample, {s.room.data(), classes ? &label : nullptr, classes ? nullptr : s.values.data()});
    if (i < options_.part_first || i >= options_.part_first + options_.part_size) continue;
    auto const at = static_cast<std::size_t>(i - options_.part_first);
    detail::transform_picture(options_.augment.draw(options_.seed, epoch_, sample, data_.sample), data_.sample,
                              {.floats = s.room.data(),
                               .mean = data_.mean ? data_.mean->data() : nullptr,
                               .deviation = data_.deviation ? data_.deviation->data() : nullptr},
                              s.numbers[0].data() + at * picture_);
    to.labels[at] = label;
    put_values(values, label, classes ? nullptr : s.values.data(),
               to.values.data() + at * static_cast<std::size_t>(values));
    if (weighs()) to.weights[at] = options_.class_weights[static_cast<std::size_t>(label)];
  }
  s.views[0] = {data_.has_classes() ? to.labels.data() : nullptr, values > 0 ? to.values.data() : nullptr,
                weighs() ? to.weights.data() : nullptr, -1};
}

TYPENET_INLINE target_view batch_loader::make_targets(output_target const& t, wanted& to, std::int64_t step,
                                                      std::int64_t first, int size) const {
  auto const each = static_cast<std::size_t>(t.data.labels_each());
  std::int64_t labelled = 0;
  for (int i = 0; i < size; ++i) {
    auto const at = static_cast<std::size_t>(i);
    auto const sample = order_[static_cast<std::size_t>(first + i)];
    if (t.data.has_classes()) labelled += put_labels(t, sample, to.labels.data() + at * each);
    put_values(t, sample, to.values.data() + at * static_cast<std::size_t>(t.values));
    if (weighs()) put_weights(t, sample, to.labels.data() + at * each, to.weights.data() + at * each);
  }
  if (t.data.pixel_classes) {  // the other parts' pixels count, too
    std::int32_t* const scratch = to.labels.data() + static_cast<std::size_t>(size) * each;
    std::int64_t const begin = step * options_.batch_size, end = begin + options_.batch_size;
    for (std::int64_t i = begin; i < end && options_.part_size < options_.batch_size; ++i)
      if (i < first || i >= first + size) labelled += put_labels(t, order_[static_cast<std::size_t>(i)], scratch);
  }
  return {t.data.has_classes() ? to.labels.data() : nullptr, t.values > 0 ? to.values.data() : nullptr,
          weighs() ? to.weights.data() : nullptr, t.data.pixel_classes ? labelled : -1};
}

TYPENET_INLINE void batch_loader::put_weights(output_target const& t, std::int64_t sample, std::int32_t const* labels,
                                              float* out) const {
  for (std::int64_t i = 0; i < t.data.labels_each(); ++i) {
    bool const counts = t.data.has_classes() && !options_.class_weights.empty() && labels[i] >= 0;
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

TYPENET_INLINE std::int64_t batch_loader::put_labels(output_target const& t, std::int64_t sample,
                                                     std::int32_t* out) const {
  if (!t.data.pixel_classes) {
    *out = t.data.label(sample);
    return 1;
  }
  detail::transform_labels(options_.augment.draw(options_.seed, epoch_, sample, data_.sample), data_.sample,
                           t.data.labels(sample), out);
  std::int64_t labelled = 0;
  for (std::int64_t i = 0; i < t.data.labels_each(); ++i) labelled += out[i] >= 0 ? 1 : 0;
  return labelled;
}

TYPENET_INLINE void batch_loader::put_values(output_target const& t, std::int64_t sample, float* out) const {
  if (t.values == 0) return;
  put_values(t.values, t.data.has_classes() ? t.data.label(sample) : 0,
             t.data.has_classes() ? nullptr : t.data.wanted(sample), out);
}

TYPENET_INLINE void batch_loader::put_values(int count, int label, float const* wanted, float* out) {
  for (int i = 0; i < count; ++i) out[i] = wanted ? wanted[i] : static_cast<float>(count == 1 ? label : i == label);
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

TYPENET_INLINE void batch_loader::work() {
  std::unique_lock lock(crew_->mutex);
  for (;;) {
    crew_->room.wait(lock, [this] { return stopping_ || may_take(); });
    if (stopping_) return;
    auto const step = taken_++;
    auto& s = slot_of(step);
    ++busy_;
    lock.unlock();
    make(step, s);
    lock.lock();
    s.ready = true;
    if (s.failure && detail::is_stream(data_)) end_ = step + 1;  // it is asked for no sample after its end
    if (--busy_ == 0) crew_->idle.notify_all();
    crew_->filled.notify_one();
  }
}

TYPENET_INLINE void batch_loader::stop() {
  {
    std::scoped_lock const lock(crew_->mutex);
    stopping_ = true;
  }
  crew_->room.notify_all();
  crew_->workers.join();
}

}  // namespace dsl::TYPENET_MODE
