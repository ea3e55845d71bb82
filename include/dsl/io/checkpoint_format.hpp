// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/training/callback.hpp>
#include <dsl/training/fingerprint.hpp>
#include <dsl/training/trainer.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace dsl::detail::TYPENET_MODE {

/// What a checkpoint begins with; after it come 9 doubles for each of `epochs` epochs, then the parameters as floats,
/// each followed by its optimizer slots, then the callbacks' state, then the fingerprint of all that. In this machine's
/// byte order.
struct checkpoint_head {
  char magic[20] = {'t', 'y', 'p', 'e', 'n', 'e', 't', ' ', 'c', 'h', 'e', 'c', 'k', 'p', 'o', 'i', 'n', 't', ' ', '3'};
  std::int32_t fingerprints = fingerprint_version;
  std::uint64_t network = 0;  // fingerprints
  std::uint64_t rules = 0;
  std::uint64_t seed = 0;
  std::uint64_t steps = 0;
  std::int64_t slots = 0;  // a trainable parameter
  std::int64_t epochs = 0;
  std::int64_t numbers = 0;  // parameters and slots together
  std::int64_t replicas = 1;
  double learning_rate = 0;    // of the next step
  std::int64_t callbacks = 0;  // bytes
  std::int64_t stop = 0;       // a callback has ended the run
  std::int64_t batch_size = 0, steps_an_epoch = 0;
  std::int64_t epoch = 0, step = 0;  // of fit_position, which has a hole
  double loss = 0, correct = 0, first_rate = 0, seconds = 0;

  void set(fit_position const& at);
  fit_position next() const { return {static_cast<int>(epoch), step, loss, correct, first_rate, seconds}; }
};
static_assert(sizeof(checkpoint_head) == 24 + 19 * 8, "checkpoint: no byte may be without a value");

constexpr std::size_t epoch_numbers = 9;
/// Returns the bytes of a file that begins like this; 0 where no file does.
[[gnu::cold]] std::size_t checkpoint_size(checkpoint_head const& head);
[[gnu::cold]] void write_epoch(epoch_record const& e, double* to);
/// Whether `v` is an epoch's number, which is converted to an int.
constexpr bool is_epoch(double v) { return v >= 0 && v < 1e9; }
[[gnu::cold]] epoch_record read_epoch(double const* v);

/// Calls f(slot, k, numbers) for every parameter (slot -1) and its optimizer slots, in the file's order. A frozen
/// parameter has slots there, too, of zeros: so files go between networks that differ in what is frozen.
template <class F>
void for_each_array(graph_view const& g, long long slots, F f) {
  for (int k = 0; k < g.size.parameters; ++k) {
    parameter const& p = g.parameters[k];
    for (int s = -1; s < (p.is_statistic() ? 0 : slots); ++s) f(s, k, p.count());
  }
}
[[gnu::cold]] std::uint64_t checksum(std::string const& bytes, std::size_t size);

/// `head` has what the trainer does not know, and how many slots are kept. Weights that are not the network's are
/// given.
[[gnu::cold]] std::string checkpoint_bytes(trainer& t, checkpoint_head head, history const& past,
                                           std::string const& callbacks, std::vector<float> const* weights = nullptr);

[[gnu::cold]] std::string wrong_size(std::size_t expected, std::size_t found);

/// What to do with a file that does not begin as a checkpoint.
[[gnu::cold]] char const* advice_for_begin(std::string const& bytes);

/// Bytes that are whole and of this trainer's network, taken apart. Throws file_error for others. Both must outlive it.
class checkpoint_reader {
 public:
  [[gnu::cold]] checkpoint_reader(trainer& t, std::string const& bytes, std::string const& name);

  [[gnu::cold]] void need(bool holds, std::string const& what) const;
  [[gnu::cold]] history past() const;
  /// Parameters and running statistics, and the slots where the optimizer is the same.
  [[gnu::cold]] void give_arrays(engine& e, bool slots) const;
  std::string callbacks() const { return bytes_.substr(callbacks_, static_cast<std::size_t>(head.callbacks)); }

  checkpoint_head head{};
  static constexpr std::size_t version_at = 19;  // after "typenet checkpoint "

 private:
  [[gnu::cold]] void read_record(std::int64_t i, double (&to)[epoch_numbers]) const;
  /// Checks what a run and its callbacks rely on: that the records are of finished epochs, and that there is one where
  /// the next epoch has not begun.
  [[gnu::cold]] void check_position() const;

  std::string const& bytes_;
  std::string const& name_;
  std::size_t arrays_ = 0, callbacks_ = 0;
};

}  // namespace dsl::detail::TYPENET_MODE

#ifndef TYPENET_COMPILED
#include <dsl/io/checkpoint_format_inl.hpp>
#endif
