// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/io/checkpoint.hpp>
#include <dsl/io/save_freq.hpp>
#include <dsl/training/metrics.hpp>

#include <cstdint>
#include <cstdio>
#include <functional>
#include <optional>
#include <string>
#include <utility>

namespace dsl::TYPENET_MODE {

/// Writes a trainer's weights to a file of some format; what it throws before the first step ends the run, later it is
/// a warning:  [names](dsl::trainer& t, std::string const& path) { dsl::save_safetensors(t, path, {.naming = names}); }
using weights_writer = std::function<void(trainer&, std::string const& path)>;

/// As Keras's ModelCheckpoint has them; a `writer` chooses another format.
struct model_checkpoint_options {
  bool save_best_only = false;
  bool save_weights_only = false;
  dsl::save_freq save_freq = every_epochs(1);
  monitor_mode mode = monitor_mode::automatic;
  std::optional<double> initial_value_threshold{};  // what the first best has to be better than
  weights_writer writer{};                          // of another format than typenet's own; with save_weights_only
  std::function<void(std::string const& path)> written{};  // after each file, such as for one that belongs beside it
  bool verbose = false;                                    // Keras's lines on `out`
  std::FILE* out = stdout;
};

}  // namespace dsl::TYPENET_MODE

namespace dsl::detail::TYPENET_MODE {

/// Throws option_error for a width or precision, the 02 of {epoch:02d}, above the 255 characters that a file's name may
/// have: it would be formatted before anybody looks at the name.
[[gnu::cold]] void require_widths(std::string const& pattern);

/// "w.{epoch:02d}-{val_loss:.2f}" -> "w.03-0.91". Throws option_error, with the names that there are.
[[gnu::cold]] std::string checkpoint_path(std::string const& pattern, fit_run const& run, bool in_epoch);

/// Not a template on the metric.
class model_checkpoint_on : public callback {
 public:
  [[gnu::cold]] void on_train_begin(fit_run& run) override;
  void on_epoch_begin(fit_run& run) override;
  void on_train_end(fit_run& run) override;
  void on_batch_end(fit_run& run) override;
  void on_epoch_end(fit_run& run) override;
  [[gnu::cold]] void on_saving_point(fit_run& run) override;
  void on_backup(fit_run& run) override;
  [[gnu::cold]] void state(callback_state& s) override;

  /// Of the last file: a value that could not be written is none.
  double best() const { return best_; }

 protected:
  [[gnu::cold]] model_checkpoint_on(std::string pattern, model_checkpoint_options const& o, any_metric const& m);

 private:
  [[gnu::cold]] void decide(fit_run const& run, bool in_epoch);
  /// The pattern's part that no value changes, with its slash: a run may go on in another one.
  std::string folder() const;
  /// A whole state after every so many epochs or batches is one to go on from: it comes when the files that it speaks
  /// of are there.
  bool is_backup() const { return !options_.save_best_only && !options_.save_weights_only; }
  [[gnu::cold]] void save(fit_run const& run);
  /// The run has gone on from a file that was written before this one's; the trainer is still where it was.
  [[gnu::cold]] void catch_up(fit_run const& run);
  /// The run as it was at the end of the batch or epoch after which it goes on.
  [[gnu::cold]] static fit_run moment_before(fit_run run);
  /// Once, beside the first file: what it can't do is known before the first step. What a process that was killed has
  /// left of that the next one removes.
  [[gnu::cold]] void try_writer(fit_run const& run, std::string const& first) const;

  std::string pattern_;
  model_checkpoint_options options_;
  monitor monitor_;
  double best_;
  double value_ = 0;          // of the next one
  std::int64_t batches_ = 0;  // since the last one
  std::string path_, line_;
  bool due_ = false;
  bool caught_up_ = false;
  bool warned_ = false;
};

}  // namespace dsl::detail::TYPENET_MODE

namespace dsl::TYPENET_MODE {

/// Keras's ModelCheckpoint: keeps the model, or with .save_best_only the one with the best value so far; a value that
/// is as good is none.
///   model_checkpoint<val_accuracy>("best/{epoch:02d}-{val_acc:.4f}.state", {.save_best_only = true, .verbose = true})
///   Epoch 3: val_acc improved from 0.41000 to 0.52000, saving model to best/03-0.5200.state
/// Epochs and batches in names count from 1; folders are made. The file is a run's whole state, which load_weights
/// reads and backup_and_restore goes on from, best from a copy, since it writes over its file and removes it; or
/// weights alone. Widths and precisions in names are numbers up to 255. What can't be written, watched or named is an
/// error before the first step; a disk that is full later a warning.
template <class Monitor = val_loss>
class model_checkpoint : public detail::model_checkpoint_on {
 public:
  explicit model_checkpoint(std::string path, model_checkpoint_options const& o = {}, Monitor const& m = {})
      : model_checkpoint_on(std::move(path), o, detail::monitored<Monitor>::value(m)) {}
};

}  // namespace dsl::TYPENET_MODE

#ifndef TYPENET_COMPILED
#include <dsl/io/model_checkpoint_inl.hpp>
#endif
