// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/io/event_file.hpp>
#include <dsl/io/folders.hpp>
#include <dsl/training/callback_state.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace dsl {

/// As Keras's TensorBoard has it.
struct tensorboard_options {
  std::int64_t update_freq = 0;  // also batch_loss and batch_accuracy, each so many batches; 0: epochs alone
};

/// Keras's TensorBoard callback: curves for `tensorboard --logdir logs`, under the names that Keras gives them.
///   logs/train       epoch_loss, epoch_accuracy, epoch_learning_rate; batch_loss, batch_accuracy
///   logs/validation  epoch_loss, epoch_accuracy
/// Epochs count from 0, as they do in Keras; batches from 1 over all epochs, with means since the epoch's begin. Each
/// point is in its file as soon as it is known: a process that is killed leaves them all. A run that
/// goes on from backup_and_restore's file goes on in its curves, whatever else was written there: what it wrote of
/// later steps is gone. So does one with .initial_epoch that has the same callback, by std::shared_ptr. Any other hides
/// what runs before have left in that folder, and leaves their files; give each run a folder of its own to compare
/// them. Throws file_error before the first step where nothing can be written; later it warns once, and writes what it
/// has as soon as it can.
class tensorboard : public callback {
 public:
  [[gnu::cold]] explicit tensorboard(std::string log_dir = "logs", tensorboard_options const& o = {})
      : train_{log_dir + "/train"}, validation_{std::move(log_dir) + "/validation"}, options_(o) {
    if (o.update_freq < 0)
      throw option_error(detail::message(
          {"tensorboard: update_freq must be 0 (epochs alone) or a number of batches; found ", o.update_freq}));
  }

  [[gnu::cold]] void on_train_begin(fit_run& run) override {
    close();
    warned_ = begun_ = false;
    if (number_ == 0 || (run.next.epoch == 0 && run.next.step == 0)) number_ = detail::number_for_run();
    if (!run.leads) return;
    for (log const* l : {&train_, &validation_}) {
      if (l == &validation_ && !run.validates) continue;
      std::string const file = l->folder + "/" + detail::event_file::begun;
      detail::make_folders(file, "tensorboard");
      check_writable(file, "tensorboard");
    }
  }
  void on_epoch_begin(fit_run& run) override {
    if (!run.leads || std::exchange(begun_, true)) return;
    before_ = {run.epoch, run.epoch * run.steps + run.next.step};
    write(train_, {});
    if (run.validates) write(validation_, {});
  }
  void on_batch_end(fit_run& run) override {
    if (options_.update_freq == 0 || !run.leads) return;
    std::int64_t const batch = run.epoch * run.steps + run.step + 1;
    if (batch % options_.update_freq != 0) return;
    scores const& s = run.current.train;
    write(train_, s.has_acc() ? detail::scalars_record(detail::wall_time(), batch,
                                                       {{"batch_loss", s.loss}, {"batch_accuracy", s.acc}})
                              : detail::scalars_record(detail::wall_time(), batch, {{"batch_loss", s.loss}}));
  }
  [[gnu::cold]] void on_epoch_end(fit_run& run) override {
    if (!run.leads) return;
    epoch_record const& e = run.current;
    double const now = detail::wall_time();
    write(train_, e.train.has_acc()
                      ? detail::scalars_record(now, e.epoch,
                                               {{"epoch_loss", e.train.loss},
                                                {"epoch_accuracy", e.train.acc},
                                                {"epoch_learning_rate", e.learning_rate}})
                      : detail::scalars_record(
                            now, e.epoch, {{"epoch_loss", e.train.loss}, {"epoch_learning_rate", e.learning_rate}}));
    if (!e.validated) return;
    write(validation_,
          e.validation.has_acc()
              ? detail::scalars_record(now, e.epoch,
                                       {{"epoch_loss", e.validation.loss}, {"epoch_accuracy", e.validation.acc}})
              : detail::scalars_record(now, e.epoch, {{"epoch_loss", e.validation.loss}}));
  }
  void on_train_end(fit_run&) override { close(); }
  void state(callback_state& s) override { s("run", number_); }

 private:
  struct log {
    std::string folder;
    std::shared_ptr<detail::event_file> file{};  // callbacks are copied
    std::string waiting{};                       // records that could not be written yet
  };

  [[gnu::cold]] void write(log& l, std::string_view record) {
    l.waiting += record;
    detail::write_or_warn(warned_, [&] {
      if (!l.file) l.file = std::make_shared<detail::event_file>(l.folder, number_, before_);
      l.file->append(l.waiting);
      l.waiting.clear();
    });
  }
  void close() {
    for (log* l : {&train_, &validation_}) l->file.reset(), l->waiting.clear();
  }

  log train_, validation_;
  tensorboard_options options_;
  detail::event_place before_{};  // this run's first step
  std::uint64_t number_ = 0;      // in its files' names; 0: none yet
  bool begun_ = false;
  bool warned_ = false;
};

}  // namespace dsl
