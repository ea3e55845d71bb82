// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/files/atomic_file.hpp>
#include <dsl/files/input_file.hpp>
#include <dsl/detail/message.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/io/checkpoint_format.hpp>
#include <dsl/io/folders.hpp>
#include <dsl/rules/broken_training.hpp>
#include <dsl/training/callback_state.hpp>
#include <dsl/training/predictor.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace dsl::TYPENET_MODE {

/// The part of a checkpoint that is not the trainer's own state.
struct saved_run {
  history past{};
  fit_position next{};
  double learning_rate = 0;
  bool stop = false;
  int batch_size = 0;  // 0: unknown
  std::int64_t steps = 0;
  std::string callbacks{};  // for restore_callbacks()
};

/// Returns the state of a training run at the end of an epoch, as bytes: parameters, running statistics, optimizer
/// slots, counters, the metrics of every epoch, and the name of the executor's arithmetic. With an executor that
/// computes in float, a resumed training gets the same bits, since order, augmentation and dropout depend only on seed,
/// epoch and step. `learning_rate` is the rate of the next epoch.
std::string checkpoint(trainer& t, history const& past, double learning_rate);
std::string checkpoint(trainer& t, history const& past);

}  // namespace dsl::TYPENET_MODE

namespace dsl::detail::TYPENET_MODE {

/// Returns the name of callback i in a saved state: "early_stopping 0" for the first early_stopping among a run's
/// callbacks.
std::string state_name(fit_run const& run, std::size_t i);

inline constexpr char const* average_key = "fit's average";  // cannot be a callback's name
inline constexpr char const* arithmetic_key = "the engine's arithmetic";
inline constexpr char const* source_key = "the data's source";
inline constexpr char const* metrics_key = "fit's metrics";
inline constexpr char const* callbacks_key = "fit's callbacks";
inline constexpr char const* outputs_key = "the outputs' scores";

/// Whether a run without the callback of this name may have other results: a callback that saves a state and does not
/// only write files, or a schedule.
bool may_decide(std::string_view name, bool has_state);
/// Warns if the run that wrote the file had such a callback that this run lacks.
void compare_callbacks(fit_run const& run, std::string const& callbacks, std::string const& file);

/// Returns engine::arithmetic() as bytes, which follow the callbacks' state in a file.
std::string state_of_arithmetic(trainer& t);
/// Returns the scores of several outputs as bytes, which follow the callbacks' state in a file: four numbers for each
/// epoch and output, and the sums of the current epoch. Returns no bytes if there is one output.
std::string state_of_outputs(trainer& t, history const& past, fit_position const& next);
/// Restores the scores of several outputs into a history and a position. Throws file_error if the file's outputs or
/// epochs differ from those of the history and the network.
void restore_outputs(trainer& t, std::string const& callbacks, std::string const& name, history& past,
                     fit_position& next);
/// Returns the values of fit's .metrics in every epoch as bytes, which follow the callbacks' state in a file; none if
/// there are no such metrics.
std::string state_of_metrics(history const& past);
/// Restores the values of fit's .metrics into a history. Throws file_error if the file has other epochs than the
/// history, or if the resumed run computes other metrics.
void restore_metrics(trainer& t, std::string const& callbacks, std::string const& name, history& past);
/// Returns the identity of a run's data source as bytes, which follow the callbacks' state in a file. An empty identity
/// stands for samples in memory.
std::string state_of_source(std::string source);
/// Throws file_error if the run that wrote the file had another data source than this run. A file that was written
/// outside a run does not name a source and is accepted.
void require_source(std::string const& own, std::string const& callbacks, std::string const& name);
/// Returns the properties of a run's data as bytes, which follow the callbacks' state in a file.
std::string state_of_identity(run_identity* own);
/// Returns which files the run has written as bytes, which follow the callbacks' state in a file.
std::string state_of_files(fit_run const& run);
/// Warns if the run that wrote the file had other training data, validation data or augmentation than this run. Files
/// of earlier versions do not name them and cause no warning.
void compare_identity(trainer& t, std::string const& callbacks, std::string const& name);
/// Warns if the training that wrote the file used another arithmetic than this one. Files of earlier versions do not
/// name an arithmetic and cause no warning.
void compare_arithmetic(trainer& t, std::string const& callbacks, std::string const& name);

}  // namespace dsl::detail::TYPENET_MODE

namespace dsl::TYPENET_MODE {

/// Returns the states of a run's callbacks as bytes. For each callback that has a state, they contain the name of the
/// callback's type, its number among the callbacks of that type, and the variables that it saves. If weights are
/// averaged, the bytes also contain the average and the training's own weights.
std::string state_of_callbacks(fit_run const& run);
/// Restores the callbacks that the bytes name; other callbacks do not change. The state of a callback that this run
/// lacks is ignored. Throws file_error for an average if this run has none.
void restore_callbacks(fit_run& run, std::string const& bytes, std::string const& name);

/// Returns the state of a run, even in the middle of an epoch, including the state of all callbacks. Call it in
/// on_saving_point or on_backup, where the weights are those of the position run.next. With fit's .average, the weights
/// in the checkpoint are the average, and the training's own weights are part of the callbacks' state.
std::string checkpoint(fit_run const& run);

/// Restores a trainer from a checkpoint and returns the other parts of the checkpoint. Warns if the state was computed
/// with another arithmetic. Throws file_error, and changes nothing, if the bytes are not a whole checkpoint of the same
/// kind of training. `name` is the file's name in messages.
saved_run restore_run(trainer& t, std::string const& bytes, std::string const& name);

/// Restores a trainer from a checkpoint that was written at the end of an epoch, and returns the history. Continue with
/// fit(..., {.initial_epoch = past.epochs.size()}). Only backup_and_restore can resume in the middle of an epoch, or
/// restore the state of callbacks. Throws file_error if epochs that .initial_epoch skipped are missing from the
/// history.
history restore(trainer& t, std::string const& bytes, std::string const& name);

/// Writes a checkpoint to a file. If this fails, throws file_error, whose message begins with `kind`, and leaves an
/// existing file unchanged.
void write_checkpoint(std::string const& bytes, std::string const& path, char const* kind = "checkpoint");

}  // namespace dsl::TYPENET_MODE

namespace dsl::detail::TYPENET_MODE {

/// Keeps the last good state of a run in a file. New weights may be broken as long as no loss has been computed with
/// them, so a new state waits in memory, and replaces the file only when the next step's loss is finite.
class state_file {
 public:
  explicit state_file(std::string path) : path_(std::move(path)) {}
  std::string const& path() const { return path_; }

  void begin();
  /// Takes a new state; call this in on_backup. Returns whether the state has been written to the file at once.
  bool keep(fit_run const& run, std::string state);
  /// Whether the file has the last state that was given to keep().
  bool is_written() const { return written_; }
  /// Writes the waiting state. Call this in on_batch_end, which is called only after a finite loss. Returns true if a
  /// state was waiting and has been written.
  /// Removes the file, unless it is not the one that this run has written or continued.
  void remove(fit_run const& run) const;
  bool confirm() { return !waits_.empty() && write(); }

 private:
  bool write();

  std::string path_, waits_;
  std::shared_ptr<earlier_files> earlier_;
  bool written_ = false;
  bool warned_ = false;
};

/// Returns the number of epochs that the run of a state had begun: 0 for weights, and the largest int for a damaged
/// state or one of another version of typenet. Returns nothing if the file is not a checkpoint.
std::optional<int> epochs_begun(std::string const& path);
/// Does the same for earlier_files, which must not take weights for the file of a run without epochs: returns nothing.
std::optional<int> epochs_of_run(std::string const& path);

/// Reads a checkpoint. Error messages end with the advice `otherwise`.
std::string read_checkpoint_or(std::string const& path, char const* otherwise);

/// Whether save_weights(), or load_weights(), can be called with these arguments.
template <class... Given>
inline constexpr bool save_weights_takes = false;
template <class Weights, class Path>
inline constexpr bool save_weights_takes<Weights, Path> =
    std::is_convertible_v<Weights, trainer&> && std::is_convertible_v<Path, std::string const&>;
template <class... Given>
inline constexpr bool load_weights_takes = save_weights_takes<Given...>;
template <class Weights, class Path>
  requires(std::is_convertible_v<Weights, predictor&> || std::is_convertible_v<Weights, engine&>)
inline constexpr bool load_weights_takes<Weights, Path> = std::is_convertible_v<Path, std::string const&>;

}  // namespace dsl::detail::TYPENET_MODE

namespace dsl::TYPENET_MODE {

/// Returns the bytes of a checkpoint, for restore(). Throws file_error. A file whose beginning does not match a
/// checkpoint of the file's size may be very large, so only its beginning is read; restore() then refuses these bytes.
std::string read_checkpoint(std::string const& path);

/// Writes only the parameters, the running statistics and the normalisation of the data, in the format of checkpoints.
/// Throws file_error, and option_error if the name has the ending of another format, such as .safetensors.
void save_weights(trainer& t, std::string const& path);
/// Reads only the weights from a checkpoint of the same network, whatever its optimizer and seed are. If the file has a
/// normalisation, it is read, too; nothing else in the trainer changes. Throws file_error; if the file is of another
/// network, the message names the first parameter that differs.
void load_weights(trainer& t, std::string const& path);
void load_weights(predictor& p, std::string const& path);
void load_weights(engine& e, std::string const& path);
/// Report arguments that these functions do not take.
template <class... Given>
  requires(!detail::save_weights_takes<Given...>)
void save_weights(Given&&...) noexcept(sizeof(broken::save_weights_takes_a_trainer<false, Given...>) != 0);
template <class... Given>
  requires(!detail::load_weights_takes<Given...>)
void load_weights(Given&&...) noexcept(sizeof(broken::load_weights_takes_a_trainer<false, Given...>) != 0);

/// Writes a checkpoint after every epoch, which replaces the previous one and has the learning rate that callbacks have
/// set by then. Without validation, the checkpoint is written after the first step of the next epoch, whose loss shows
/// that the weights are sound. If the training was continued, `earlier` is the history that restore() returned. Throws
/// file_error before the first epoch if the file cannot be written. If a later write fails, for example because the
/// disk is full, the callback warns once and tries again after the next epoch, so that the training is not lost.
struct checkpoint_each_epoch : callback {
  std::string path;
  history earlier{};

  explicit checkpoint_each_epoch(std::string to, history before = {});

  void on_train_begin(fit_run& run) override;
  void on_batch_end(fit_run&) override { file_.confirm(); }
  void on_backup(fit_run& run) override;

 private:
  detail::state_file file_;
};

}  // namespace dsl::TYPENET_MODE

#ifdef TYPENET_DEFINITIONS
#include <dsl/io/checkpoint_inl.hpp>
#endif
