// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/detail/print.hpp>
#include <dsl/detail/printable.hpp>
#include <dsl/io/checkpoint.hpp>
#include <dsl/io/model_checkpoint.hpp>
#include <dsl/io/save_freq.hpp>
#include <dsl/training/earlier_files.hpp>
#include <dsl/training/metrics.hpp>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <fmt/core.h>
#include <unistd.h>

namespace dsl::detail::TYPENET_MODE {

TYPENET_INLINE void require_widths(std::string const& pattern) {
  constexpr std::string_view digits = "0123456789";
  bool field = false;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (!field && pattern.compare(i, 2, "{{") == 0) {
      ++i;  // an escaped brace
      continue;
    }
    bool const nested = field && pattern[i] == '{';
    std::size_t end = i;
    while (field && end < pattern.size() && digits.find(pattern[end]) != digits.npos) ++end;
    std::string const number = pattern.substr(i, end - i);
    if (nested || number.size() > 3 || (number.size() == 3 && number > "255"))
      throw option_error(
          message({"model_checkpoint: the field widths in the file name ", pattern,
                   " must be numbers of at most 255; found ", nested ? "{" : number, "; try {epoch:02d}"}));
    if (end > i) i = end - 1;
    field = pattern[i] == '{' || (field && pattern[i] != '}');
  }
}

TYPENET_INLINE std::string checkpoint_path(std::string const& pattern, fit_run const& run, bool in_epoch) {
  epoch_record const& e = run.current;
  int const epoch_number = run.epoch + 1;  // fmt::arg refers to its argument
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
    throw option_error(message(
        {"model_checkpoint: the file name ", pattern, " may contain only text and these fields: {epoch:02d}, ",
         in_epoch ? "{batch}, " : "", "{loss:.2f}, {acc:.2f}, {learning_rate}",
         run.validates && !in_epoch ? ", {val_loss:.2f}, {val_acc:.2f}" : "", "; the formatter reports: ", x.what()}));
  }
}

TYPENET_INLINE void model_checkpoint_on::on_train_begin(fit_run& run) {
  bool const in_epochs = options_.save_freq.epochs == 0;
  if (options_.save_best_only) {
    monitor_.require(run, "model_checkpoint");
    if (in_epochs && monitor_.what.of_validation)
      throw option_error(message({"model_checkpoint: ", monitor_.what.name,
                                  " is computed only after an epoch, but every_batches also saves within epochs; "
                                  "monitor loss or acc, or use every_epochs"}));
  }
  batches_ = 0;
  restored_rate_ = run.learning_rate;
  warned_ = due_ = caught_up_ = wrote_ = false;
  file_ = no_file;
  line_.clear();
  std::string first = checkpoint_path(pattern_, run, in_epochs);
  if (!run.leads) return;
  // Folders whose names come from the pattern are not made until there is a file for them.
  if (pattern_.find('/', folder().size()) != pattern_.npos) first = folder() + ".model_checkpoint";
  make_folders(first, "model_checkpoint");
  check_writable(first, "model_checkpoint");
  if (options_.writer) try_writer(run, first);
}

TYPENET_INLINE void model_checkpoint_on::on_epoch_begin(fit_run& run) {
  if (due_) catch_up(run);
}

TYPENET_INLINE void model_checkpoint_on::on_train_end(fit_run& run) {
  if (due_) catch_up(run);
  if (!run.failed && run.leads && file_ != no_file && is_of_another(run))
    on_warning(message({"model_checkpoint: ", path_,
                        " does not have the best weights of this run, which has resumed: "
                        "the file has been replaced or removed since then; this run's file may be ",
                        path_, ".before"})
                   .c_str());
}

TYPENET_INLINE bool model_checkpoint_on::is_of_another(fit_run const& run) {
  bool const one_file = options_.save_best_only && pattern_.find('{') == pattern_.npos;
  if (wrote_ || !run.restored_by || !one_file) return false;
  path_ = pattern_;
  return file_ != 0 && earlier_files::hash_of(path_) != file_;
}

TYPENET_INLINE void model_checkpoint_on::on_batch_end(fit_run& run) {
  if (options_.save_freq.epochs == 0 && ++batches_ >= options_.save_freq.batches) batches_ = 0, decide(run, true);
}

TYPENET_INLINE void model_checkpoint_on::on_epoch_end(fit_run& run) {
  int const every = options_.save_freq.epochs;
  if (every > 0 && (run.epoch + 1) % every == 0) decide(run, false);
}

TYPENET_INLINE void model_checkpoint_on::on_saving_point(fit_run& run) {
  if (!line_.empty() && run.leads) print_lines(options_.out, printable(line_) + "\n");
  line_.clear();
  if (due_ && !is_backup()) save(run);
}

TYPENET_INLINE void model_checkpoint_on::on_backup(fit_run& run) {
  if (due_) save(run);
}

TYPENET_INLINE void model_checkpoint_on::state(callback_state& s) {
  if (options_.save_best_only) {
    s.same("monitor", monitor_.what.name);
    s.same("file name", pattern_.substr(pattern_.rfind('/') + 1));  // otherwise two callbacks may have been swapped
  }
  if (caught_up_ && s.restores()) return;  // a second restore within an epoch
  if (s.restores()) file_ = 0;
  s("file", file_);
  s("best", best_);
  s("batches", batches_, 0, s.largest_count);
  if (!due_ && !s.restores()) return;
  // Another callback wrote this state before this one's file of the same step existed. The file's name follows from the
  // step, so that a state from elsewhere cannot choose which file is overwritten.
  s("due", due_);
  s("value", value_);
}

TYPENET_INLINE model_checkpoint_on::model_checkpoint_on(std::string pattern, model_checkpoint_options const& o,
                                                        any_metric const& m)
    : pattern_(std::move(pattern)),
      options_(o),
      monitor_(m, o.mode, 0),
      best_(o.initial_value_threshold.value_or(monitor_.worst())) {
  require_widths(pattern_);
  o.save_freq.require();
  if (best_ != best_) throw option_error("model_checkpoint: initial_value_threshold must be a number; found NaN");
  if (options_.writer && !options_.save_weights_only)
    throw option_error("model_checkpoint: a writer saves only weights; set .save_weights_only = true");
  if (!options_.writer && ending_of_other_format(pattern_))
    throw option_error(
        message({"model_checkpoint: ", pattern_,
                 " needs a .writer for that format and .save_weights_only = true; or choose another name"}));
}

TYPENET_INLINE void model_checkpoint_on::decide(fit_run const& run, bool in_epoch) {
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

TYPENET_INLINE std::string model_checkpoint_on::folder() const {
  std::size_t const slash = pattern_.rfind('/', pattern_.find_first_of("{}"));
  return slash == pattern_.npos ? "" : pattern_.substr(0, slash + 1);
}

TYPENET_INLINE void model_checkpoint_on::save(fit_run const& run) {
  due_ = false;
  double const before = std::exchange(best_, value_);  // the value of the file being written
  bool const shows = options_.save_weights_only && run.average && run.average->show();  // in every process
  bool const written = !run.leads || write_or_warn(warned_, [&] {
    make_folders(path_, "model_checkpoint");
    // A file of one epoch among others does not tell how many its run had.
    bool const is_newest = !options_.save_best_only && pattern_.find('{') == pattern_.npos;
    if (run.earlier)
      run.earlier->keep(path_, "model_checkpoint", is_newest ? epochs_of_run(path_) : std::nullopt,
                        options_.writer != nullptr);
    if (options_.writer) {
      struct own {  // what a writer has begun is this run's, even if the writer fails
        earlier_files* all;
        std::string const& path;
        ~own() {
          if (all) all->wrote(path);
        }
      } const begun{run.earlier.get(), path_};
      options_.writer(run.trainer, path_);
    } else if (options_.save_weights_only)
      save_weights(run.trainer, path_);
    else
      write_checkpoint(checkpoint(run), path_);
    if (run.earlier) run.earlier->wrote(path_);
    file_ = earlier_files::hash_of(path_), wrote_ = true;
    if (options_.written) options_.written(path_);
  });
  if (shows) run.average->hide();
  if (!written) best_ = before;  // the file of that value is still there
}

TYPENET_INLINE void model_checkpoint_on::catch_up(fit_run const& run) {
  path_ = checkpoint_path(pattern_, moment_before(run), options_.save_freq.epochs == 0);
  struct put_back {
    double& rate;
    double now;
    ~put_back() { rate = now; }
  } const after{run.learning_rate, std::exchange(run.learning_rate, restored_rate_)};  // a schedule may have set it
  save(run);
  caught_up_ = true;
}

TYPENET_INLINE fit_run model_checkpoint_on::moment_before(fit_run run) {
  fit_position const& at = run.next;
  run.epoch = at.step > 0 ? at.epoch : at.epoch - 1;
  run.step = (at.step > 0 ? at.step : run.steps) - 1;
  auto const samples = static_cast<double>(at.counted > 0 ? at.counted : 1);
  if (at.step > 0)
    run.current = {.epoch = at.epoch,
                   .train = mean_scores(at.loss, at.correct, samples, run.has_acc, run.outputs, at.outputs),
                   .learning_rate = at.learning_rate};
  else if (!run.past.epochs.empty())
    run.current = run.past.epochs.back();
  return run;
}

TYPENET_INLINE void model_checkpoint_on::try_writer(fit_run const& run, std::string const& first) const {
  struct removed {
    std::string path;
    ~removed() { ::unlink(path.c_str()); }
  } const probe{first.substr(0, first.rfind('/') + 1) + ".model_checkpoint." +
                pattern_.substr(pattern_.find_last_of("/{}") + 1)};
  try {
    options_.writer(run.trainer, probe.path);
  } catch (file_error const& e) {  // a name that the user has given
    std::string said = e.what();
    if (std::size_t const at = said.find(probe.path); at != said.npos) said.replace(at, probe.path.size(), first);
    throw file_error(said);
  }
}

}  // namespace dsl::detail::TYPENET_MODE
