// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/io/event_file.hpp>
#include <dsl/io/folders.hpp>
#include <dsl/training/callback_state.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace dsl::TYPENET_MODE {

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
  [[gnu::cold]] explicit tensorboard(std::string log_dir = "logs", tensorboard_options const& o = {});

  [[gnu::cold]] void on_train_begin(fit_run& run) override;
  void on_epoch_begin(fit_run& run) override;
  void on_batch_end(fit_run& run) override;
  [[gnu::cold]] void on_epoch_end(fit_run& run) override;
  void on_train_end(fit_run&) override { close(); }
  void state(callback_state& s) override { s("run", number_); }

 private:
  struct log {
    std::string folder;
    std::shared_ptr<detail::event_file> file{};  // callbacks are copied
    std::string waiting{};                       // records that could not be written yet
  };

  [[gnu::cold]] void write(log& l, std::string_view record);
  void close();

  log train_, validation_;
  tensorboard_options options_;
  detail::event_place before_{};  // this run's first step
  std::uint64_t number_ = 0;      // in its files' names; 0: none yet
  bool begun_ = false;
  bool warned_ = false;
};

}  // namespace dsl::TYPENET_MODE

#ifndef TYPENET_COMPILED
#include <dsl/io/tensorboard_inl.hpp>
#endif
