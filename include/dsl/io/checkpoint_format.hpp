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

/// The beginning of a checkpoint. After it, the file has 9 doubles for each of `epochs` epochs; the parameters as
/// floats, each followed by its optimizer slots; the state of the callbacks; and a fingerprint of all of these. Numbers
/// have this machine's byte order.
struct checkpoint_head {
  char magic[20] = {'t', 'y', 'p', 'e', 'n', 'e', 't', ' ', 'c', 'h', 'e', 'c', 'k', 'p', 'o', 'i', 'n', 't', ' ', '3'};
  std::int32_t fingerprints = fingerprint_version;
  std::uint64_t network = 0;  // fingerprints
  std::uint64_t rules = 0;
  std::uint64_t seed = 0;
  std::uint64_t steps = 0;
  std::int64_t slots = 0;  // per trainable parameter
  std::int64_t epochs = 0;
  std::int64_t numbers = 0;  // in parameters and slots together
  std::int64_t replicas = 1;
  double learning_rate = 0;    // for the next step
  std::int64_t callbacks = 0;  // bytes
  std::int64_t stop = 0;       // whether a callback has ended the run
  std::int64_t batch_size = 0, steps_an_epoch = 0;
  std::int64_t epoch = 0, step = 0;  // those of fit_position, which has padding
  double loss = 0, correct = 0, first_rate = 0, seconds = 0;

  void set(fit_position const& at);
  fit_position next() const { return {static_cast<int>(epoch), step, loss, correct, first_rate, seconds}; }
};
static_assert(sizeof(checkpoint_head) == 24 + 19 * 8, "checkpoint: its head must not contain padding bytes");

constexpr std::size_t epoch_numbers = 9;
/// Returns the size of the file that this head describes, or 0 if the head is invalid.
std::size_t checkpoint_size(checkpoint_head const& head);
void write_epoch(epoch_record const& e, double* to);
/// Whether `v` can be an epoch's number and can be converted to an int.
constexpr bool is_epoch(double v) { return v >= 0 && v < 1e9; }
epoch_record read_epoch(double const* v);

/// Calls f(slot, k, numbers) for every parameter (slot -1) and each of its optimizer slots, in the file's order. A
/// frozen parameter has slots of zeros in the file, so that the same file fits networks that differ in which layers are
/// frozen.
template <class F>
void for_each_array(graph_view const& g, long long slots, F f) {
  for (int k = 0; k < g.size.parameters; ++k) {
    parameter const& p = g.parameters[k];
    for (int s = -1; s < (p.is_statistic() ? 0 : slots); ++s) f(s, k, p.count());
  }
}
std::uint64_t checksum(std::string const& bytes, std::size_t size);

/// Returns a checkpoint as bytes. `head` has the number of slots to write, and the fields that the trainer does not
/// know. If `weights` are given, they are written instead of the network's own.
std::string checkpoint_bytes(trainer& t, checkpoint_head head, history const& past, std::string const& callbacks,
                             std::vector<float> const* weights = nullptr);

/// Returns the ending of a file's name if the ending belongs to a format other than typenet's: ".safetensors" for
/// "x.safetensors". Otherwise returns null.
char const* ending_of_other_format(std::string const& path);

/// The advice in messages about an unusable file. A run can remove the file to start from the beginnings checkpoint;
/// loading weights needs a file.
inline constexpr char const* start_without = "remove the file to start from the beginning";
inline constexpr char const* give_another = "give another file";

std::string wrong_size(std::size_t expected, std::size_t found, char const* otherwise = start_without);

/// Returns advice for a file that does not begin like a checkpoint. If the file looks like another format, the advice
/// is about that format; otherwise it is to give another file, or `otherwise`.
std::string advice_for_begin(std::string const& bytes, char const* otherwise);

/// Reads a whole checkpoint of a network. The bytes must outlive the reader. Throws file_error for anything else.
class checkpoint_reader {
 public:
  checkpoint_reader(graph_view const& g, std::string const& bytes, std::string const& name,
                    char const* otherwise = start_without);

  void need(bool holds, std::string const& what) const;
  history past() const;
  /// Copies parameters and running statistics to an engine. Also copies the optimizer slots if `slots` is true and the
  /// optimizer is the same.
  void give_arrays(engine& e, bool slots) const;
  std::string callbacks() const { return bytes_.substr(callbacks_, static_cast<std::size_t>(head.callbacks)); }

  checkpoint_head head{};
  static constexpr std::size_t version_at = 19;  // after "typenet checkpoint "

 private:
  void read_record(std::int64_t i, double (&to)[epoch_numbers]) const;
  /// Throws an error whose message ends with the advice, unless `holds` is true.
  void need_or(bool holds, std::string const& what) const;
  /// Checks conditions that a run and its callbacks rely on: all records are of finished epochs, and if the next epoch
  /// has not begun, there is at least one record.
  void check_position() const;

  std::string const& bytes_;
  std::string const& name_;
  char const* otherwise_;
  std::size_t arrays_ = 0, callbacks_ = 0;
};

}  // namespace dsl::detail::TYPENET_MODE

#ifdef TYPENET_DEFINITIONS
#include <dsl/io/checkpoint_format_inl.hpp>
#endif
