// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/io/checkpoint.hpp>
#include <dsl/io/save_freq.hpp>
#include <dsl/rules/broken_training.hpp>
#include <dsl/rules/option_names.hpp>
#include <dsl/training/metrics.hpp>

#include <cstdint>
#include <cstdio>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace dsl::TYPENET_MODE {

/// A function that writes a trainer's weights in some format. If the function throws before the first step, the run
/// ends; if it throws later, the exception becomes a warning.
///   [names](dsl::trainer& t, std::string const& path) { dsl::save_safetensors(t, path, {.naming = names}); }
using weights_writer = std::function<void(trainer&, std::string const& path)>;

/// The options of Keras's ModelCheckpoint; in addition, a `writer` selects another file format.
struct model_checkpoint_options {
  bool save_best_only = false;
  bool save_weights_only = false;
  dsl::save_freq save_freq = every_epochs(1);
  monitor_mode mode = monitor_mode::automatic;
  std::optional<double> initial_value_threshold{};  // the value that the first one must improve on
  weights_writer writer{};                          // writes another format than typenet's; needs save_weights_only
  std::function<void(std::string const& path)> written{};  // called after each file, for example to write one beside it
  bool verbose = false;                                    // prints Keras's lines to `out`
  std::FILE* out = stdout;
};

}  // namespace dsl::TYPENET_MODE

namespace dsl::detail::TYPENET_MODE {

/// Throws option_error if a width or precision in a name, such as the 02 of {epoch:02d}, is above 255, the number of
/// characters that a file name may have: formatting it could need all memory.
void require_widths(std::string const& pattern);

/// Returns the path that a pattern stands for: "w.{epoch:02d}-{val_loss:.2f}" -> "w.03-0.91". If a name in the pattern
/// is not valid, throws an option_error that lists the valid names.
std::string checkpoint_path(std::string const& pattern, fit_run const& run, bool in_epoch);

/// The part of model_checkpoint that does not depend on the metric's type.
class model_checkpoint_on : public callback {
 public:
  void on_train_begin(fit_run& run) override;
  void on_epoch_begin(fit_run& run) override;
  void on_train_end(fit_run& run) override;
  void on_batch_end(fit_run& run) override;
  void on_epoch_end(fit_run& run) override;
  void on_saving_point(fit_run& run) override;
  void on_backup(fit_run& run) override;
  void state(callback_state& s) override;

  /// Returns the best value so far. It is the value of the last file: a value whose file could not be written does not
  /// count.
  double best() const { return best_; }

 protected:
  model_checkpoint_on(std::string pattern, model_checkpoint_options const& o, any_metric const& m);

 private:
  void decide(fit_run const& run, bool in_epoch);
  /// Returns the pattern up to the last slash before its first name: the folder, with its slash.
  std::string folder() const;
  /// Whether a run can resume from the file: it has a whole state and is written after every n epochs or batches. Such
  /// a file is written in on_backup, after the files that the state refers to.
  bool is_backup() const { return !options_.save_best_only && !options_.save_weights_only; }
  void save(fit_run const& run);
  /// Whether the run has resumed, has not written its best file since, and the file is not the one of the state.
  bool is_of_another(fit_run const& run);
  /// Writes the file that had not been written yet when the state from which this run resumes was saved. The trainer
  /// must still be in that state.
  void catch_up(fit_run const& run);
  /// Returns the run as it was at the end of the batch or epoch before the resumed position.
  static fit_run moment_before(fit_run run);
  /// Calls the writer once for a trial file, so that a writer that cannot write fails before the first step. If the
  /// process is killed, the next run removes the trial file.
  void try_writer(fit_run const& run, std::string const& first) const;

  std::string pattern_;
  model_checkpoint_options options_;
  monitor monitor_;
  double best_;
  double value_ = 0;          // of the file that is due
  std::int64_t batches_ = 0;  // since the last file
  std::string path_, line_;
  double restored_rate_ = 0;  // the learning rate of the state that the run has resumed from
  bool due_ = false;
  bool caught_up_ = false;
  bool warned_ = false;
  std::uint64_t file_ = no_file;  // earlier_files::hash_of the newest one; 0: an older version's state does not say
  bool wrote_ = false;            // whether this run has written a file
  static constexpr std::uint64_t no_file = 1;
};

}  // namespace dsl::detail::TYPENET_MODE

namespace dsl::TYPENET_MODE {

/// Keras's ModelCheckpoint: saves the model at regular intervals or, with .save_best_only, whenever its metric is
/// strictly better than the best value so far.
///   model_checkpoint<val_accuracy>("best/{epoch:02d}-{val_acc:.4f}.state", {.save_best_only = true, .verbose = true})
///   Epoch 3: val_acc improved from 0.41000 to 0.52000, saving model to best/03-0.5200.state
/// Epochs and batches in names count from 1; missing folders are made. The file contains a run's whole state or only
/// the weights; load_weights reads files of both kinds. backup_and_restore can resume from a whole state. Give it a
/// copy of the file, because it overwrites and finally removes the file that it is given. Widths and precisions in
/// names may be up to 255. Before the first step, a file that cannot be written and an unknown metric or name are
/// errors; after it, a failure to write is a warning.
template <class Monitor = val_loss>
class model_checkpoint : public detail::model_checkpoint_on {
 public:
  explicit model_checkpoint(std::string path, model_checkpoint_options const& o = {}, Monitor const& m = {})
      : model_checkpoint_on(std::move(path), o, detail::monitored<Monitor>::value(m)) {}

  /// Reports that the metric's name is given as text.
  template <class Text>
    requires std::is_convertible_v<Text const&, std::string_view>
  model_checkpoint(std::string path, Text const&,
                   model_checkpoint_options const& = {}) noexcept(sizeof(broken::monitors_are_types<Text, false>) != 0)
      : model_checkpoint_on(std::move(path), {}, detail::monitored<Monitor>::value({})) {}
  /// Options with a wrong name or value. Clang takes such options for the ellipsis, and GCC takes them for the array.
#if defined(__clang__) && !defined(__CUDACC__)
  template <class Options = broken::options_of::model_checkpoint>
  model_checkpoint(std::string const& path, ...) = delete;
#elif !defined(__CUDACC__)
  template <int Given>
  model_checkpoint(std::string const& path, broken::options_of::model_checkpoint const (&options)[Given]) = delete;
#endif
};

}  // namespace dsl::TYPENET_MODE

#ifdef TYPENET_DEFINITIONS
#include <dsl/io/model_checkpoint_inl.hpp>
#endif
