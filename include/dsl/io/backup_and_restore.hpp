// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/io/checkpoint.hpp>
#include <dsl/io/save_freq.hpp>
#include <dsl/rules/option_names.hpp>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <string>

namespace dsl::TYPENET_MODE {

/// The options of backup_and_restore: how often it writes the file, and when it removes it.
struct backup_options {
  dsl::save_freq save_freq = every_epochs(1);
  bool delete_checkpoint = true;  // whether a run that ends normally removes the file
  bool restore = true;            // if false, an existing state is kept as PATH.before, as earlier_files says
  bool verbose = true;  // prints a line to `out` when a run resumes: from which file, where, at which learning rate
  std::FILE* out = stdout;
};

/// Keras's BackupAndRestore, with bit-identical resumption. The callback writes a run's state to a file, and each
/// backup replaces the one before. If the file exists when fit begins, the run resumes from the state in the file, even
/// in the middle of an epoch, with the state of every callback and the history of earlier epochs. A run that ends
/// normally removes the file. With every_batches(n), the callback also writes after each epoch. New weights may be
/// broken as long as no loss has been computed with them, so a new state waits in memory until the next step's loss is
/// finite. A finite validation loss at the end of an epoch is sufficient, too, unless validation used averaged weights.
///   trainer.fit(data, {.epochs = 70, .callbacks = {backup_and_restore{"run.state"}}});
/// The learning rate is also restored, unless compile or set_learning_rate has set a rate that differs from the one set
/// in the run that wrote the file; then the new rate is used. If there are several processes, all must have this
/// callback; process 0 reads and writes the file. Throws file_error in all processes before the first step, and leaves
/// the trainer unchanged, if the file is not a state of this run, cannot be written, or belongs to a run that has not
/// ended. If a later write fails, the callback warns once, and the run continues.
class backup_and_restore : public callback {
 public:
  explicit backup_and_restore(std::string path, backup_options const& o = {});
  /// Options with a wrong name or value. Clang takes such options for the ellipsis, and GCC takes them for the array.
#if defined(__clang__) && !defined(__CUDACC__)
  template <class Options = broken::options_of::backup_and_restore>
  backup_and_restore(std::string const& path, ...) = delete;
#elif !defined(__CUDACC__)
  template <int Given>
  backup_and_restore(std::string const& path, broken::options_of::backup_and_restore const (&options)[Given]) = delete;
#endif

  void on_restore(fit_run& run) override;
  void on_resume(fit_run& run) override;
  void on_refused(fit_run& run) override;
  void on_epoch_begin(fit_run&) override { before_ = {}; }
  void on_batch_end(fit_run&) override;
  void on_backup(fit_run& run) override;
  void on_train_end(fit_run& run) override;
  void state(callback_state& s) override;

  /// Whether the last fit resumed from the file.
  bool restored() const { return restored_; }
  /// Whether the newest state given to the callback has been written to the file. After fit has thrown interrupted,
  /// that is the state at the step of the interruption. If there are several processes, only process 0 knows.
  bool saved() const { return file_.is_written(); }

 private:
  std::string const& path() const { return file_.path(); }

  std::string where(fit_run const& run) const;

  /// Whether there is a state from which to resume. If the options say not to resume, sets the state aside and returns
  /// false.
  bool look(fit_run& run);

  /// Checks a state before any part of it is copied to the trainer.
  void check(fit_run const& run, detail::checkpoint_head const& at) const;

  detail::state_file file_;
  backup_options options_;
  saved_run saved_{};
  std::int64_t batches_ = 0;  // since the last state was kept
  std::string before_;        // the trainer's own state, until the run begins
  double given_ = 0;          // the learning rate that this run was given
  double given_then_ = -1;    // that of the run that wrote the file; below 0: unknown
  bool restored_ = false, resumed_ = false;
};

}  // namespace dsl::TYPENET_MODE

#ifdef TYPENET_DEFINITIONS
#include <dsl/io/backup_and_restore_inl.hpp>
#endif
