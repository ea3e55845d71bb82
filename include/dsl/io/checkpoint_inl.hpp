// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/files/atomic_file.hpp>
#include <dsl/files/input_file.hpp>
#include <dsl/detail/message.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/detail/printable.hpp>
#include <dsl/io/checkpoint.hpp>
#include <dsl/io/checkpoint_format.hpp>
#include <dsl/io/folders.hpp>
#include <dsl/io/saved_network.hpp>
#include <dsl/training/callback_state.hpp>
#include <dsl/training/checks.hpp>
#include <dsl/training/earlier_files.hpp>
#include <dsl/training/run_identity.hpp>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>
#include <unistd.h>

namespace dsl::TYPENET_MODE {

TYPENET_INLINE std::string checkpoint(trainer& t, history const& past, double learning_rate) {
  // Skipped epochs (.initial_epoch) count; the epochs of several runs may each count from 0.
  auto epoch = static_cast<std::int64_t>(past.epochs.size());
  if (!past.epochs.empty() && past.epochs.back().epoch >= epoch) epoch = past.epochs.back().epoch + 1;
  return detail::checkpoint_bytes(
      t, {.slots = t.engine().options().update.slots(), .learning_rate = learning_rate, .epoch = epoch}, past,
      detail::state_of_arithmetic(t) + detail::state_of_outputs(t, past, {}) + detail::state_of_metrics(past) +
          (t.is_fitting() ? detail::state_of_source(t.source_of_fit()) : std::string()) +
          detail::state_of_identity(t.identity_of_fit()) + detail::state_of_network(t.engine()));
}

TYPENET_INLINE std::string checkpoint(trainer& t, history const& past) {
  return checkpoint(t, past, t.learning_rate());
}

}  // namespace dsl::TYPENET_MODE

namespace dsl::detail::TYPENET_MODE {

TYPENET_INLINE std::string state_name(fit_run const& run, std::size_t i) {
  auto const text = [&](std::size_t k) {
    name const n = run.callbacks[k].name();
    return std::string(n.data, static_cast<std::size_t>(n.size));
  };
  int before = 0;
  for (std::size_t k = 0; k < i; ++k) before += text(k) == text(i);
  return message({text(i), " ", before});
}

TYPENET_INLINE bool may_decide(std::string_view name, bool has_state) {
  name = name.substr(0, name.rfind(' '));
  if (name == "learning_rate_schedule") return true;
  for (char const* only_writes : {"backup_and_restore", "csv_logger", "model_checkpoint", "tensorboard"})
    if (name == only_writes) return false;
  return has_state;
}

TYPENET_INLINE void compare_callbacks(fit_run const& run, std::string const& callbacks, std::string const& file) {
  if (!run.leads) return;
  callback_state saved(callbacks, message({"checkpoint: ", file}));
  std::string theirs, own = "\n", differ;
  saved(callbacks_key, theirs);
  for (std::size_t i = 0; i < run.callback_count; ++i) own += state_name(run, i) + "\n";
  for (std::size_t from = 0, end; (end = theirs.find('\n', from)) != theirs.npos; from = end + 1) {
    std::string const one = theirs.substr(from, end - from);
    if (own.find("\n" + one + "\n") == own.npos) differ += (differ.empty() ? "" : ", ") + excerpt(one);
  }
  if (differ.empty()) return;
  on_warning(message({"checkpoint: ", file, " is from a run with the callbacks ", differ,
                      ", which this run does not have; the run continues, but its results will not be bit-identical"})
                 .c_str());
}

TYPENET_INLINE std::string state_of_arithmetic(trainer& t) {
  callback_state own;
  std::string arithmetic = t.engine().arithmetic();
  own(arithmetic_key, arithmetic);
  return own.bytes();
}

TYPENET_INLINE std::string state_of_outputs(trainer& t, history const& past, fit_position const& next) {
  std::size_t const outputs = names_of_outputs(t.graph()).size();
  if (outputs == 0) return {};
  std::vector<double> numbers;
  for (epoch_record const& e : past.epochs)
    for (scores const* s : {&e.train, &e.validation})
      for (std::size_t k = 0; k < outputs; ++k) {
        double const none = std::numeric_limits<double>::quiet_NaN();  // an epoch of another run has no such scores
        output_scores const one = k < s->outputs.size() ? s->outputs[k] : output_scores{"", none, none};
        numbers.insert(numbers.end(), {one.loss, one.acc});
      }
  numbers.insert(numbers.end(), next.outputs.begin(), next.outputs.end());
  callback_state own;
  own(outputs_key, numbers);
  return own.bytes();
}

TYPENET_INLINE void restore_outputs(trainer& t, std::string const& callbacks, std::string const& name, history& past,
                                    fit_position& next) {
  std::vector<std::string> const outputs = names_of_outputs(t.graph());
  if (outputs.empty()) return;
  callback_state all(callbacks, message({"checkpoint: ", name}));
  std::vector<double> numbers;
  all(outputs_key, numbers);
  std::size_t const sums = next.step > 0 ? 2 * outputs.size() : 0;
  if (numbers.size() != 4 * outputs.size() * past.epochs.size() + sums)
    throw file_error(message({"checkpoint: ", name, " is damaged: its scores must have ",
                              4 * outputs.size() * past.epochs.size() + sums, " numbers; found ", numbers.size(),
                              "; remove the file to start from the beginning"}));
  double const* from = numbers.data();
  for (epoch_record& e : past.epochs)
    for (scores* s : {&e.train, &e.validation})
      for (std::string const& output : outputs) {
        if ((s == &e.train || e.validated) && !std::isnan(from[0])) s->outputs.push_back({output, from[0], from[1]});
        from += 2;
      }
  next.outputs.assign(from, from + sums);
}

TYPENET_INLINE std::string state_of_metrics(history const& past) {
  if (past.epochs.empty() || past.epochs.back().validation.metrics.empty()) return {};
  std::string names;
  std::vector<named_score> const& last = past.epochs.back().validation.metrics;
  for (named_score const& m : last) names += m.name + "\n";
  std::vector<double> values;
  for (epoch_record const& e : past.epochs)
    for (std::size_t k = 0; k < last.size(); ++k) {
      std::vector<named_score> const& own = e.validation.metrics;  // an epoch of another run may have others
      bool const same = k < own.size() && own[k].name == last[k].name;
      values.push_back(same ? own[k].value : std::numeric_limits<double>::quiet_NaN());
    }
  callback_state own;
  own(metrics_key, names);
  own(message({metrics_key, " in each epoch"}).c_str(), values);
  return own.bytes();
}

TYPENET_INLINE void restore_metrics(trainer& t, std::string const& callbacks, std::string const& name, history& past) {
  callback_state all(callbacks, message({"checkpoint: ", name}));
  std::string own, found;
  for (std::string const& m : t.metrics_of_fit()) own += m + "\n";
  all(metrics_key, found);
  if (t.is_fitting() && !past.epochs.empty() && own != found)
    throw file_error(message({"checkpoint: ", name, " is from a run with ",
                              found.empty() ? "no metrics" : "the metrics " + excerpt(found), ", but this run has ",
                              own.empty() ? "none" : excerpt(own),
                              "; give fit the same .metrics, or remove the file to start from the beginning"}));
  std::vector<double> values;
  all(message({metrics_key, " in each epoch"}).c_str(), values);
  std::vector<std::string> names;
  for (std::size_t from = 0; from < found.size();) {
    std::size_t const end = found.find('\n', from);
    if (end == found.npos) break;
    names.push_back(found.substr(from, end - from));
    from = end + 1;
  }
  if (values.size() != names.size() * past.epochs.size())
    throw file_error(
        message({"checkpoint: ", name, " is damaged: its metrics must have ", names.size() * past.epochs.size(),
                 " numbers; found ", values.size(), "; remove the file to start from the beginning"}));
  double const* from = values.data();
  for (epoch_record& e : past.epochs)
    for (std::string const& m : names) e.validation.metrics.push_back({m, *from++});
}

TYPENET_INLINE std::string state_of_source(std::string source) {
  callback_state own;
  own(source_key, source);
  return own.bytes();
}

TYPENET_INLINE void require_source(std::string const& own, std::string const& callbacks, std::string const& name) {
  callback_state all(callbacks, message({"checkpoint: ", name}));
  std::string found = own;  // a file without an identity may belong to any data
  all(source_key, found);
  auto const words = [](std::string const& source) { return source.empty() ? "memory" : excerpt(source); };
  if (found != own)
    throw file_error(message({"checkpoint: ", name, " is from a run whose data came from ", words(found),
                              ", but the data of this run come from ", words(own),
                              "; use the same data, or remove the file to start from the beginning"}));
}

TYPENET_INLINE std::string state_of_identity(run_identity* own) {
  callback_state all;
  if (own)
    for (run_property const& p : own->properties()) {
      std::string value = p.value;
      all(message({"fit's ", p.name}).c_str(), value);
    }
  return all.bytes();
}

TYPENET_INLINE std::string state_of_files(fit_run const& run) {
  callback_state all;
  if (run.earlier) run.earlier->state(all);
  return all.bytes();
}

TYPENET_INLINE void compare_identity(trainer& t, std::string const& callbacks, std::string const& name) {
  process_checks const* const processes = t.engine().processes();
  if (!t.identity_of_fit() || (processes && processes->process() != 0)) return;
  callback_state all(callbacks, message({"checkpoint: ", name}));
  std::string differ;
  for (run_property const& p : t.identity_of_fit()->properties()) {
    std::string found = p.value;
    all(message({"fit's ", p.name}).c_str(), found);
    if (found != p.value)
      differ += message({differ.empty() ? "" : "; ", p.name, " ", excerpt(found), ", now ", p.value});
  }
  if (!differ.empty())
    on_warning(message({"checkpoint: ", name, " is from a run with ", differ,
                        "; the run continues, but its results will not be bit-identical"})
                   .c_str());
}

TYPENET_INLINE void compare_arithmetic(trainer& t, std::string const& callbacks, std::string const& name) {
  callback_state all(callbacks, message({"checkpoint: ", name}));
  std::string const own = t.engine().arithmetic();
  std::string found = own;
  all(arithmetic_key, found);
  process_checks const* const processes = t.engine().processes();
  if (found == own || (processes && processes->process() != 0)) return;
  on_warning(message({"checkpoint: ", name, " was computed with ", excerpt(found), ", but this run computes with ", own,
                      "; the run continues, but its results will not be bit-identical"})
                 .c_str());
}

}  // namespace dsl::detail::TYPENET_MODE

namespace dsl::TYPENET_MODE {

TYPENET_INLINE std::string state_of_callbacks(fit_run const& run) {
  callback_state all;
  std::string names;
  for (std::size_t i = 0; i < run.callback_count; ++i) {
    callback_state one;
    run.callbacks[i]->state(one);
    std::string bytes = one.bytes();
    std::string const name = detail::state_name(run, i);
    if (!bytes.empty()) all(name.c_str(), bytes);
    if (detail::may_decide(name, !bytes.empty())) names += name + "\n";
  }
  if (!names.empty()) all(detail::callbacks_key, names);
  if (run.average && !run.average->is_empty()) {
    callback_state one;
    run.average->state(one);
    std::string bytes = one.bytes();
    all(detail::average_key, bytes);
  }
  return all.bytes();
}

TYPENET_INLINE void restore_callbacks(fit_run& run, std::string const& bytes, std::string const& name) {
  callback_state all(bytes, detail::message({"checkpoint: ", name}));
  std::string average;
  all(detail::average_key, average);
  if (!average.empty()) {
    if (!run.average)
      throw file_error(detail::message({"checkpoint: ", name,
                                        " is from a run with averaged weights; give fit the same .average, or remove "
                                        "the file to start from the beginning"}));
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

TYPENET_INLINE std::string checkpoint(fit_run const& run) {
  detail::checkpoint_head head{.slots = run.trainer.engine().options().update.slots(),
                               .learning_rate = run.learning_rate,
                               .stop = run.stop,
                               .batch_size = run.batch_size,
                               .steps_an_epoch = run.steps};
  head.set(run.next);
  bool const averages = run.average && !run.average->is_empty();
  return detail::checkpoint_bytes(run.trainer, head, run.past,
                                  state_of_callbacks(run) + detail::state_of_arithmetic(run.trainer) +
                                      detail::state_of_outputs(run.trainer, run.past, run.next) +
                                      detail::state_of_metrics(run.past) + detail::state_of_source(run.source) +
                                      detail::state_of_identity(run.identity) + detail::state_of_files(run) +
                                      detail::state_of_network(run.trainer.engine()),
                                  averages ? &run.average->average() : nullptr);
}

TYPENET_INLINE saved_run restore_run(trainer& t, std::string const& bytes, std::string const& name) {
  using detail::message;
  if (t.fit_reads_stream())
    throw option_error(message({"checkpoint: a run can resume from ", name,
                                " only with data that can be read again; found the stream ", t.source_of_fit(),
                                ", which cannot go back to where that run was; remove the file, or load it with "
                                "load_weights() before fit and give the run another file name"}));
  detail::checkpoint_reader const file(t.graph(), bytes, name);
  detail::checkpoint_head const& head = file.head;
  engine_options const& own = t.engine().options();
  file.need(head.slots == own.update.slots(),
            message({"is from a run whose optimizer keeps ", detail::counted(head.slots, "number"),
                     " per weight, but that of this run keeps ", own.update.slots(),
                     "; use the optimizer of that run, or remove the file to start from the beginning"}));
  file.need(
      head.rules == detail::fingerprint_of(own, t.graph(), head.fingerprints),
      "is from a run that differs in its optimizer, its loss, a batch_norm setting, its frozen parts, a factor of "
      "scaled<...>, or its outputs; use the settings of that run, or remove the file to start from the beginning");
  file.need(head.seed == t.seed(), message({"has the seed ", static_cast<long long>(head.seed), ", but this run has ",
                                            static_cast<long long>(t.seed()),
                                            "; use the same seed, or remove the file to start from the beginning"}));
  process_checks const* const processes = t.engine().processes();
  if (head.replicas != t.engine().replicas() && (!processes || processes->process() == 0))
    on_warning(message({"checkpoint: ", name, " is from a run with ", detail::counted(head.replicas, "tower"),
                        ", but this one has ", t.engine().replicas(),
                        "; use the total batch size of that run, or each epoch has a different number of steps and the "
                        "learning rate has a different effect"})
                   .c_str());
  auto const learned = detail::saved_normalization(t.graph(), file.callbacks(), name, detail::start_without);
  if (auto const now = t.engine().normalization(); learned && t.is_fitting() && now)
    file.need(*learned == *now, message({"is from a run with another normalisation: the data of this run have ",
                                         detail::difference(*now, *learned),
                                         "; use the same data, or remove the file to start from the beginning"}));
  if (t.is_fitting()) detail::require_source(t.source_of_fit(), file.callbacks(), name);
  detail::compare_arithmetic(t, file.callbacks(), name);
  detail::compare_identity(t, file.callbacks(), name);
  history past = file.past();
  fit_position next = head.next();
  detail::restore_outputs(t, file.callbacks(), name, past, next);
  detail::restore_metrics(t, file.callbacks(), name, past);
  file.give_arrays(t.engine(), true);
  if (learned && !t.is_fitting()) t.engine().set_normalization(learned);
  t.set_steps(head.steps);
  t.set_learning_rate(head.learning_rate);
  return {std::move(past),     std::move(next), head.learning_rate, head.stop != 0, static_cast<int>(head.batch_size),
          head.steps_an_epoch, file.callbacks()};
}

TYPENET_INLINE history restore(trainer& t, std::string const& bytes, std::string const& name) {
  detail::checkpoint_reader const file(t.graph(), bytes, name);
  file.need(file.head.step == 0,
            detail::message({"was saved in the middle of epoch ", static_cast<long long>(file.head.epoch + 1),
                             "; resume it with backup_and_restore, or remove the file to start from the beginning"}));
  file.need(file.head.epoch == file.head.epochs,
            detail::message({"was saved after epoch ", file.head.epoch, " but has records of only ", file.head.epochs,
                             ": its run began with .initial_epoch; resume it with backup_and_restore, or with "
                             "restore_run and .initial_epoch = ",
                             file.head.epoch}));
  callback_state callbacks(file.callbacks(), detail::message({"checkpoint: ", name}));
  std::string average;
  callbacks(detail::average_key, average);
  file.need(average.empty(), "is from a run with averaged weights; resume it with backup_and_restore");
  return restore_run(t, bytes, name).past;
}

TYPENET_INLINE void write_checkpoint(std::string const& bytes, std::string const& path, char const* kind) {
  atomic_file file(path, kind);
  file.write(bytes);
  file.commit();
}

}  // namespace dsl::TYPENET_MODE

namespace dsl::detail::TYPENET_MODE {

TYPENET_INLINE void state_file::begin() {
  waits_.clear();
  earlier_.reset();
  warned_ = written_ = false;
}

TYPENET_INLINE bool state_file::keep(fit_run const& run, std::string state) {
  waits_ = std::move(state);
  earlier_ = run.earlier;
  written_ = false;
  return run.proven && write();
}

TYPENET_INLINE void state_file::remove(fit_run const& run) const {
  if (run.earlier->is_own(path_)) ::unlink(path_.c_str());
}

TYPENET_INLINE bool state_file::write() {
  std::string const state = std::exchange(waits_, {});
  return written_ = write_or_warn(warned_, [&] {
           if (earlier_) earlier_->keep(path_, "checkpoint", epochs_of_run(path_));
           write_checkpoint(state, path_);
           if (earlier_) earlier_->wrote(path_);
         });
}

}  // namespace dsl::detail::TYPENET_MODE

namespace dsl::TYPENET_MODE {

TYPENET_INLINE std::string read_checkpoint(std::string const& path) {
  return detail::read_checkpoint_or(path, detail::start_without);
}

}  // namespace dsl::TYPENET_MODE

namespace dsl::detail::TYPENET_MODE {

TYPENET_INLINE std::optional<int> epochs_begun(std::string const& path) {
  try {
    input_file file(path, "checkpoint", "");
    checkpoint_head const own{};
    checkpoint_head found{};
    if (file.size() < sizeof own.magic) return std::nullopt;
    file.read(&found, file.size() < sizeof found ? file.size() : sizeof found);
    if (std::memcmp(found.magic, own.magic, checkpoint_reader::version_at) != 0) return std::nullopt;
    bool const whole =
        std::memcmp(found.magic, own.magic, sizeof own.magic) == 0 && checkpoint_size(found) == file.size();
    if (!whole) return std::numeric_limits<int>::max();
    return static_cast<int>(found.epoch) + (found.step > 0 ? 1 : 0);
  } catch (data_error const&) {
    return std::nullopt;
  }
}

TYPENET_INLINE std::optional<int> epochs_of_run(std::string const& path) {
  std::optional<int> const begun = epochs_begun(path);
  return begun == 0 ? std::nullopt : begun;
}

TYPENET_INLINE std::string read_checkpoint_or(std::string const& path, char const* otherwise) {
  try {
    input_file file(path, "checkpoint",
                    std::string_view(otherwise) == give_another
                        ? give_another
                        : "give another file, or remove this one to start from the beginning");
    checkpoint_head head{}, found{};
    std::string bytes;
    file.append(bytes, file.size() < sizeof head ? file.size() : sizeof head);
    if (bytes.size() < sizeof head || std::memcmp(bytes.data(), head.magic, sizeof head.magic) != 0) return bytes;
    std::memcpy(&found, bytes.data(), sizeof found);
    if (std::size_t const size = checkpoint_size(found); size != file.size())
      throw file_error(message({"checkpoint: ", path, " ", wrong_size(size, file.size(), otherwise)}));
    file.append(bytes, file.size() - bytes.size());
    return bytes;
  } catch (data_error const& e) {
    throw file_error(e.what());
  }
}

}  // namespace dsl::detail::TYPENET_MODE

namespace dsl::TYPENET_MODE {

TYPENET_INLINE void save_weights(trainer& t, std::string const& path) {
  if (char const* const other = detail::ending_of_other_format(path))
    throw option_error(detail::message({"save_weights: it writes typenet's own format, not ", other, "; found ", path,
                                        "; choose another name, or the function that writes that format, such as "
                                        "save_safetensors"}));
  write_checkpoint(
      detail::checkpoint_bytes(t, {.learning_rate = t.learning_rate()}, {}, detail::state_of_network(t.engine())), path,
      "weights");
}

TYPENET_INLINE void load_weights(engine& e, std::string const& path) {
  std::string const bytes = detail::read_checkpoint_or(path, detail::give_another);
  detail::checkpoint_reader const file(e.graph(), bytes, path, detail::give_another);
  auto const learned = detail::saved_normalization(e.graph(), file.callbacks(), path, detail::give_another);
  file.give_arrays(e, false);
  if (learned) e.set_normalization(learned);
}

TYPENET_INLINE void load_weights(trainer& t, std::string const& path) { load_weights(t.engine(), path); }

TYPENET_INLINE void load_weights(predictor& p, std::string const& path) { load_weights(p.engine(), path); }

TYPENET_INLINE checkpoint_each_epoch::checkpoint_each_epoch(std::string to, history before)
    : path(std::move(to)), earlier(std::move(before)), file_(path) {}

TYPENET_INLINE void checkpoint_each_epoch::on_train_begin(fit_run& run) {
  if (run.average) throw option_error("checkpoint_each_epoch: it cannot save fit's .average; use backup_and_restore");
  file_ = detail::state_file(path);
  if (!run.leads) return;
  check_writable(path, "checkpoint");
  // The state that restore() has read is continued.
  if (!earlier.epochs.empty() && run.earlier && detail::epochs_begun(path) == static_cast<int>(earlier.epochs.size()))
    run.earlier->wrote(path);
}

TYPENET_INLINE void checkpoint_each_epoch::on_backup(fit_run& run) {
  if (run.next.step > 0 || !run.leads) return;
  history all = earlier;
  all.epochs.insert(all.epochs.end(), run.past.epochs.begin(), run.past.epochs.end());
  file_.keep(run, checkpoint(run.trainer, all));
}

}  // namespace dsl::TYPENET_MODE
