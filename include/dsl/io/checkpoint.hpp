// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/atomic_file.hpp>
#include <dsl/detail/input_file.hpp>
#include <dsl/detail/message.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/io/checkpoint_format.hpp>
#include <dsl/io/folders.hpp>
#include <dsl/training/callback_state.hpp>
#include <dsl/training/predictor.hpp>

#include <cstdint>
#include <string>
#include <utility>

namespace dsl::TYPENET_MODE {

/// The part of a checkpoint that is not the state of the trainer.
struct saved_run {
  history past{};
  fit_position next{};
  double learning_rate = 0;
  bool stop = false;
  int batch_size = 0;  // 0: unknown
  std::int64_t steps = 0;
  std::string callbacks{};  // for restore_callbacks()
};

/// Returns the state of a training after an epoch as bytes: parameters, running statistics, optimizer slots, counters,
/// the metrics of every epoch, and the name of the executor's arithmetic. An executor that computes in float resumes
/// from it bit by bit, since order, augmentation and dropout depend only on seed, epoch and step. `learning_rate` is
/// that of the next epoch.
[[gnu::cold]] std::string checkpoint(trainer& t, history const& past, double learning_rate);
[[gnu::cold]] std::string checkpoint(trainer& t, history const& past);

}  // namespace dsl::TYPENET_MODE

namespace dsl::detail::TYPENET_MODE {

/// Returns a callback's name in a state: "early_stopping 0" for the first of that type among a run's callbacks.
[[gnu::cold]] std::string state_name(fit_run const& run, std::size_t i);

inline constexpr char const* average_key = "fit's average";  // cannot be a callback's name
inline constexpr char const* arithmetic_key = "the engine's arithmetic";
inline constexpr char const* source_key = "the data's source";
inline constexpr char const* metrics_key = "fit's metrics";
inline constexpr char const* outputs_key = "the outputs' scores";

/// Returns engine::arithmetic() as bytes to follow the callbacks' state.
[[gnu::cold]] std::string state_of_arithmetic(trainer& t);
/// Returns the scores of several outputs, as bytes to follow the callbacks' state: four numbers for each epoch and
/// output, and the sums of the current epoch. Empty if there is one output.
[[gnu::cold]] std::string state_of_outputs(trainer& t, history const& past, fit_position const& next);
/// Restores them into a history and a position. Throws file_error if the outputs or epochs differ from these.
[[gnu::cold]] void restore_outputs(trainer& t, std::string const& callbacks, std::string const& name, history& past,
                                   fit_position& next);
/// Returns the values of fit's .metrics in every epoch, to follow the callbacks' state; empty if there are none.
[[gnu::cold]] std::string state_of_metrics(history const& past);
/// Restores them into a history. Throws file_error if the epochs differ from these, or if a resumed run computes other
/// metrics.
[[gnu::cold]] void restore_metrics(trainer& t, std::string const& callbacks, std::string const& name, history& past);
/// Returns the identity of a run's source of data, to follow the callbacks' state; an empty identity stands for samples
/// in memory.
[[gnu::cold]] std::string state_of_source(std::string source);
/// Throws file_error if the run that wrote the file had another source. Files written outside of a run do not name one.
[[gnu::cold]] void require_source(std::string const& own, std::string const& callbacks, std::string const& name);
/// Warns if the training that wrote the file used another arithmetic; files of earlier versions do not name it.
[[gnu::cold]] void compare_arithmetic(trainer& t, std::string const& callbacks, std::string const& name);

}  // namespace dsl::detail::TYPENET_MODE

namespace dsl::TYPENET_MODE {

/// Returns the state of every callback that has one, as bytes: its type's name, its number among the callbacks of that
/// type, and what it saves. If weights are averaged, also the average and the training's own weights.
[[gnu::cold]] std::string state_of_callbacks(fit_run const& run);
/// Restores the callbacks that the bytes name; others stay as they are. Throws file_error for the state of a callback
/// that this run lacks, and for an average if this run has none.
[[gnu::cold]] void restore_callbacks(fit_run& run, std::string const& bytes, std::string const& name);

/// Returns the state of a run, also within an epoch, with that of all callbacks. For on_saving_point and on_backup,
/// where run.next fits the weights. With fit's .average the weights are the average, and the state of callbacks holds
/// the training's own.
[[gnu::cold]] std::string checkpoint(fit_run const& run);

/// Restores a trainer from a checkpoint and returns the rest of it. Warns if the state was computed with another
/// arithmetic. Throws file_error, and changes nothing, if the bytes are not a whole checkpoint of such a training.
/// `name` is the file's, for messages.
[[gnu::cold]] saved_run restore_run(trainer& t, std::string const& bytes, std::string const& name);

/// Restores a trainer from a checkpoint after an epoch and returns the history: continue with
/// fit(..., {.initial_epoch = past.epochs.size()}). Only backup_and_restore can use a checkpoint from within an epoch,
/// and the state of callbacks. Throws file_error if epochs that .initial_epoch skipped are missing from the history.
[[gnu::cold]] history restore(trainer& t, std::string const& bytes, std::string const& name);

/// Writes a checkpoint to a file. Throws file_error, whose message begins with `kind`, and leaves an existing file as
/// it was.
[[gnu::cold]] void write_checkpoint(std::string const& bytes, std::string const& path, char const* kind = "checkpoint");

}  // namespace dsl::TYPENET_MODE

namespace dsl::detail::TYPENET_MODE {

/// Keeps a run's last good state in a file. Weights whose loss has not been computed yet may be broken, so their state
/// waits in memory for the next step's loss and only then replaces the file.
class state_file {
 public:
  explicit state_file(std::string path) : path_(std::move(path)) {}
  std::string const& path() const { return path_; }

  [[gnu::cold]] void begin();
  /// Keeps a state; call it in on_backup. Returns whether it has been written.
  [[gnu::cold]] bool keep(fit_run const& run, std::string state);
  /// Whether the file holds the last state that was kept.
  bool is_written() const { return written_; }
  /// Writes the waiting state; call it in on_batch_end, which follows only a finite loss. Returns true if a state was
  /// waiting and has been written.
  bool confirm() { return !waits_.empty() && write(); }

 private:
  [[gnu::cold]] bool write();

  std::string path_, waits_;
  bool written_ = false;
  bool warned_ = false;
};

/// Reads a checkpoint; `otherwise` is the advice in errors.
[[gnu::cold]] std::string read_checkpoint_or(std::string const& path, char const* otherwise);

}  // namespace dsl::detail::TYPENET_MODE

namespace dsl::TYPENET_MODE {

/// Returns the bytes of a checkpoint, for restore(). Throws file_error. If the file does not begin like a checkpoint of
/// its size, only its beginning is read, since it may be of any size; restore() then refuses it.
[[gnu::cold]] std::string read_checkpoint(std::string const& path);

/// Writes only the parameters, the running statistics and the normalisation of the data, in the format of checkpoints.
/// Throws file_error, and option_error if the name has the ending of another format, such as .safetensors.
[[gnu::cold]] void save_weights(trainer& t, std::string const& path);
/// Reads the weights of any checkpoint of such a network, with any optimizer and seed; the rest of the trainer does not
/// change, except the normalisation, if the file has one. Throws file_error; if the network is another one, the message
/// names the first parameter that differs.
[[gnu::cold]] void load_weights(trainer& t, std::string const& path);
[[gnu::cold]] void load_weights(predictor& p, std::string const& path);
[[gnu::cold]] void load_weights(engine& e, std::string const& path);

/// Writes a checkpoint after every epoch, replacing the previous one, with the learning rate that callbacks have set by
/// then. Without validation it writes after the next epoch's first step, whose loss proves the weights. `earlier` is
/// the history that restore() returned, if the training was continued. Throws file_error before the first epoch if the
/// file cannot be written. If that fails later, for example because the disk is full, it warns once and tries again
/// after the next epoch, so that the training is not lost.
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
