// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/io/checkpoint.hpp>
#include <dsl/io/save_freq.hpp>

#include <string>
#include <utility>

#include <unistd.h>

namespace dsl {

struct backup_options {
  dsl::save_freq save_freq = every_epochs(1);
  bool delete_checkpoint = true;  // when the run ends as it should
  bool restore = true;            // false: a run begins anew, and replaces the file that is there
};

/// Keras's BackupAndRestore, to the bit: keeps a run's state in one file, each replacing the one before; where the file
/// is there as fit begins, the run goes on from it, in the middle of an epoch too, with every callback's state, and its
/// history begins with the epochs before. A run that ends removes the file. Every so many batches means behind each
/// epoch, too.
///   trainer.fit(data, {.epochs = 70, .callbacks = {backup_and_restore{"run.state"}}});
/// Of several processes all must have it; process 0 reads and writes. Throws file_error before the first step for a
/// file that is no state of this run or can't be written; later it warns once and goes on.
class backup_and_restore : public callback {
 public:
  explicit backup_and_restore(std::string path, backup_options const& o = {}) : path_(std::move(path)), options_(o) {}

  [[gnu::cold]] void on_restore(fit_run& run) override {
    restored_ = false;
    warned_ = false;
    std::string there, bytes;
    if (run.leads) {
      detail::make_folders(path_, "backup_and_restore");
      check_writable(path_, "backup_and_restore");
      if (options_.restore && ::access(path_.c_str(), F_OK) == 0) there = "yes", bytes = read_checkpoint(path_);
    }
    if (run.processes) {
      run.processes->broadcast("whether there is a state to go on from", there);
      run.processes->broadcast("the state to go on from", bytes);
    }
    if (there.empty()) return;
    check(run, detail::checkpoint_reader(run.trainer, bytes, path_).head);
    saved_ = restore_run(run.trainer, bytes, path_);
    restored_ = true;
    run.past = saved_.past;
    run.next = saved_.next;
    run.stop = saved_.stop;
    run.learning_rate = saved_.learning_rate;
  }
  [[gnu::cold]] void on_resume(fit_run& run) override {
    if (!restored_) return;
    restore_callbacks(run, saved_.callbacks, path_);
    run.learning_rate = saved_.learning_rate;
  }
  void on_backup(fit_run& run) override {
    bool now = options_.save_freq.now(run, batches_);
    if (options_.save_freq.epochs == 0 && run.next.step == 0) now = true, batches_ = 0;
    if (now && run.leads) detail::write_or_warn(warned_, [&] { write_checkpoint(checkpoint(run), path_); });
  }
  [[gnu::cold]] void on_train_end(fit_run& run) override {
    saved_ = {};
    if (options_.delete_checkpoint && !run.failed && run.leads) ::unlink(path_.c_str());
  }
  void state(callback_state& s) override { s("batches", batches_); }

  /// Whether the last fit went on from the file, and where.
  bool restored() const { return restored_; }

 private:
  /// Before the trainer has anything of it.
  [[gnu::cold]] void check(fit_run const& run, detail::checkpoint_head const& at) const {
    if (at.epoch > run.epochs)
      throw option_error(detail::message({"backup_and_restore: ", path_, " has ", at.epoch,
                                          " epochs already; this run has ", run.epochs, "; give it as many or more"}));
    if (at.batch_size == run.batch_size && at.steps_an_epoch == run.steps) return;
    std::string const differ = detail::message(
        {at.steps_an_epoch, " batches of ", at.batch_size, "; this run's have ", run.steps, " of ", run.batch_size});
    if (at.step > 0)
      throw option_error(detail::message({"backup_and_restore: ", path_, " is of the middle of an epoch of ", differ,
                                          "; choose the same, or remove the file"}));
    if (at.batch_size > 0)
      on_warning(detail::message({"backup_and_restore: ", path_, " is of epochs of ", differ,
                                  "; it goes on, but not to the same bits"})
                     .c_str());
  }

  std::string path_;
  backup_options options_;
  saved_run saved_{};
  std::int64_t batches_ = 0;  // since the last one was written
  bool restored_ = false;
  bool warned_ = false;
};

}  // namespace dsl
