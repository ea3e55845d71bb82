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
#include <vector>

namespace dsl::TYPENET_MODE {

/// The options of Keras's TensorBoard callback.
struct tensorboard_options {
  std::int64_t update_freq = 0;  // batches between points of batch_loss and batch_accuracy; 0: epochs only
};

/// Keras's TensorBoard callback: curves for `tensorboard --logdir logs`, with Keras's names.
///   logs/train       epoch_loss, epoch_accuracy, epoch_learning_rate; batch_loss, batch_accuracy
///   logs/validation  epoch_loss, epoch_accuracy
/// Epochs are counted from 0, as in Keras. Batches are counted from 1 across all epochs; their points are means since
/// the beginning of the epoch. Each point is written as soon as it is known, so that no point is lost if the process is
/// killed. A run that resumes from backup_and_restore's file continues the curves of the killed run, whose points at
/// later steps are removed. A run with .initial_epoch that shares the callback by std::shared_ptr also continues the
/// curves. Any other run hides the points of earlier runs in the same folder, but does not remove their files. To
/// compare runs, give each its own folder. Throws file_error before the first step if nothing can be written. If a
/// later write fails, the callback warns once, and writes the missing points as soon as it can.
class tensorboard : public callback {
 public:
  explicit tensorboard(std::string log_dir = "logs", tensorboard_options const& o = {});

  void on_train_begin(fit_run& run) override;
  void on_epoch_begin(fit_run& run) override;
  void on_batch_end(fit_run& run) override;
  void on_epoch_end(fit_run& run) override;
  void on_train_end(fit_run&) override { close(); }
  void state(callback_state& s) override { s("run", number_); }

 private:
  struct log {
    std::string folder;
    std::shared_ptr<detail::event_file> file{};  // shared, because callbacks are copied
    std::string waiting{};                       // records not written yet
  };

  /// Returns the points of a step or an epoch. If there are several outputs, the names of their points have the
  /// output's name after the prefix.
  static std::vector<detail::scalar_point> points(std::string const& prefix, scores const& s);
  void write(log& l, std::string_view record);
  void close();

  bool is_named_;  // whether the folder has a name
  log train_, validation_;
  tensorboard_options options_;
  detail::event_place before_{};  // the run's first step
  std::uint64_t number_ = 0;      // the run's number, in its files' names; 0: none yet
  bool begun_ = false;
  bool warned_ = false;
};

}  // namespace dsl::TYPENET_MODE

#ifdef TYPENET_DEFINITIONS
#include <dsl/io/tensorboard_inl.hpp>
#endif
