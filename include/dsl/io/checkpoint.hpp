// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/atomic_file.hpp>
#include <dsl/detail/input_file.hpp>
#include <dsl/detail/message.hpp>
#include <dsl/io/checkpoint_format.hpp>
#include <dsl/io/folders.hpp>
#include <dsl/training/callback_state.hpp>
#include <dsl/warning.hpp>

#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

namespace dsl {

/// What a checkpoint has beside what it gives the trainer.
struct saved_run {
  history past{};
  fit_position next{};
  double learning_rate = 0;
  bool stop = false;
  int batch_size = 0;  // 0: the run's was not known
  std::int64_t steps = 0;
  std::string callbacks{};  // for restore_callbacks()
};

/// A training's state after an epoch, as bytes: parameters, running statistics, optimizer slots, counters, and what
/// every epoch came to. An executor that computes in float goes on from it with the same bits, since order,
/// augmentation and dropout depend on seed, epoch and step alone. The rate is the next epoch's.
[[gnu::cold]] inline std::string checkpoint(trainer& t, history const& past, double learning_rate) {
  // epochs that .initial_epoch has skipped count; those of several runs may each count from 0
  auto epoch = static_cast<std::int64_t>(past.epochs.size());
  if (!past.epochs.empty() && past.epochs.back().epoch >= epoch) epoch = past.epochs.back().epoch + 1;
  return detail::checkpoint_bytes(
      t, {.slots = t.engine().options().update.slots(), .learning_rate = learning_rate, .epoch = epoch}, past, {});
}
[[gnu::cold]] inline std::string checkpoint(trainer& t, history const& past) {
  return checkpoint(t, past, t.learning_rate());
}

namespace detail {

/// "early_stopping 0": the first of that type among a run's callbacks.
[[gnu::cold]] inline std::string state_name(fit_run const& run, std::size_t i) {
  auto const text = [&](std::size_t k) {
    name const n = run.callbacks[k].name();
    return std::string(n.data, static_cast<std::size_t>(n.size));
  };
  int before = 0;
  for (std::size_t k = 0; k < i; ++k) before += text(k) == text(i);
  return message({text(i), " ", before});
}

inline constexpr char const* average_key = "fit's average";  // no callback's: types have no such name

}  // namespace detail

/// The state of every callback of a run that has one, as bytes: its type's name, its number among those of that type,
/// and what it saves. Where weights are averaged, the average and the training's own.
[[gnu::cold]] inline std::string state_of_callbacks(fit_run const& run) {
  callback_state all;
  for (std::size_t i = 0; i < run.callback_count; ++i) {
    callback_state one;
    run.callbacks[i]->state(one);
    std::string bytes = one.bytes();
    if (!bytes.empty()) all(detail::state_name(run, i).c_str(), bytes);
  }
  if (run.average && !run.average->is_empty()) {
    callback_state one;
    run.average->state(one);
    std::string bytes = one.bytes();
    all(detail::average_key, bytes);
  }
  return all.bytes();
}
/// Those that the bytes do not have stay as they are. Throws file_error for what is another callback's, and for an
/// average where this run has none.
[[gnu::cold]] inline void restore_callbacks(fit_run& run, std::string const& bytes, std::string const& name) {
  callback_state all(bytes, name);
  std::string average;
  all(detail::average_key, average);
  if (!average.empty()) {
    if (!run.average)
      throw file_error(detail::message({"checkpoint: ", name,
                                        " is of a run whose weights were averaged; give fit "
                                        ".average as that one had it, or start without"}));
    callback_state one(std::move(average), detail::message({"checkpoint: ", name, "'s average"}));
    run.average->state(one);
  }
  for (std::size_t i = 0; i < run.callback_count; ++i) {
    std::string const who = detail::state_name(run, i);
    std::string found;
    all(who.c_str(), found);
    if (found.empty()) continue;
    callback_state one(std::move(found), detail::message({"checkpoint: ", name, "'s ", who}));
    run.callbacks[i]->state(one);
  }
}

/// The same within an epoch, too, with the state of all callbacks: for on_saving_point and on_backup, where
/// run.next fits the weights. With fit's .average these are the average; the training's own are in that state.
[[gnu::cold]] inline std::string checkpoint(fit_run const& run) {
  detail::checkpoint_head head{.slots = run.trainer.engine().options().update.slots(),
                               .learning_rate = run.learning_rate,
                               .stop = run.stop,
                               .batch_size = run.batch_size,
                               .steps_an_epoch = run.steps};
  head.set(run.next);
  bool const averages = run.average && !run.average->is_empty();
  return detail::checkpoint_bytes(run.trainer, head, run.past, state_of_callbacks(run),
                                  averages ? &run.average->average() : nullptr);
}

/// Gives a trainer that state, and returns the rest. Throws file_error for bytes that are no whole checkpoint of such a
/// training, and has changed nothing then. `name` is the file's, for messages.
[[gnu::cold]] inline saved_run restore_run(trainer& t, std::string const& bytes, std::string const& name) {
  using detail::message;
  detail::checkpoint_reader const file(t, bytes, name);
  detail::checkpoint_head const& head = file.head;
  engine_options const& own = t.engine().options();
  file.need(head.slots == own.update.slots() && head.rules == detail::fingerprint_of(own, t.graph(), head.fingerprints),
            "is of another optimizer, loss, batch_norm or frozen part; choose the same ones, or start without");
  file.need(head.seed == t.seed(),
            message({"has the seed ", static_cast<long long>(head.seed), ", this training has ",
                     static_cast<long long>(t.seed()), "; choose the same one, or start without"}));
  process_checks const* const processes = t.engine().processes();
  if (head.replicas != t.engine().replicas() && (!processes || processes->process() == 0))
    on_warning(message({"checkpoint: ", name, " is of ", static_cast<long long>(head.replicas),
                        " towers, this training has ", t.engine().replicas(),
                        "; with the same batch for each of them steps and learning rate mean something else"})
                   .c_str());
  file.give_arrays(t.engine(), true);
  t.set_steps(head.steps);
  t.set_learning_rate(head.learning_rate);
  return {file.past(),         head.next(),     head.learning_rate, head.stop != 0, static_cast<int>(head.batch_size),
          head.steps_an_epoch, file.callbacks()};
}

/// The same for one after an epoch, and returns what came before: fit(..., {.initial_epoch = past.epochs.size()}) goes
/// on. Of one within an epoch only backup_and_restore can; of callbacks' state it makes use, too. Throws file_error
/// where epochs before it are not in the file, since .initial_epoch skipped them.
[[gnu::cold]] inline history restore(trainer& t, std::string const& bytes, std::string const& name) {
  detail::checkpoint_reader const file(t, bytes, name);
  file.need(file.head.step == 0,
            detail::message({"is of the middle of epoch ", static_cast<long long>(file.head.epoch + 1),
                             "; go on from it with backup_and_restore, or start without"}));
  file.need(file.head.epoch == file.head.epochs,
            detail::message({"is after epoch ", file.head.epoch, " and has ", file.head.epochs,
                             " of them: its run began with .initial_epoch; go on from it with backup_and_restore, or "
                             "with restore_run and .initial_epoch = ",
                             file.head.epoch}));
  callback_state callbacks(file.callbacks(), name);
  std::string average;
  callbacks(detail::average_key, average);
  file.need(average.empty(), "is of a run whose weights were averaged; go on from it with backup_and_restore");
  return restore_run(t, bytes, name).past;
}

/// Throws file_error, whose message `kind` opens; then a file that was there before is as it was.
[[gnu::cold]] inline void write_checkpoint(std::string const& bytes, std::string const& path,
                                           char const* kind = "checkpoint") {
  atomic_file file(path, kind);
  file.write(bytes);
  file.commit();
}
namespace detail {

/// Keeps a run's last good state in a file: weights that have given no loss yet may be broken, so their state waits, in
/// memory, for the next step's, and only then replaces the one before.
class state_file {
 public:
  explicit state_file(std::string path) : path_(std::move(path)) {}
  std::string const& path() const { return path_; }

  [[gnu::cold]] void begin() {
    waits_.clear();
    warned_ = written_ = false;
  }
  /// In on_backup. Whether it is written by now.
  [[gnu::cold]] bool keep(fit_run const& run, std::string state) {
    waits_ = std::move(state);
    written_ = false;
    return run.proven && write();
  }
  /// Whether the file has the last state that was kept.
  bool is_written() const { return written_; }
  /// In on_batch_end, which no bad loss comes to. Whether there was one, and it is written.
  bool confirm() { return !waits_.empty() && write(); }

 private:
  [[gnu::cold]] bool write() {
    std::string const state = std::exchange(waits_, {});
    return written_ = write_or_warn(warned_, [&] { write_checkpoint(state, path_); });
  }

  std::string path_, waits_;
  bool written_ = false;
  bool warned_ = false;
};

}  // namespace detail

/// For restore(). Throws file_error. Of a file that does not begin as a checkpoint of its size only the beginning is
/// read, since it may be of any size; of another format's the reader will say so.
[[gnu::cold]] inline std::string read_checkpoint(std::string const& path) {
  try {
    detail::input_file file(path, "checkpoint", "give another file, or start without");
    detail::checkpoint_head head{}, found{};
    std::string bytes;
    file.append(bytes, file.size() < sizeof head ? file.size() : sizeof head);
    if (bytes.size() < sizeof head || std::memcmp(bytes.data(), head.magic, sizeof head.magic) != 0) return bytes;
    std::memcpy(&found, bytes.data(), sizeof found);
    if (std::size_t const size = detail::checkpoint_size(found); size != file.size())
      throw file_error(detail::message({"checkpoint: ", path, " ", detail::wrong_size(size, file.size())}));
    file.append(bytes, file.size() - bytes.size());
    return bytes;
  } catch (data_error const& e) {
    throw file_error(e.what());
  }
}

/// Parameters and running statistics alone, in the same format. Throws file_error.
[[gnu::cold]] inline void save_weights(trainer& t, std::string const& path) {
  write_checkpoint(detail::checkpoint_bytes(t, {.learning_rate = t.learning_rate()}, {}, {}), path, "weights");
}
/// Out of any checkpoint of such a network, whatever its optimizer and seed; the rest of the trainer stays as it is.
[[gnu::cold]] inline void load_weights(trainer& t, std::string const& path) {
  std::string const bytes = read_checkpoint(path);
  detail::checkpoint_reader(t, bytes, path).give_arrays(t.engine(), false);
}

/// Writes one after every epoch, over the one before, with the learning rate that callbacks have set by then; without
/// validation, after the next epoch's first step, whose loss says whether the weights are any good. `earlier` is what
/// restore() returned, where it went on, and restore() asks for it again. Throws file_error before the first epoch
/// where the file can't be written. Where that fails later (the disk is full, the folder gone) it warns once, and tries
/// again after the next epoch: hours of training are worth more than the means to repeat them.
struct checkpoint_each_epoch : callback {
  std::string path;
  history earlier{};

  explicit checkpoint_each_epoch(std::string to, history before = {})
      : path(std::move(to)), earlier(std::move(before)), file_(path) {}

  void on_train_begin(fit_run& run) override {
    if (run.average) throw option_error("checkpoint_each_epoch: it can't keep fit's .average; take backup_and_restore");
    file_ = detail::state_file(path);
    if (run.leads) check_writable(path, "checkpoint");
  }
  void on_batch_end(fit_run&) override { file_.confirm(); }
  [[gnu::cold]] void on_backup(fit_run& run) override {
    if (run.next.step > 0 || !run.leads) return;
    history all = earlier;
    all.epochs.insert(all.epochs.end(), run.past.epochs.begin(), run.past.epochs.end());
    file_.keep(run, checkpoint(run.trainer, all, run.learning_rate));
  }

 private:
  detail::state_file file_;
};

}  // namespace dsl
