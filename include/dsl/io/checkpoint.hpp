// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/atomic_file.hpp>
#include <dsl/detail/input_file.hpp>
#include <dsl/detail/message.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/io/checkpoint_format.hpp>
#include <dsl/io/folders.hpp>
#include <dsl/training/callback_state.hpp>

#include <cstdint>
#include <string>
#include <utility>

namespace dsl::TYPENET_MODE {

/// What a checkpoint has beside what it gives the trainer.
struct saved_run {
  history past{};
  fit_position next{};
  double learning_rate = 0;
  bool stop = false;
  int batch_size = 0;  // 0: the run's was not known
  std::int64_t steps = 0;
  std::string callbacks{};  // for restore_callbacks()
};

/// A training's state after an epoch, as bytes: parameters, running statistics, optimizer slots, counters, and what
/// every epoch came to. An executor that computes in float goes on from it with the same bits, since order,
/// augmentation and dropout depend on seed, epoch and step alone. The rate is the next epoch's.
[[gnu::cold]] std::string checkpoint(trainer& t, history const& past, double learning_rate);
[[gnu::cold]] std::string checkpoint(trainer& t, history const& past);

}  // namespace dsl::TYPENET_MODE

namespace dsl::detail::TYPENET_MODE {

/// "early_stopping 0": the first of that type among a run's callbacks.
[[gnu::cold]] std::string state_name(fit_run const& run, std::size_t i);

inline constexpr char const* average_key = "fit's average";  // no callback's: types have no such name

}  // namespace dsl::detail::TYPENET_MODE

namespace dsl::TYPENET_MODE {

/// The state of every callback of a run that has one, as bytes: its type's name, its number among those of that type,
/// and what it saves. Where weights are averaged, the average and the training's own.
[[gnu::cold]] std::string state_of_callbacks(fit_run const& run);
/// Those that the bytes do not have stay as they are. Throws file_error for what is another callback's, and for an
/// average where this run has none.
[[gnu::cold]] void restore_callbacks(fit_run& run, std::string const& bytes, std::string const& name);

/// The same within an epoch, too, with the state of all callbacks: for on_saving_point and on_backup, where
/// run.next fits the weights. With fit's .average these are the average; the training's own are in that state.
[[gnu::cold]] std::string checkpoint(fit_run const& run);

/// Gives a trainer that state, and returns the rest. Throws file_error for bytes that are no whole checkpoint of such a
/// training, and has changed nothing then. `name` is the file's, for messages.
[[gnu::cold]] saved_run restore_run(trainer& t, std::string const& bytes, std::string const& name);

/// The same for one after an epoch, and returns what came before: fit(..., {.initial_epoch = past.epochs.size()}) goes
/// on. Of one within an epoch only backup_and_restore can; of callbacks' state it makes use, too. Throws file_error
/// where epochs before it are not in the file, since .initial_epoch skipped them.
[[gnu::cold]] history restore(trainer& t, std::string const& bytes, std::string const& name);

/// Throws file_error, whose message `kind` opens; then a file that was there before is as it was.
[[gnu::cold]] void write_checkpoint(std::string const& bytes, std::string const& path, char const* kind = "checkpoint");

}  // namespace dsl::TYPENET_MODE

namespace dsl::detail::TYPENET_MODE {

/// Keeps a run's last good state in a file: weights that have given no loss yet may be broken, so their state waits, in
/// memory, for the next step's, and only then replaces the one before.
class state_file {
 public:
  explicit state_file(std::string path) : path_(std::move(path)) {}
  std::string const& path() const { return path_; }

  [[gnu::cold]] void begin();
  /// In on_backup. Whether it is written by now.
  [[gnu::cold]] bool keep(fit_run const& run, std::string state);
  /// Whether the file has the last state that was kept.
  bool is_written() const { return written_; }
  /// In on_batch_end, which no bad loss comes to. Whether there was one, and it is written.
  bool confirm() { return !waits_.empty() && write(); }

 private:
  [[gnu::cold]] bool write();

  std::string path_, waits_;
  bool written_ = false;
  bool warned_ = false;
};

}  // namespace dsl::detail::TYPENET_MODE

namespace dsl::TYPENET_MODE {

/// For restore(). Throws file_error. Of a file that does not begin as a checkpoint of its size only the beginning is
/// read, since it may be of any size; of another format's the reader will say so.
[[gnu::cold]] std::string read_checkpoint(std::string const& path);

/// Parameters and running statistics alone, in the same format. Throws file_error.
[[gnu::cold]] void save_weights(trainer& t, std::string const& path);
/// Out of any checkpoint of such a network, whatever its optimizer and seed; the rest of the trainer stays as it is.
[[gnu::cold]] void load_weights(trainer& t, std::string const& path);

/// Writes one after every epoch, over the one before, with the learning rate that callbacks have set by then; without
/// validation, after the next epoch's first step, whose loss says whether the weights are any good. `earlier` is what
/// restore() returned, where it went on, and restore() asks for it again. Throws file_error before the first epoch
/// where the file can't be written. Where that fails later (the disk is full, the folder gone) it warns once, and tries
/// again after the next epoch: hours of training are worth more than the means to repeat them.
struct checkpoint_each_epoch : callback {
  std::string path;
  history earlier{};

  explicit checkpoint_each_epoch(std::string to, history before = {});

  void on_train_begin(fit_run& run) override;
  void on_batch_end(fit_run&) override { file_.confirm(); }
  [[gnu::cold]] void on_backup(fit_run& run) override;

 private:
  detail::state_file file_;
};

}  // namespace dsl::TYPENET_MODE

#ifndef TYPENET_COMPILED
#include <dsl/io/checkpoint_inl.hpp>
#endif
