// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/io/checkpoint.hpp>
#include <dsl/io/save_freq.hpp>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <string>

namespace dsl::TYPENET_MODE {

/// How often a run's state is kept, and for how long.
struct backup_options {
  dsl::save_freq save_freq = every_epochs(1);
  bool delete_checkpoint = true;  // when the run ends as it should
  bool restore = true;  // false: a run begins anew; a file that is there is PATH.before until this run has its own
  bool verbose = true;  // a line on `out` where a run resumes: from which file, where it is, its learning rate
  std::FILE* out = stdout;
};

/// Keras's BackupAndRestore, to the bit: keeps a run's state in one file, each replacing the one before; where the file
/// is there as fit begins, the run goes on from it, in the middle of an epoch too, with every callback's state, and its
/// history begins with the epochs before. A run that ends removes the file. Every so many batches means after each
/// epoch, too. Weights that no loss has been computed with may be broken, so their state waits in memory for the next
/// step's; after an epoch validation has looked at them, unless it was their average.
///   trainer.fit(data, {.epochs = 70, .callbacks = {backup_and_restore{"run.state"}}});
/// The learning rate is the state's too, unless compile, or set_learning_rate, gave the run that wrote it another one
/// than this run: then the new one holds. Of several processes all must have it; process 0 reads and writes. Throws
/// file_error before the first step, in all of them, for a file that is no state of this run, can't be written, or is
/// another run's that has not ended; the trainer is then as it was. Later it warns once and goes on.
class backup_and_restore : public callback {
 public:
  explicit backup_and_restore(std::string path, backup_options const& o = {});

  [[gnu::cold]] void on_restore(fit_run& run) override;
  [[gnu::cold]] void on_resume(fit_run& run) override;
  [[gnu::cold]] void on_refused(fit_run& run) override;
  void on_epoch_begin(fit_run&) override { before_ = {}; }
  void on_batch_end(fit_run&) override;
  void on_backup(fit_run& run) override;
  [[gnu::cold]] void on_train_end(fit_run& run) override;
  void state(callback_state& s) override;

  /// Whether the last fit resumed from the file.
  bool restored() const { return restored_; }
  /// Whether the file has the last state that was to be kept: where fit throws interrupted, that which it ended in. Of
  /// several processes process 0 knows.
  bool saved() const { return file_.is_written(); }

 private:
  std::string const& path() const { return file_.path(); }
  std::string before() const { return path() + ".before"; }

  [[gnu::cold]] std::string where(fit_run const& run) const;

  /// Whether there is a state to resume from.
  [[gnu::cold]] bool look(fit_run& run);
  [[gnu::cold]] void forget_before();

  /// Before the trainer has anything of it.
  [[gnu::cold]] void check(fit_run const& run, detail::checkpoint_head const& at) const;

  detail::state_file file_;
  backup_options options_;
  saved_run saved_{};
  std::int64_t batches_ = 0;  // since the last one was written
  std::string before_;        // the trainer's own state, until the run begins
  double given_ = 0;          // that this run was given
  double given_then_ = -1;    // that the run was given which wrote the file; below 0: unknown
  bool restored_ = false, resumed_ = false;
  bool has_before_ = false;  // another run's state
};

}  // namespace dsl::TYPENET_MODE

#ifndef TYPENET_COMPILED
#include <dsl/io/backup_and_restore_inl.hpp>
#endif
