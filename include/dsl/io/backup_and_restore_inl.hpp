// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/files/file_lock.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/detail/print.hpp>
#include <dsl/io/backup_and_restore.hpp>
#include <dsl/io/checkpoint.hpp>
#include <dsl/io/save_freq.hpp>
#include <dsl/training/earlier_files.hpp>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <unistd.h>

namespace dsl::TYPENET_MODE {

TYPENET_INLINE backup_and_restore::backup_and_restore(std::string path, backup_options const& o)
    : file_(std::move(path)), options_(o) {
  o.save_freq.require();
}

TYPENET_INLINE void backup_and_restore::on_restore(fit_run& run) {
  restored_ = resumed_ = false;
  given_ = run.given_rate, given_then_ = -1;
  file_.begin();
  std::string there, bytes, wrong;
  try {
    if (run.leads && look(run)) there = "yes", bytes = read_checkpoint(path());
  } catch (file_error const& e) {
    if (!run.processes) throw;
    wrong = e.what();
  }
  if (run.processes) {
    run.processes->broadcast("why no state can be written", wrong);
    if (!wrong.empty()) throw file_error(wrong);
    run.processes->broadcast("whether there is a state to resume from", there);
    run.processes->broadcast("the state to resume from", bytes);
  }
  if (there.empty()) return;
  check(run, detail::checkpoint_reader(run.trainer.graph(), bytes, path()).head);
  before_ = detail::checkpoint_bytes(
      run.trainer,
      {.slots = run.trainer.engine().options().update.slots(), .learning_rate = run.trainer.learning_rate()}, {}, {});
  saved_ = restore_run(run.trainer, bytes, path());
  restored_ = true;
  callback_state files(saved_.callbacks, detail::message({"checkpoint: ", path()}));
  run.earlier->state(files);
  run.past = saved_.past;
  run.next = saved_.next;
  run.restored_by = this;
  run.stop = saved_.stop;
  run.learning_rate = saved_.learning_rate;
}

TYPENET_INLINE void backup_and_restore::on_resume(fit_run& run) {
  if (!restored_ || run.restored_by != this) return;  // if several callbacks restored a state, the last one applies
  run.earlier->wrote(path());
  restore_callbacks(run, saved_.callbacks, path());
  bool const another = given_then_ >= 0 && given_then_ != given_;
  if (!another) run.learning_rate = saved_.learning_rate;
  if (std::exchange(resumed_, true)) return;  // called again within an epoch, in which a schedule may have set the rate
  detail::compare_callbacks(run, saved_.callbacks, path());
  if (another) run.trainer.set_learning_rate(given_);
  if (options_.verbose && run.leads) detail::print_lines(options_.out, where(run));
}

TYPENET_INLINE void backup_and_restore::on_refused(fit_run& run) {
  if (before_.empty()) return;
  std::string const before = std::exchange(before_, {});
  try {
    detail::checkpoint_reader const state(run.trainer.graph(), before, path());
    state.give_arrays(run.trainer.engine(), true);
    run.trainer.set_steps(state.head.steps);
    run.trainer.set_learning_rate(state.head.learning_rate);
  } catch (error const&) {  // NOLINT(bugprone-empty-catch): the device is lost, which fit is about to say
  }
}

TYPENET_INLINE void backup_and_restore::on_batch_end(fit_run&) { file_.confirm(); }

TYPENET_INLINE void backup_and_restore::on_backup(fit_run& run) {
  bool now = options_.save_freq.now(run, batches_);
  if (options_.save_freq.epochs == 0 && run.next.step == 0) now = true, batches_ = 0;
  now |= run.interrupted != 0;
  if (!now) return;
  if (run.processes) run.stop = run.processes->any("whether a callback ends the run, in its state", run.stop);
  if (run.leads) file_.keep(run, checkpoint(run));
}

TYPENET_INLINE void backup_and_restore::on_train_end(fit_run& run) {
  saved_ = {}, before_ = {};
  if (run.failed || !run.leads) return file_.begin();
  if (options_.delete_checkpoint)
    file_.remove(run);
  else
    file_.confirm();  // a run may have been ended after its last step
}

TYPENET_INLINE void backup_and_restore::state(callback_state& s) {
  s("batches", batches_, 0, s.largest_count);
  s("learning rate given", s.restores() ? given_then_ : given_);
}

TYPENET_INLINE std::string backup_and_restore::where(fit_run const& run) const {
  fit_position const& at = run.next;
  std::string const place = at.step > 0
                                ? detail::message({"batch ", at.step, " of ", run.steps, " of epoch ", at.epoch + 1})
                                : detail::message({"epoch ", at.epoch});
  std::string rate = detail::message({saved_.learning_rate});
  if (given_then_ < 0 && given_ != saved_.learning_rate)
    rate += detail::message({" and is kept, although this run was given ", given_});
  else if (given_then_ >= 0 && given_then_ != given_)
    rate +=
        detail::message({" and is now ", given_, ", because this run was given ", given_, " instead of ", given_then_});
  return detail::message({"Resuming from ", detail::printable(path()), " after ", place, " of ", run.epochs,
                          "; the learning rate was ", rate, "\n"});
}

TYPENET_INLINE bool backup_and_restore::look(fit_run& run) {
  detail::make_folders(path(), "backup_and_restore");
  check_writable(path(), "backup_and_restore");
  run.held.push_back(std::make_shared<file_lock>(path(), "backup_and_restore"));
  if (::access(path().c_str(), F_OK) != 0) return false;
  if (options_.restore) return true;
  std::optional<int> const epochs = detail::epochs_begun(path());
  if (!epochs.value_or(0))
    throw file_error(detail::message(
        {"backup_and_restore: ", path(), " must be the state of a run or not exist; found ",
         epochs ? "only weights, as save_weights writes them" : "another file", "; choose another name"}));
  // If this run is killed before it has written a state, the next one must not resume from the old file.
  run.earlier->set_aside(path(), "backup_and_restore", *epochs);
  return false;
}

TYPENET_INLINE void backup_and_restore::check(fit_run const& run, detail::checkpoint_head const& at) const {
  if (at.epoch == 0 && at.step == 0)  // the end of this run would remove that file
    throw file_error(
        detail::message({"backup_and_restore: ", path(),
                         " must contain the state of a run; found only weights, as save_weights writes them; choose "
                         "another name, or load them with load_weights"}));
  if (at.epoch + (at.step > 0 ? 1 : 0) > run.epochs)
    throw option_error(
        detail::message({"backup_and_restore: ", path(), " already has ", detail::counted(at.epoch, "epoch"),
                         at.step > 0 ? " and part of the next" : "", ", but this run has ", run.epochs,
                         "; set .epochs to ", at.epoch + (at.step > 0 ? 1 : 0), " or more"}));
  if (at.batch_size == run.batch_size && at.steps_an_epoch == run.steps) return;
  std::string const differ =
      detail::message({detail::counted(at.steps_an_epoch, "batch", "batches"), " of ", at.batch_size,
                       ", but this run has ", detail::counted(run.steps, "batch", "batches"), " of ", run.batch_size});
  if (at.step > 0)
    throw option_error(detail::message({"backup_and_restore: ", path(), " is from the middle of an epoch of ", differ,
                                        "; use the same batch size and data, or remove the file"}));
  if (at.batch_size > 0 && run.leads)
    on_warning(detail::message({"backup_and_restore: ", path(), " is from epochs of ", differ,
                                "; the run continues, but its results will not be bit-identical"})
                   .c_str());
}

}  // namespace dsl::TYPENET_MODE
