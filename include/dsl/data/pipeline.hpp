// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/data/augment.hpp>
#include <dsl/data/dataset.hpp>
#include <dsl/detail/list.hpp>
#include <dsl/detail/message.hpp>
#include <dsl/detail/option_check.hpp>
#include <dsl/detail/threads.hpp>
#include <dsl/detail/zeros.hpp>
#include <dsl/error.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <utility>

namespace dsl {

/// Which batches a batch_loader makes of a data set, and who makes them. The same (seed, epoch) gives the same bits,
/// whatever prefetch and threads are.
struct pipeline_options {
  int batch_size = 64;
  std::uint64_t seed = 0;
  bool shuffle = true;
  bool drop_last = false;  // leave out the last batch of an epoch when it is short
  augmentation augment{};
  int prefetch = 2;  // batches made ready while the step runs; 0: made when asked for, without any thread
  int threads = 1;   // that make them; a batch is one thread's work
  /// Of each batch only pictures [part_first, part_first + part_size), where other processes bring the rest; -1: all.
  int part_first = 0;
  int part_size = -1;
  bool cache = false;  // keep the normalised floats after the first pass: 4 bytes a number, 586 MiB for CIFAR-10
  int values = 0;      // to be learnt of each sample, which batches bring; a class counts as described at batch::values
};

/// Valid until the next call of next() or start(). Samples are NCHW, augmented, normalised.
struct batch {
  float const* images = nullptr;          // size x sample.size()
  std::int32_t const* labels = nullptr;   // size; null where the data set has no classes
  std::int64_t const* samples = nullptr;  // size: where in the data set they came from
  int size = 0;
  std::int64_t first = 0;  // position within the epoch of the batch's first sample
  /// size x pipeline_options::values. Of a class, 1 in the place of its number and 0 in the others; where there is one
  /// value only, the number of the class, which is 0 or 1.
  float const* values = nullptr;
};

/// The order of one epoch: a permutation of 0 .. order.size()-1 that depends on (seed, epoch) alone (Fisher-Yates).
/// order: a std::vector<std::int64_t>, or whatever has its size() and [].
template <class Numbers>
void epoch_order(std::uint64_t seed, int epoch, Numbers& order) {
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::int64_t>(i);
  detail::random_stream random{seed, detail::purpose::shuffle, static_cast<std::uint64_t>(epoch)};
  for (std::size_t n = order.size(); n > 1; --n)
    std::swap(order[n - 1], order[random.below(static_cast<std::uint32_t>(n))]);
}

/// Batches of a data set in a fixed order, made ready by background threads. Order and augmentation depend on (seed,
/// epoch, sample) alone, so every thread count and prefetch depth gives the same bits. Nothing is allocated per batch.
///   batch_loader loader{cifar.train, {.batch_size = 64, .augment = shift_and_flip{}}};
///   for (loader.start(epoch); auto const* b = loader.next();) step(b->images, b->labels, b->size);
/// One thread consumes; prefetch + 1 batches are kept, so 64 CIFAR pictures and prefetch 2 take 2.3 MiB.
class batch_loader {
 public:
  [[gnu::cold]] batch_loader(dataset data, pipeline_options options)
      : data_(std::move(data)), options_(std::move(options)) {
    check();
    if (options_.part_size < 0) options_.part_size = options_.batch_size;
    auto const pictures = static_cast<std::size_t>(data_.size);
    auto const part = static_cast<std::size_t>(options_.part_size);
    std::size_t const batch_size = part < pictures ? part : pictures;  // no batch has more
    picture_ = static_cast<std::size_t>(data_.sample.size());
    order_.allocate(pictures);
    if (options_.prefetch > steps_per_epoch()) options_.prefetch = static_cast<int>(steps_per_epoch());
    slots_ = detail::list<slot>(options_.prefetch + 1);
    for (auto& s : slots_) {
      s.images.allocate(batch_size * picture_);
      s.labels.allocate(batch_size);
      s.samples.allocate(batch_size);
      s.values.allocate(batch_size * static_cast<std::size_t>(options_.values));
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
  batch_loader(batch_loader const&) = delete;
  batch_loader& operator=(batch_loader const&) = delete;
  ~batch_loader() { stop(); }

  std::int64_t steps_per_epoch() const {
    return (data_.size + (options_.drop_last ? 0 : options_.batch_size - 1)) / options_.batch_size;
  }
  dataset const& data() const { return data_; }
  pipeline_options const& options() const { return options_; }

  /// Begins `epoch` (from 0) at batch `step`; whatever was left of an earlier one is dropped. A resumed run continues
  /// in the middle of an epoch with start(epoch, step): the batches from there on are the same bits.
  [[gnu::cold]] void start(int epoch, std::int64_t step = 0) {
    if (epoch < 0 || step < 0 || step > steps_per_epoch())
      detail::refuse<option_error>({"batch_loader: epoch must be 0 or more and the step 0 to ", steps_per_epoch(),
                                    "; found epoch ", epoch, ", step ", step, "; check where the run resumes"});
    detail::lock const lock(mutex_);
    end_ = 0;  // no worker takes another batch
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

  /// The next batch, or null at the end of the epoch. What went wrong in making it is thrown here and ends the epoch.
  [[gnu::cold]] batch const* next() {
    detail::lock const lock(mutex_);
    if (released_ < given_) {  // the caller is done with the batch before
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

 private:
  struct slot {
    detail::zeros<float> images;
    detail::zeros<std::int32_t> labels;
    detail::zeros<std::int64_t> samples;
    detail::zeros<float> values;
    batch view;
    std::exception_ptr failure;
    bool ready = false;
  };

  [[gnu::cold]] void check() const {
    detail::option_check const loader{"batch_loader"};
    auto const need = [&](bool holds, char const* must, std::int64_t found, char const* advice) {
      loader.need(holds, must, found, advice);
    };
    need(data_.size > 0 && data_.storage, "the data set must have a picture", data_.size, "load one first");
    need(data_.size <= 0xffffffff, "a data set must have at most 4,294,967,295 pictures", data_.size, "split it");
    need(options_.batch_size > 0, "batch_size must be 1 or more", options_.batch_size, "try 64");
    need(options_.prefetch >= 0, "prefetch must be 0 or more", options_.prefetch, "try 2, or 0 for no thread");
    need(options_.threads > 0, "threads must be 1 or more", options_.threads, "prefetch = 0 is how to have none");
    need(options_.part_size < 0 || (options_.part_first >= 0 && options_.drop_last &&
                                    options_.part_first <= options_.batch_size - options_.part_size),
         "a part must lie within every batch, and the last one be left out where it is short", options_.part_first,
         "use the part that the engine asks for");
    need(!options_.drop_last || options_.batch_size <= data_.size,
         "batch_size must be at most the data set's size where a short batch is dropped", options_.batch_size,
         "choose a smaller batch");
    if (data_.mean && static_cast<long long>(data_.mean->size()) != data_.sample.size())
      need(false, "the mean must have one number per pixel", static_cast<std::int64_t>(data_.mean->size()),
           "use mean_picture(train)");
    if (data_.deviation && static_cast<long long>(data_.deviation->size()) != data_.sample.size())
      need(false, "the deviation must have one number per pixel", static_cast<std::int64_t>(data_.deviation->size()),
           "use normalize(train)");
    if (data_.has_classes() && options_.values > 0)
      need(options_.values == data_.classes || (options_.values == 1 && data_.classes == 2),
           "a class must become as many values as there are classes, or one of two classes one value", options_.values,
           "change the last layer or the loss");
    else
      need(options_.values == 0 || options_.values == data_.values,
           "batches must bring the values that the data set has", options_.values, "change the last layer or the data");
  }

  slot& slot_of(std::int64_t step) { return slots_[static_cast<int>(step % slots_.size())]; }

  // Batch `step` of the epoch into a slot that nobody else touches; errors are kept for the consumer.
  [[gnu::cold]] void make(std::int64_t step, slot& s) noexcept try {
    std::int64_t const first = step * options_.batch_size + options_.part_first;
    auto const left = data_.size - first;
    int const size = left < options_.part_size ? static_cast<int>(left) : options_.part_size;
    for (int i = 0; i < size; ++i) {
      auto const at = static_cast<std::size_t>(i);
      auto const sample = order_[static_cast<std::size_t>(first + i)];
      s.samples[at] = sample;
      if (data_.has_classes()) s.labels[at] = data_.label(sample);
      put_values(sample, s.values.data() + at * static_cast<std::size_t>(options_.values));
      make_picture(sample, s.images.data() + at * picture_);
    }
    s.view = {s.images.data(), data_.has_classes() ? s.labels.data() : nullptr, s.samples.data(), size,
              first,           options_.values > 0 ? s.values.data() : nullptr};
  } catch (...) {
    s.failure = std::current_exception();
  }

  void put_values(std::int64_t sample, float* out) const {
    int const label = data_.has_classes() ? data_.label(sample) : 0;
    float const* const wanted = data_.has_classes() ? nullptr : data_.wanted(sample);
    for (int i = 0; i < options_.values; ++i)
      out[i] = wanted ? wanted[i] : static_cast<float>(options_.values == 1 ? label : i == label);
  }

  void make_picture(std::int64_t sample, float* out) {
    transform const t = options_.augment.draw(options_.seed, epoch_, sample, data_.sample);
    detail::pixel_source const source = source_of(sample);
    if (!cache_.data()) return detail::transform_picture(t, data_.sample, source, out);
    auto const at = static_cast<std::size_t>(sample);
    float* const kept = cache_.data() + at * picture_;
    if (!cached_[at]) detail::transform_picture(transform{}, data_.sample, source, kept);
    cached_[at] = 1;  // an epoch visits a sample once, so no other worker looks at this byte before the next start()
    apply(t, kept, out, data_.sample);
  }

  detail::pixel_source source_of(std::int64_t sample) const {
    detail::pixel_source from{.mean = data_.mean ? data_.mean->data() : nullptr,
                              .deviation = data_.deviation ? data_.deviation->data() : nullptr};
    if (data_.has_bytes())
      from.bytes = data_.pixels(sample);
    else
      from.floats = data_.reals(sample);
    return from;
  }

  static void* run_worker(void* loader) {
    static_cast<batch_loader*>(loader)->work();
    return nullptr;
  }
  bool may_take() const { return taken_ < end_ && taken_ < released_ + slots_.size(); }
  [[gnu::cold]] void work() {
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

  [[gnu::cold]] void stop() {
    {
      detail::lock const lock(mutex_);
      stopping_ = true;
    }
    room_.notify_all();
    workers_.join();
  }

  dataset data_;
  pipeline_options options_;
  std::size_t picture_ = 0;            // floats of one picture
  detail::zeros<std::int64_t> order_;  // written by start() while no worker is busy
  detail::list<slot> slots_;           // batch k lives in slot k mod slots
  detail::zeros<float> cache_;
  detail::zeros<unsigned char> cached_;  // bytes: workers write neighbours at once
  int epoch_ = 0;

  detail::mutex mutex_;                                // guards what follows and slot::ready
  detail::condition room_, filled_, idle_;             // for workers; for next(); for start()
  std::int64_t taken_ = 0, given_ = 0, released_ = 0;  // batches begun by workers, handed out, handed back
  std::int64_t end_ = 0;                               // one past the last batch that may be begun; 0 before start()
  int busy_ = 0;
  bool stopping_ = false;
  detail::thread_group workers_;
};

}  // namespace dsl
