// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/math.hpp>
#include <dsl/detail/message.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/io/checkpoint_format.hpp>
#include <dsl/io/saved_network.hpp>
#include <dsl/training/callback.hpp>
#include <dsl/training/fingerprint.hpp>
#include <dsl/training/trainer.hpp>

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dsl::detail::TYPENET_MODE {

TYPENET_INLINE void checkpoint_head::set(fit_position const& at) {
  epoch = at.epoch, step = at.step;
  loss = at.loss, correct = at.correct, first_rate = at.learning_rate, seconds = at.seconds;
}

TYPENET_INLINE std::size_t checkpoint_size(checkpoint_head const& head) {
  bool const counts = head.epochs >= 0 && head.epochs <= head.epoch && head.numbers >= 0 && head.numbers < 1LL << 40 &&
                      head.callbacks >= 0 && head.callbacks < 1LL << 42 && head.slots >= 0 && head.slots < 100 &&
                      head.epoch < 1'000'000'000 && head.step >= 0 && head.step <= head.steps_an_epoch &&
                      head.batch_size >= 0 && head.batch_size < 1LL << 31 && head.steps < 1ULL << 53 &&
                      head.replicas > 0 && head.replicas < 1LL << 31 && is_learning_rate(head.learning_rate);
  if (!counts) return 0;
  return sizeof head + static_cast<std::size_t>(head.epochs) * epoch_numbers * sizeof(double) +
         static_cast<std::size_t>(head.numbers) * sizeof(float) + static_cast<std::size_t>(head.callbacks) +
         sizeof(std::uint64_t);
}

TYPENET_INLINE void write_epoch(epoch_record const& e, double* to) {
  double const values[epoch_numbers] = {
      static_cast<double>(e.epoch), e.train.loss,    e.train.acc, e.validation.loss,  e.validation.acc,
      e.validated ? 1.0 : 0.0,      e.learning_rate, e.seconds,   e.images_per_second};
  std::memcpy(to, values, sizeof values);
}

TYPENET_INLINE epoch_record read_epoch(double const* v) {
  return {static_cast<int>(v[0]), {v[1], v[2]}, {v[3], v[4]}, v[5] != 0, v[6], v[7], v[8]};
}

TYPENET_INLINE std::uint64_t checksum(std::string const& bytes, std::size_t size) {
  fingerprint f;
  f.add(bytes.data(), size);
  return f.value();
}

TYPENET_INLINE std::string checkpoint_bytes(trainer& t, checkpoint_head head, history const& past,
                                            std::string const& callbacks, std::vector<float> const* weights) {
  engine& e = t.engine();
  head.network = fingerprint_of(t.graph(), head.fingerprints);
  head.rules = fingerprint_of(e.options(), t.graph(), head.fingerprints);
  head.seed = t.seed();
  head.steps = t.steps();
  head.epochs = static_cast<std::int64_t>(past.epochs.size());
  head.replicas = e.replicas();
  head.callbacks = static_cast<std::int64_t>(callbacks.size());
  for_each_array(t.graph(), head.slots, [&](int, int, long long count) { head.numbers += count; });
  std::string bytes;
  auto const append = [&](void const* data, std::size_t size) { bytes.append(static_cast<char const*>(data), size); };
  append(&head, sizeof head);
  for (epoch_record const& r : past.epochs) {
    double numbers[epoch_numbers];
    write_epoch(r, numbers);
    append(numbers, sizeof numbers);
  }
  std::vector<float> values;
  float const* given = weights ? weights->data() : nullptr;
  for_each_array(t.graph(), head.slots, [&](int slot, int k, long long count) {
    auto const size = static_cast<std::size_t>(count);
    values.assign(size, 0);
    bool const frozen = t.graph().parameters[k].frozen;
    if (slot >= 0 && !frozen)
      e.read_slot(slot, k, values.data());
    else if (slot < 0 && given)
      std::memcpy(values.data(), std::exchange(given, given + size), size * sizeof(float));
    else if (slot < 0)
      e.read_parameter(k, values.data());
    append(values.data(), size * sizeof(float));
  });
  bytes += callbacks;
  std::uint64_t const sum = checksum(bytes, bytes.size());
  append(&sum, sizeof sum);
  return bytes;
}

TYPENET_INLINE char const* ending_of_other_format(std::string const& path) {
  for (char const* other : {".safetensors", ".h5", ".keras", ".onnx", ".pt"})
    if (path.ends_with(other)) return other;
  return nullptr;
}

TYPENET_INLINE std::string wrong_size(std::size_t expected, std::size_t found, char const* otherwise) {
  return expected > 0
             ? message({"must have ", expected, " bytes; found ", found, ": it is truncated or damaged; ", otherwise})
             : message({"has impossible sizes or counts: it is truncated or damaged; ", otherwise});
}

TYPENET_INLINE std::string advice_for_begin(std::string const& bytes, char const* otherwise) {
  if (bytes.size() > 8 && bytes[8] == '{') return "this one looks like safetensors: load_safetensors reads it";
  if (bytes.compare(0, 4, "\x89HDF") == 0) return "this one is HDF5: load_keras_h5 reads Keras's weights";
  return std::string_view(otherwise) == give_another ? give_another : message({give_another, ", or ", otherwise});
}

TYPENET_INLINE checkpoint_reader::checkpoint_reader(graph_view const& g, std::string const& bytes,
                                                    std::string const& name, char const* otherwise)
    : bytes_(bytes), name_(name), otherwise_(otherwise) {
  checkpoint_head const own{};
  need(bytes.size() >= sizeof own.magic && std::memcmp(bytes.data(), own.magic, version_at) == 0,
       message({"must begin as typenet's checkpoints do; ", advice_for_begin(bytes, otherwise)}));
  need_or(std::memcmp(bytes.data(), own.magic, sizeof own.magic) == 0,
          "is from another version of typenet; use the program that wrote it, or ");
  need_or(bytes.size() >= sizeof head, message({"must have ", sizeof head, " bytes or more; found ", bytes.size(),
                                                ": it is truncated or damaged; "}));
  std::memcpy(&head, bytes.data(), sizeof head);
  std::size_t const size = checkpoint_size(head);
  need(size == bytes.size(), wrong_size(size, bytes.size(), otherwise));
  std::uint64_t sum = 0;
  std::memcpy(&sum, bytes.data() + size - sizeof sum, sizeof sum);
  need_or(sum == checksum(bytes, size - sizeof sum), "is damaged: its checksum is wrong; ");
  need_or(head.fingerprints >= 0 && head.fingerprints <= fingerprint_version,
          message({"is from another version of typenet, with network fingerprints of version ", head.fingerprints,
                   "; this one reads 0 to ", fingerprint_version, "; use the program that wrote it, or "}));
  long long expected = 0;
  for_each_array(g, head.slots, [&](int, int, long long count) { expected += count; });
  callbacks_ = size - sizeof sum - static_cast<std::size_t>(head.callbacks);
  if (head.network != fingerprint_of(g, head.fingerprints)) {
    std::string const parameter = differing_parameter(g, callbacks(), name, otherwise);
    need(false, message({"is from another network: it has ", static_cast<long long>(head.numbers),
                         " numbers, and a file of this network would have ", expected, parameter.empty() ? "" : "; ",
                         parameter,
                         std::string_view(otherwise) == start_without
                             ? "; give another file, or remove this one to start from the beginning"
                             : "; give another file, or use save_safetensors and load_safetensors(trainer, path, "
                               "{.skip_mismatch = true}) to transfer the weights that fit"}));
  }
  need_or(head.numbers == expected, message({"must have ", expected, " numbers, as its network has; found ",
                                             static_cast<long long>(head.numbers), ": it is damaged; "}));
  arrays_ = callbacks_ - static_cast<std::size_t>(head.numbers) * sizeof(float);
  check_position();
}

TYPENET_INLINE void checkpoint_reader::need(bool holds, std::string const& what) const {
  if (!holds) throw file_error(message({"checkpoint: ", name_, " ", what}));
}

TYPENET_INLINE void checkpoint_reader::need_or(bool holds, std::string const& what) const {
  need(holds, what + otherwise_);
}

TYPENET_INLINE history checkpoint_reader::past() const {
  history h;
  for (std::int64_t i = 0; i < head.epochs; ++i) {
    double read[epoch_numbers];
    read_record(i, read);
    h.epochs.push_back(read_epoch(read));
  }
  return h;
}

TYPENET_INLINE void checkpoint_reader::give_arrays(engine& e, bool slots) const {
  long long largest = 0;
  for_each_array(e.graph(), head.slots,
                 [&](int, int, long long count) { largest = count > largest ? count : largest; });
  std::vector<float> values;
  values.reserve(static_cast<std::size_t>(largest));  // without memory for one of them, none is changed
  char const* from = bytes_.data() + arrays_;
  for_each_array(e.graph(), head.slots, [&](int slot, int k, long long count) {
    values.resize(static_cast<std::size_t>(count));
    std::memcpy(values.data(), from, values.size() * sizeof(float));
    from += values.size() * sizeof(float);
    if (slot < 0)
      e.write_parameter(k, values.data());
    else if (slots && !e.graph().parameters[k].frozen)
      e.write_slot(slot, k, values.data());
  });
}

TYPENET_INLINE void checkpoint_reader::read_record(std::int64_t i, double (&to)[epoch_numbers]) const {
  std::memcpy(to, bytes_.data() + sizeof head + static_cast<std::size_t>(i) * sizeof to, sizeof to);
}

TYPENET_INLINE void checkpoint_reader::check_position() const {
  need_or(is_learning_rate(head.first_rate) && isfinite(head.loss) && isfinite(head.correct) && head.seconds >= 0 &&
              head.seconds < 1e12,
          "is damaged: its totals of the current epoch are impossible; ");
  need_or(head.epoch == 0 || head.step > 0 || head.epochs > 0,
          message({"is damaged: it was saved after epoch ", head.epoch, " but has no record of any epoch; "}));
  double record[epoch_numbers] = {};
  for (std::int64_t i = 0; i < head.epochs; ++i) {
    read_record(i, record);
    need_or(is_epoch(record[0]), message({"is damaged: record ", i, " is for epoch ", record[0], "; "}));
  }
  need_or(record[0] < static_cast<double>(head.epoch) || head.epochs == 0,
          message({"is damaged: it was saved after epoch ", head.epoch, " but its last record is of epoch ",
                   record[0] + 1, "; "}));
}

}  // namespace dsl::detail::TYPENET_MODE
