// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/data/augment.hpp>
#include <dsl/data/dataset.hpp>
#include <dsl/data/target_view.hpp>
#include <dsl/detail/list.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/detail/zeros.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace dsl::TYPENET_MODE {

/// The targets that one output of a network is compared with, or all outputs. Sample i of `data` belongs to sample i of
/// the data set.
struct output_target {
  dataset data;
  /// Target values per sample in batches. If the samples have classes, the value at the number of the class is 1 and
  /// the others are 0; if there is only one value, it is the class number, 0 or 1.
  int values = 0;
};

/// The settings of a batch_loader: how it makes batches of a data set, and with how many threads. For an equal seed and
/// epoch the bits are the same, whatever the prefetch depth and the number of threads.
struct pipeline_options {
  int batch_size = 64;
  std::uint64_t seed = 0;
  bool shuffle = true;
  bool drop_last = false;  // leaves out the last batch of an epoch if it is short
  augmentation augment{};
  int prefetch = 2;  // batches prepared while a step runs; 0: each is made on request, without threads
  int threads = 1;   // that prepare batches; one thread makes a batch
  /// The part of each batch that is taken if other processes take the rest: samples [part_first, part_first +
  /// part_size). If part_size is -1, all samples are taken.
  int part_first = 0;
  int part_size = -1;
  bool cache = false;  // keeps the normalised floats after the first pass: 4 bytes per number, 586 MiB for CIFAR-10
  int values = 0;      // output_target::values of the data set's own target, if there are no others
  std::vector<float> class_weights{};    // factors of the losses of each class; empty: all are 1
  std::vector<output_target> targets{};  // of each output, or one of all; empty: the data set's own target
};

/// A batch. Its samples are NCHW, augmented and normalised. It is valid until the next call of next() or start().
struct batch {
  std::span<float const* const> inputs{};  // the samples' size x sample.size() floats, then those of further inputs
  /// As in pipeline_options::targets, or the data set's own target. Labels are null if there are no classes, and values
  /// if there are none per sample. A weight is the sample's times that of its class; null if all are 1.
  std::span<target_view const> targets{};
  std::int64_t const* samples = nullptr;  // size: indices in the data set
  int size = 0;
  std::int64_t first = 0;  // the first sample's position within the epoch
};

/// Sets `order` to a permutation of 0 .. order.size()-1, by the Fisher-Yates method. It depends only on the seed and
/// the epoch. `order` is a std::vector<std::int64_t>, or anything with size() and [].
template <class Numbers>
void epoch_order(std::uint64_t seed, int epoch, Numbers& order) {
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::int64_t>(i);
  detail::random_stream random{seed, detail::purpose::shuffle, static_cast<std::uint64_t>(epoch)};
  for (std::size_t n = order.size(); n > 1; --n)
    std::swap(order[n - 1], order[random.below(static_cast<std::uint32_t>(n))]);
}

/// Prepares the batches of a data set in background threads. The order and the augmentation depend only on (seed,
/// epoch, sample), so the number of threads and the prefetch depth do not change the bits. Nothing is allocated per
/// batch.
///   batch_loader loader{cifar.train, {.batch_size = 64, .augment = shift_and_flip{}}};
///   for (loader.start(epoch); auto const* b = loader.next();) step(b->inputs[0], b->targets[0].labels, b->size);
/// Only one thread may call start() and next(). The loader holds prefetch + 1 batches in memory: 2.3 MiB for batches of
/// 64 CIFAR-10 images and a prefetch of 2.
class batch_loader {
 public:
  batch_loader(dataset data, pipeline_options options);
  batch_loader(batch_loader const&) = delete;
  batch_loader& operator=(batch_loader const&) = delete;
  ~batch_loader();

  /// Returns the number of batches per epoch. A short last batch counts, unless options().drop_last is set.
  std::int64_t steps_per_epoch() const;
  /// Return the constructor's arguments; the options have at least one target.
  dataset const& data() const { return data_; }
  pipeline_options const& options() const { return options_; }

  /// Begins `epoch` (from 0) at batch `step`, and discards the rest of an earlier epoch. start(epoch, step) lets a
  /// resumed run continue within an epoch; it gets the same bits as the run that was stopped.
  void start(int epoch, std::int64_t step = 0);

  /// Returns the next batch, or null at the end of the epoch. If an error occurred while the batch was made, throws
  /// that error, which ends the epoch.
  batch const* next();
  /// Returns the batch that next() will return, if a thread has already made it; otherwise null. The batch stays valid
  /// until next() has been called twice more.
  batch const* coming();

 private:
  struct wanted {
    detail::zeros<std::int32_t> labels;
    detail::zeros<float> values;
    detail::zeros<float> weights;
  };
  struct slot {
    detail::list<detail::zeros<float>> numbers;  // of each input
    detail::list<float const*> inputs;           // their addresses
    detail::zeros<std::int64_t> samples;
    detail::list<wanted> targets;
    detail::list<target_view> views;
    std::vector<float> values;  // of a sample of a stream
    std::vector<float> room;    // for a sample of a source
    batch view;
    std::exception_ptr failure;
    bool ready = false;
  };

  void check() const;

  slot& slot_of(std::int64_t step) { return slots_[static_cast<int>(step % slots_.size())]; }

  // Makes batch `step` of the epoch in a slot that no other thread touches; stores errors for the consumer.
  void make(std::int64_t step, slot& s) noexcept;

  std::size_t numbers_of(int further) const {
    return static_cast<std::size_t>((*data_.further)[static_cast<std::size_t>(further)].sample.size());
  }
  bool weighs() const { return data_.weights || !options_.class_weights.empty(); }
  void put_weights(output_target const& t, std::int64_t sample, std::int32_t const* labels, float* out) const;
  void put_further(int input, std::int64_t sample, float* out) const;
  void put_values(output_target const& t, std::int64_t sample, float* out) const;
  /// Writes target values: `wanted`, or those that the class `label` stands for if that is null.
  static void put_values(int count, int label, float const* wanted, float* out);
  /// Makes the samples and the targets of batch `step` from the next samples of a stream. Samples of other
  /// processes are read, too, because a stream cannot skip any.
  void read_stream(std::int64_t step, slot& s);
  /// Writes a sample's labels in the order of the pixels of the transformed image. Returns the number of labels that
  /// are not -1.
  std::int64_t put_labels(output_target const& t, std::int64_t sample, std::int32_t* out) const;
  /// Makes the targets of batch `step`, `size` samples from position `first` of the epoch.
  target_view make_targets(output_target const& t, wanted& to, std::int64_t step, std::int64_t first, int size) const;
  void check(output_target const& t) const;

  void make_picture(std::int64_t sample, float* out, std::vector<float>& room);

  detail::pixel_source source_of(std::int64_t sample, std::vector<float>& room) const;

  bool may_take() const { return taken_ < end_ && taken_ < released_ + slots_.size(); }
  void work();

  void stop();

  dataset data_;
  pipeline_options options_;
  std::size_t picture_ = 0;            // number of floats per image
  detail::zeros<std::int64_t> order_;  // written by start() while no worker is busy
  detail::list<slot> slots_;           // batch k is in slot k mod slots
  detail::zeros<float> cache_;
  detail::zeros<unsigned char> cached_;  // bytes, not bits: workers write neighbouring ones concurrently
  int epoch_ = 0;

  std::int64_t taken_ = 0, given_ = 0, released_ = 0;  // number of batches begun by workers, handed out, handed back
  std::int64_t end_ = 0;                               // one past the last batch that may be begun; 0 before start()
  int busy_ = 0;
  bool stopping_ = false;
  struct crew;
  std::unique_ptr<crew> crew_;  // the threads; its mutex guards the members from taken_ on, and slot::ready
};

}  // namespace dsl::TYPENET_MODE

#ifdef TYPENET_DEFINITIONS
#include <dsl/data/pipeline_inl.hpp>
#endif
