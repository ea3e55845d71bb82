// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/print.hpp>
#include <dsl/detail/printable.hpp>
#include <dsl/io/checkpoint.hpp>
#include <dsl/io/save_freq.hpp>
#include <dsl/training/metrics.hpp>

#include <cstdint>
#include <cstdio>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/core.h>
#include <unistd.h>

namespace dsl {

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

namespace detail {

/// Throws option_error for a width or precision, the 02 of {epoch:02d}, above the 255 characters that a file's name may
/// have: it would be formatted before anybody looks at the name.
[[gnu::cold]] inline void require_widths(std::string const& pattern) {
  constexpr std::string_view digits = "0123456789";
  bool field = false;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (!field && pattern.compare(i, 2, "{{") == 0) {
      ++i;  // a brace as text
      continue;
    }
    bool const nested = field && pattern[i] == '{';
    std::size_t end = i;
    while (field && end < pattern.size() && digits.find(pattern[end]) != digits.npos) ++end;
    std::string const number = pattern.substr(i, end - i);
    if (nested || number.size() > 3 || (number.size() == 3 && number > "255"))
      throw option_error(message({"model_checkpoint: the file name ", pattern,
                                  " must have widths that are numbers of at most 255; found ", nested ? "{" : number,
                                  "; try {epoch:02d}"}));
    if (end > i) i = end - 1;
    field = pattern[i] == '{' || (field && pattern[i] != '}');
  }
}

/// "w.{epoch:02d}-{val_loss:.2f}" -> "w.03-0.91". Throws option_error, with the names that there are.
[[gnu::cold]] inline std::string checkpoint_path(std::string const& pattern, fit_run const& run, bool in_epoch) {
  epoch_record const& e = run.current;
  int const epoch_number = run.epoch + 1;  // an fmt::arg refers to its value
  std::int64_t const batch_number = run.step + 1;
  auto const epoch = fmt::arg("epoch", epoch_number);
  auto const batch = fmt::arg("batch", batch_number);
  auto const loss = fmt::arg("loss", e.train.loss), acc = fmt::arg("acc", e.train.acc);
  auto const long_acc = fmt::arg("accuracy", e.train.acc), rate = fmt::arg("learning_rate", e.learning_rate);
  try {
    if (in_epoch) return fmt::format(fmt::runtime(pattern), epoch, batch, loss, acc, long_acc, rate);
    if (!run.validates) return fmt::format(fmt::runtime(pattern), epoch, loss, acc, long_acc, rate);
    return fmt::format(fmt::runtime(pattern), epoch, loss, acc, long_acc, rate, fmt::arg("val_loss", e.validation.loss),
                       fmt::arg("val_acc", e.validation.acc), fmt::arg("val_accuracy", e.validation.acc));
  } catch (std::runtime_error const& x) {
    throw option_error(
        message({"model_checkpoint: the file name ", pattern, " must be made of text and {epoch:02d}, ",
                 in_epoch ? "{batch}, " : "", "{loss:.2f}, {acc:.2f}, {learning_rate}",
                 run.validates && !in_epoch ? ", {val_loss:.2f}, {val_acc:.2f}" : "", "; found: ", x.what()}));
  }
}

/// Not a template on the metric.
class model_checkpoint_on : public callback {
 public:
  [[gnu::cold]] void on_train_begin(fit_run& run) override {
    bool const in_epochs = options_.save_freq.epochs == 0;
    if (options_.save_best_only) {
      monitor_.require(run, "model_checkpoint");
      if (in_epochs && monitor_.what.of_validation)
        throw option_error(message({"model_checkpoint: every_batches has no ", monitor_.what.name,
                                    " within an epoch; watch loss or acc, or save every_epochs"}));
    }
    batches_ = 0;
    warned_ = due_ = caught_up_ = false;
    line_.clear();
    std::string first = checkpoint_path(pattern_, run, in_epochs);
    if (!run.leads) return;
    // Of folders with names from templates none is made before there is something to put into it.
    if (pattern_.find('/', folder().size()) != pattern_.npos) first = folder() + ".model_checkpoint";
    make_folders(first, "model_checkpoint");
    check_writable(first, "model_checkpoint");
    if (options_.writer) try_writer(run, first);
  }
  void on_epoch_begin(fit_run& run) override {
    if (due_) catch_up(run);
  }
  void on_train_end(fit_run& run) override {
    if (due_) catch_up(run);
  }
  void on_batch_end(fit_run& run) override {
    if (options_.save_freq.epochs == 0 && ++batches_ >= options_.save_freq.batches) batches_ = 0, decide(run, true);
  }
  void on_epoch_end(fit_run& run) override {
    int const every = options_.save_freq.epochs;
    if (every > 0 && (run.epoch + 1) % every == 0) decide(run, false);
  }
  [[gnu::cold]] void on_saving_point(fit_run& run) override {
    if (!line_.empty() && run.leads) print_lines(options_.out, printable(line_) + "\n");
    line_.clear();
    if (due_ && !is_backup()) save(run);
  }
  void on_backup(fit_run& run) override {
    if (due_) save(run);
  }
  [[gnu::cold]] void state(callback_state& s) override {
    if (options_.save_best_only) {
      s.same("monitor", monitor_.what.name);
      s.same("file name", pattern_.substr(pattern_.rfind('/') + 1));  // else two of them may stand in another order
    }
    if (caught_up_ && s.restores()) return;  // within an epoch that is twice
    s("best", best_);
    s("batches", batches_, 0, s.largest_count);
    if (!due_ && !s.restores()) return;
    // Others wrote this before this one's file, of the same moment, was there. Its name follows from that moment: a
    // state says nowhere what is to be written over.
    s("due", due_);
    s("value", value_);
  }

  /// Of the last file: a value that could not be written is none.
  double best() const { return best_; }

 protected:
  [[gnu::cold]] model_checkpoint_on(std::string pattern, model_checkpoint_options const& o, any_metric const& m)
      : pattern_(std::move(pattern)),
        options_(o),
        monitor_(m, o.mode, 0),
        best_(o.initial_value_threshold.value_or(monitor_.worst())) {
    require_widths(pattern_);
    o.save_freq.require();
    if (best_ != best_) throw option_error("model_checkpoint: initial_value_threshold must be a number; found NaN");
    if (options_.writer && !options_.save_weights_only)
      throw option_error("model_checkpoint: a writer saves weights alone; add .save_weights_only = true");
    for (char const* other : {".safetensors", ".h5", ".keras", ".onnx", ".pt"})
      if (!options_.writer && pattern_.ends_with(other))
        throw option_error(message({"model_checkpoint: ", pattern_,
                                    " must have a .writer of that format, and "
                                    ".save_weights_only = true; or choose another name"}));
  }

 private:
  [[gnu::cold]] void decide(fit_run const& run, bool in_epoch) {
    std::string const path = checkpoint_path(pattern_, run, in_epoch);
    value_ = options_.save_best_only ? monitor_.what.of(run.current) : best_;
    due_ = !options_.save_best_only || monitor_.better(value_, best_);
    if (options_.verbose) {
      std::string const epoch = fmt::format("Epoch {}: ", run.epoch + 1);
      if (!options_.save_best_only)
        line_ = fmt::format("{}saving model to {}", epoch, path);
      else if (due_)
        line_ = fmt::format("{}{} improved from {:.5f} to {:.5f}, saving model to {}", epoch, monitor_.what.name, best_,
                            value_, path);
      else
        line_ = fmt::format("{}{} did not improve from {:.5f}", epoch, monitor_.what.name, best_);
    }
    if (due_) path_ = path;
  }
  /// The pattern's part that no value changes, with its slash: a run may go on in another one.
  std::string folder() const {
    std::size_t const slash = pattern_.rfind('/', pattern_.find_first_of("{}"));
    return slash == pattern_.npos ? "" : pattern_.substr(0, slash + 1);
  }
  /// A whole state after every so many epochs or batches is one to go on from: it comes when the files that it speaks
  /// of are there.
  bool is_backup() const { return !options_.save_best_only && !options_.save_weights_only; }
  [[gnu::cold]] void save(fit_run const& run) {
    due_ = false;
    double const before = std::exchange(best_, value_);  // the file has the value that it is of
    bool const shows = options_.save_weights_only && run.average && run.average->show();  // in every process
    bool const written = !run.leads || write_or_warn(warned_, [&] {
      make_folders(path_, "model_checkpoint");
      if (options_.writer)
        options_.writer(run.trainer, path_);
      else if (options_.save_weights_only)
        save_weights(run.trainer, path_);
      else
        write_checkpoint(checkpoint(run), path_);
      if (options_.written) options_.written(path_);
    });
    if (shows) run.average->hide();
    if (!written) best_ = before;  // the best one that there is
  }
  /// The run has gone on from a file that was written before this one's; the trainer is still where it was.
  [[gnu::cold]] void catch_up(fit_run const& run) {
    path_ = checkpoint_path(pattern_, moment_before(run), options_.save_freq.epochs == 0);
    fit_run then = run;
    then.learning_rate = run.trainer.learning_rate();  // callbacks have changed the run's
    save(then);
    caught_up_ = true;
  }
  /// The run as it was at the end of the batch or epoch after which it goes on.
  [[gnu::cold]] static fit_run moment_before(fit_run run) {
    fit_position const& at = run.next;
    run.epoch = at.step > 0 ? at.epoch : at.epoch - 1;
    run.step = (at.step > 0 ? at.step : run.steps) - 1;
    auto const samples = static_cast<double>(at.step) * run.batch_size;
    if (at.step > 0)
      run.current = {.epoch = at.epoch,
                     .train = mean_scores(at.loss, at.correct, samples, run.has_acc),
                     .learning_rate = at.learning_rate};
    else if (!run.past.epochs.empty())
      run.current = run.past.epochs.back();
    return run;
  }
  /// Once, beside the first file: what it can't do is known before the first step. What a process that was killed has
  /// left of that the next one removes.
  [[gnu::cold]] void try_writer(fit_run const& run, std::string const& first) const {
    struct removed {
      std::string path;
      ~removed() { ::unlink(path.c_str()); }
    } const probe{first.substr(0, first.rfind('/') + 1) + ".model_checkpoint." +
                  pattern_.substr(pattern_.find_last_of("/{}") + 1)};
    options_.writer(run.trainer, probe.path);
  }

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

}  // namespace detail

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

}  // namespace dsl
