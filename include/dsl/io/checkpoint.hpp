// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mapped_file.hpp>
#include <dsl/detail/message.hpp>
#include <dsl/io/atomic_file.hpp>
#include <dsl/training/callback.hpp>
#include <dsl/training/fingerprint.hpp>
#include <dsl/training/trainer.hpp>
#include <dsl/warning.hpp>

#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace dsl {
namespace detail {

/// What a checkpoint begins with; behind it come 9 doubles for each of `epochs` epochs, then the parameters as floats,
/// each followed by its optimizer slots, then the fingerprint of all that. In this machine's byte order.
struct checkpoint_head {
  char magic[24] = "typenet checkpoint 2";
  std::uint64_t network = 0;  // fingerprints
  std::uint64_t rules = 0;
  std::uint64_t seed = 0;
  std::uint64_t steps = 0;
  std::int64_t slots = 0;  // a parameter
  std::int64_t epochs = 0;
  std::int64_t numbers = 0;  // parameters and slots together
  std::int64_t replicas = 1;
  double learning_rate = 0;
};

constexpr std::size_t epoch_numbers = 9;
[[gnu::cold]] inline void write_epoch(epoch_record const& e, double* to) {
  double const values[epoch_numbers] = {
      static_cast<double>(e.epoch), e.train.loss,    e.train.acc, e.validation.loss,  e.validation.acc,
      e.validated ? 1.0 : 0.0,      e.learning_rate, e.seconds,   e.images_per_second};
  std::memcpy(to, values, sizeof values);
}
[[gnu::cold]] inline epoch_record read_epoch(double const* v) {
  return {
      v[0] >= 0 && v[0] < 1e9 ? static_cast<int>(v[0]) : 0, {v[1], v[2]}, {v[3], v[4]}, v[5] != 0, v[6], v[7], v[8]};
}

/// f(slot, k, numbers) for every parameter (slot -1) and optimizer slot, in the file's order.
template <class F>
void for_each_array(engine& e, F f) {
  for (int k = 0; k < e.graph().size.parameters; ++k) {
    parameter const& p = e.graph().parameters[k];
    for (int s = -1; s < (p.trainable() ? e.options().update.slots() : 0); ++s) f(s, k, p.count());
  }
}
[[gnu::cold]] inline std::uint64_t checksum(std::string const& bytes, std::size_t size) {
  fingerprint f;
  f.add(bytes.data(), size);
  return f.value();
}

}  // namespace detail

/// A training's state behind an epoch, as bytes: parameters, running statistics, optimizer slots, counters, and what
/// every epoch came to. An executor that computes in float goes on from it with the same bits, since order,
/// augmentation and dropout depend on seed, epoch and step alone. The rate is the next epoch's.
[[gnu::cold]] inline std::string checkpoint(trainer& t, history const& past, double learning_rate) {
  engine& e = t.engine();
  detail::checkpoint_head head{.network = detail::fingerprint_of(t.graph()),
                               .rules = detail::fingerprint_of(e.options()),
                               .seed = t.seed(),
                               .steps = t.steps(),
                               .slots = e.options().update.slots(),
                               .epochs = static_cast<std::int64_t>(past.epochs.size()),
                               .replicas = e.replicas(),
                               .learning_rate = learning_rate};
  detail::for_each_array(e, [&](int, int, long long count) { head.numbers += count; });
  std::string bytes;
  auto const append = [&](void const* data, std::size_t size) { bytes.append(static_cast<char const*>(data), size); };
  append(&head, sizeof head);
  for (epoch_record const& r : past.epochs) {
    double numbers[detail::epoch_numbers];
    detail::write_epoch(r, numbers);
    append(numbers, sizeof numbers);
  }
  std::vector<float> values;
  detail::for_each_array(e, [&](int slot, int k, long long count) {
    values.resize(static_cast<std::size_t>(count));
    slot < 0 ? e.read_parameter(k, values.data()) : e.read_slot(slot, k, values.data());
    append(values.data(), values.size() * sizeof(float));
  });
  std::uint64_t const sum = detail::checksum(bytes, bytes.size());
  append(&sum, sizeof sum);
  return bytes;
}

[[gnu::cold]] inline std::string checkpoint(trainer& t, history const& past) {
  return checkpoint(t, past, t.learning_rate());
}

/// Gives a trainer that state, and returns what came before: fit(..., {.initial_epoch = past.epochs.size()}) goes on.
/// Throws file_error for bytes that are no whole checkpoint of such a training, and has changed nothing then. `name` is
/// the file's, for messages.
[[gnu::cold]] inline history restore(trainer& t, std::string const& bytes, std::string const& name) {
  using detail::message;
  auto const need = [&](bool holds, std::string const& what) {
    if (!holds) throw file_error(message({"checkpoint: ", name, " ", what}));
  };
  engine& e = t.engine();
  detail::checkpoint_head head{};
  detail::checkpoint_head const own{};
  need(bytes.size() >= sizeof head && std::memcmp(bytes.data(), own.magic, sizeof own.magic) == 0,
       "must begin as typenet's checkpoints do; give another file, or start without");
  std::memcpy(&head, bytes.data(), sizeof head);
  bool const counts = head.epochs >= 0 && head.epochs < 1'000'000'000 && head.numbers >= 0 && head.numbers < 1LL << 40;
  auto const records = counts ? static_cast<std::size_t>(head.epochs) * detail::epoch_numbers * sizeof(double) : 0;
  auto const numbers = counts ? static_cast<std::size_t>(head.numbers) * sizeof(float) : 0;
  std::size_t const size = sizeof head + records + numbers + sizeof(std::uint64_t);
  need(counts && bytes.size() == size,
       message({"must have ", size, " bytes; found ", bytes.size(), ": it is cut short or damaged; start without"}));
  std::uint64_t sum = 0;
  std::memcpy(&sum, bytes.data() + size - sizeof sum, sizeof sum);
  need(sum == detail::checksum(bytes, size - sizeof sum), "is damaged: its checksum does not fit; start without");
  long long own_numbers = 0;
  detail::for_each_array(e, [&](int, int, long long count) { own_numbers += count; });
  need(head.network == detail::fingerprint_of(t.graph()), "is another network's; give another file, or start without");
  need(head.slots == e.options().update.slots() && head.rules == detail::fingerprint_of(e.options()),
       "is of another optimizer, loss or batch_norm; choose the same ones, or start without");
  need(head.numbers == own_numbers, "has another number of weights than its network; start without");
  need(head.seed == t.seed(), message({"has the seed ", static_cast<long long>(head.seed), ", this training has ",
                                       static_cast<long long>(t.seed()), "; choose the same one, or start without"}));

  if (head.replicas != e.replicas())
    on_warning(
        message({"checkpoint: ", name, " is of ", static_cast<long long>(head.replicas), " towers, this training has ",
                 e.replicas(), "; with the same batch for each of them steps and learning rate mean something else"})
            .c_str());

  history past;
  for (std::int64_t i = 0; i < head.epochs; ++i) {
    double read[detail::epoch_numbers];
    std::memcpy(read, bytes.data() + sizeof head + static_cast<std::size_t>(i) * sizeof read, sizeof read);
    past.epochs.push_back(detail::read_epoch(read));
  }
  std::vector<float> values;
  char const* from = bytes.data() + sizeof head + records;
  detail::for_each_array(e, [&](int slot, int k, long long count) {
    values.resize(static_cast<std::size_t>(count));
    std::memcpy(values.data(), from, values.size() * sizeof(float));
    from += values.size() * sizeof(float);
    slot < 0 ? e.write_parameter(k, values.data()) : e.write_slot(slot, k, values.data());
  });
  t.set_steps(head.steps);
  t.set_learning_rate(head.learning_rate);
  return past;
}

/// Throws file_error; then a file that was there before is as it was.
[[gnu::cold]] inline void write_checkpoint(std::string const& bytes, std::string const& path) {
  atomic_file file(path, "checkpoint");
  file.write(bytes);
  file.commit();
}
/// For restore(). Throws file_error.
[[gnu::cold]] inline std::string read_checkpoint(std::string const& path) {
  try {
    detail::mapped_file const file(path, "checkpoint", "give another file, or start without");
    return file.size() > 0 ? std::string(reinterpret_cast<char const*>(file.data()), file.size()) : std::string();
  } catch (data_error const& e) {
    throw file_error(e.what());
  }
}

/// Writes one behind every epoch, over the one before. Comes behind callbacks that change the learning rate then.
/// `earlier` is what restore() returned, where it went on. Throws file_error before the first epoch where the file
/// can't be written. Where that fails later (the disk is full, the folder gone) it warns once, and tries again behind
/// the next epoch: hours of training are worth more than the means to repeat them.
struct checkpoint_each_epoch : callback {
  std::string path;
  history earlier{};

  explicit checkpoint_each_epoch(std::string to, history before = {})
      : path(std::move(to)), earlier(std::move(before)) {}

  void on_train_begin(fit_run&) override { check_writable(path, "checkpoint"); }
  [[gnu::cold]] void on_epoch_end(fit_run& run) override {
    history all = earlier;
    all.epochs.insert(all.epochs.end(), run.past.epochs.begin(), run.past.epochs.end());
    try {
      write_checkpoint(checkpoint(run.trainer, all, run.learning_rate), path);
    } catch (file_error const& e) {
      if (!std::exchange(warned_, true))
        on_warning(detail::message({e.what(), "; training goes on, and tries again behind each epoch"}).c_str());
    }
  }

 private:
  bool warned_ = false;
};

}  // namespace dsl
