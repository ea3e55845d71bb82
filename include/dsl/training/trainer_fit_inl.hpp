// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/data/normalization.hpp>
#include <dsl/data/pipeline.hpp>
#include <dsl/data/sample_source.hpp>
#include <dsl/data/sample_stream.hpp>
#include <dsl/detail/math.hpp>
#include <dsl/detail/message.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/detail/owner.hpp>
#include <dsl/executors/engine.hpp>
#include <dsl/training/callback.hpp>
#include <dsl/training/checks.hpp>
#include <dsl/training/earlier_files.hpp>
#include <dsl/training/fit_options.hpp>
#include <dsl/training/run_identity.hpp>
#include <dsl/training/token_checks.hpp>
#include <dsl/training/trainer.hpp>
#include <dsl/warning.hpp>

#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>
#include <unistd.h>

namespace dsl::TYPENET_MODE {

TYPENET_INLINE history trainer::fit(dataset const& given, fit_options const& options) {
  per_output<loss> const& l = engine_->options().loss;
  detail::learned_targets const learned = detail::require_samples(graph_, l, given, "fit");
  detail::require_fit(graph_, l, given, options);
  dataset const data = as_learned(given, "fit");
  if (options.validation) {
    detail::require_same_moments(data, as_learned(*options.validation, "validation"));
    detail::learned_targets const of = detail::require_samples(graph_, l, *options.validation, "validation");
    for (metric_handle const& m : options.metrics) begin_with(m.observer(), of);  // which may refuse it
  }
  detail::require_shares(l, learned, "fit");
  per_output<target_kind> const targets = learned.kinds;
  process_checks* const processes = engine_->processes();
  if (processes) processes->before_fit(terms_of(data, options));
  detail::owner<batch_loader> loader;  // unless the engine fetches batches itself
  batch_part const share = engine_->share_of(options.batch_size);
  std::vector<float> const& class_weights = engine_->options().class_weights;
  bool const weighs = data.weights || !class_weights.empty();
  detail::require_weights_of_classes_fit(class_weights, targets);
  int program = targets == per_output<target_kind>(target_kind::classes) && !weighs
                    ? engine_->prepare_resident(data, options.augment, share, options.shuffle)
                    : -1;
  if (program < 0) {
    loader = detail::make_owner<batch_loader>(detail::in_order_of_inputs(graph_, data),
                                              pipeline_options{.batch_size = options.batch_size,
                                                               .seed = seed(),
                                                               .shuffle = options.shuffle,
                                                               .drop_last = true,
                                                               .augment = options.augment,
                                                               .prefetch = options.prefetch,
                                                               .threads = options.loader_threads,
                                                               .part_first = share.first,
                                                               .part_size = share.size,
                                                               .cache = options.cache,
                                                               .class_weights = class_weights,
                                                               .targets = learned.each});
    program = engine_->prepare(mode::training, share, targets);
  }
  detail::weight_averager average(*engine_, options.average, options.epochs);
  detail::run_identity identity(terms_of(data, options));
  std::int64_t const steps = data.size / options.batch_size;  // steps per epoch; callbacks may change run's
  fit_run run{.trainer = *this,
              .epochs = options.epochs,
              .steps = steps,
              .batch_size = options.batch_size,
              .given_rate = learning_rate_,
              .validates = options.validation != nullptr,
              .has_acc = has_acc(targets),
              .leads = !processes || processes->process() == 0,
              .next = {.epoch = options.initial_epoch},
              .processes = processes,
              .average = options.average ? &average : nullptr,
              .identity = &identity,
              .earlier = std::make_shared<earlier_files>(),
              .callbacks = options.callbacks.data(),
              .callback_count = options.callbacks.size(),
              .outputs = outputs_,
              .outputs_have_acc = {},
              .metrics = detail::names_of(options.metrics, outputs_),
              .source = detail::identity_of(data),
              .streams = detail::is_stream(data)};
  for (std::size_t k = 0; k < outputs_.size(); ++k)
    run.outputs_have_acc.push_back(has_acc(targets, static_cast<int>(k)) ? 1 : 0);
  struct scope_exit {
    fit_run*& now;
    fit_run* before;
    double& rate;
    double given_rate;
    ~scope_exit() {
      now = before;
      if (!detail::is_learning_rate(rate)) rate = given_rate;  // a callback's, which has been refused
    }
  } const under_way{run_, std::exchange(run_, &run), learning_rate_, learning_rate_};
  auto const learned_before = engine_->normalization();
  engine_->set_normalization(std::make_shared<dsl::normalization const>(normalization_of(data)));
  try {
    begin_run(run, targets == per_output<target_kind>(target_kind::pixel_classes) ? loader.get() : nullptr);
  } catch (...) {
    engine_->set_normalization(learned_before);
    throw;
  }
  while (should_continue(run, options)) {
    double const begin = seconds() - run.next.seconds;
    begin_epoch(run);
    if (!train_epoch(loader.get(), program, targets, steps, begin, run, options)) break;
    run.current.seconds = seconds() - begin;
    run.current.images_per_second = static_cast<double>(steps * options.batch_size) / run.current.seconds;
    average.show();
    if (options.validation) {
      run.current.validation =
          evaluate(*options.validation, options.batch_size, detail::observers_of(options.metrics), &run);
      if (run.proven) leave(run);
      if (!detail::isfinite(run.current.validation.loss)) {
        average.hide();
        if (ends_for_bad_loss(run)) break;
        detail::throw_error<training_error>({"val_loss: it became ", run.current.validation.loss, " in epoch ",
                                             run.epoch + 1, ", with learning rate ", learning_rate_,
                                             "; try a smaller learning rate, or check the validation data"});
      }
      for (metric_handle const& m : options.metrics) run.current.validation.metrics.push_back({m.name(), m.value()});
      run.current.validated = true;
      run.current.seconds = seconds() - begin;
    }
    if (processes) processes->after_epoch();
    run.past.epochs.push_back(run.current);
    notify(run, &callback::on_epoch_end);
    agree_to_stop(run);  // for the state that is written now
    run.next = {.epoch = run.epoch + 1};
    run.proven = (run.current.validated && !averages(run)) || run.stop || run.next.epoch >= run.epochs;
    notify(run, &callback::on_saving_point);
    average.hide();
    notify(run, &callback::on_backup);
    if (run.interrupted && run.proven) leave(run);
    ++run.epoch;
  }
  if (!run.failed) average.keep();
  notify(run, &callback::on_train_end);
  if (!run.failed) run.earlier->end(static_cast<int>(run.past.epochs.size()));
  return std::move(run.past);
}

TYPENET_INLINE fit_terms trainer::terms_of(dataset const& data, fit_options const& o) const {
  weight_average const average = o.average.value_or(weight_average{.start_from_epoch = -1});
  int backups = 0;
  for (callback_handle const& c : o.callbacks) backups += c.is("backup_and_restore");
  return {.batch_size = o.batch_size,
          .epochs = o.epochs,
          .initial_epoch = o.initial_epoch,
          .learning_rate = learning_rate_,
          .steps = step_,
          .shuffle = o.shuffle,
          .augment = o.augment,
          .data = data,
          .validation = o.validation,
          .average_from_epoch = average.start_from_epoch,
          .average_momentum = average.momentum,
          .average_every = average.every,
          .backups = backups};
}

TYPENET_INLINE bool trainer::should_continue(fit_run& run, fit_options const& options) {
  agree_to_stop(run);
  return run.epoch < options.epochs && (!run.stop || run.next.step > 0);
}

TYPENET_INLINE void trainer::agree_to_stop(fit_run& run) {
  if (run.processes) run.stop = run.processes->any("whether a callback ends the run", run.stop);
}

TYPENET_INLINE void trainer::begin_run(fit_run& run, batch_loader* of_pixels) {
  try {
    notify(run, &callback::on_restore);
    run.epoch = run.next.epoch;
    run.next.counted = counted_before(run.next, run.batch_size, of_pixels);
    notify(run, &callback::on_train_begin);
    notify(run, &callback::on_resume);
  } catch (...) {
    for (std::size_t i = run.callback_count; i-- > 0;) run.callbacks[i]->on_refused(run);
    run.earlier->give_back();
    throw;
  }
}

TYPENET_INLINE std::int64_t trainer::counted_before(fit_position const& at, int batch_size, batch_loader* of_pixels) {
  if (!of_pixels || at.step == 0) return at.step * batch_size;
  std::int64_t counted = 0;
  of_pixels->start(at.epoch);
  for (std::int64_t i = 0; i < at.step; ++i)
    if (batch const* const b = of_pixels->next()) counted += labelled_of(b->targets);
  return counted;
}

TYPENET_INLINE void trainer::leave(fit_run const& run) {
  fit_position const& at = run.next;
  std::string const where = at.step > 0
                                ? detail::message({"batch ", at.step, " of ", run.steps, " of epoch ", at.epoch + 1})
                                : detail::message({"epoch ", at.epoch});
  throw interrupted(
      detail::message({"fit: interrupted by signal ", run.interrupted, " after ", where, " of ", run.epochs}),
      run.interrupted);
}

TYPENET_INLINE void trainer::begin_epoch(fit_run& run) {
  notify(run, &callback::on_epoch_begin);
  if (run.next.step > 0)  // a restart within this epoch, whose on_epoch_begin has been called before
    notify(run, &callback::on_resume);
  else
    run.next.learning_rate = run.learning_rate;
  run.current = {.epoch = run.epoch, .learning_rate = run.next.learning_rate};
  if (run.processes) run.processes->before_epoch(run.learning_rate);
}

TYPENET_INLINE bool trainer::train_epoch(batch_loader* loader, int program, per_output<target_kind> const& targets,
                                         std::int64_t steps, double begin, fit_run& run, fit_options const& options) {
  fit_position at = run.next;
  auto const means = [&] {
    auto const samples = static_cast<double>(at.counted > 0 ? at.counted : 1);
    run.current.train = mean_scores(at.loss, at.correct, samples, run.has_acc, run.outputs, at.outputs);
  };
  if (at.step > 0) means();
  if (loader)
    loader->start(run.epoch, at.step);
  else if (at.step < steps)
    engine_->start_epoch(program, run.epoch, at.step);
  batch const resident{.size = engine_->share_of(options.batch_size).size};
  run.proven = false;
  std::uint64_t staged = 0;
  for (run.step = at.step; steps > at.step; run.step = at.step) {
    check_rate(run);
    batch const& b = loader ? *loader->next() : resident;
    batch_view const now{.inputs = b.inputs,
                         .targets = b.targets,
                         .size = b.size,
                         .step = step_,
                         .learning_rate = run.learning_rate,
                         .staged = staged};
    if (loader) detail::require_tokens(graph_, loader->data(), b, b.size, "fit");
    if (float const* const values = now.target(0).values; run.streams && values)
      detail::require_shares(engine_->options().loss, values, b.size, graph_.shape_of(graph_.result()).size(), "fit");
    std::int64_t const labelled = labelled_of(b.targets);
    bool const last = run.interrupted != 0 && labelled != 0;  // its loss shows whether the state before it is sound
    int const running = program_for(labelled, program, engine_->share_of(options.batch_size));
    ++step_;
    engine_->run(running, now);
    staged = loader ? stage_next(*loader, program, b.size) : 0;
    batch_metrics const m = metrics(running, &run);
    if (!detail::isfinite(m.loss)) {
      if (ends_for_bad_loss(run)) return false;
      detail::throw_error<training_error>({"loss: it became ", m.loss, " in epoch ", run.epoch + 1, ", batch ",
                                           run.step + 1, ", with learning rate ", run.learning_rate,
                                           detail::advice_on_bad_loss(graph_, now)});
    }
    batch_metrics const step = add_step(running, m, targets, b.targets, options.batch_size, at.outputs);
    at.loss += step.loss;
    at.correct += step.correct;
    at.counted += labelled < 0 ? options.batch_size : labelled;
    ++at.step;
    means();
    notify(run, &callback::on_batch_end);
    if (last) leave(run);
    if (run.average) run.average->after_step(run.epoch, at.step == steps);
    at.seconds = seconds() - begin;
    run.next = at;
    notify(run, &callback::on_saving_point);
    notify(run, &callback::on_backup);
  }
  check_rate(run);
  return true;
}

TYPENET_INLINE std::uint64_t trainer::stage_next(batch_loader& loader, int program, int size) {
  batch const* const next = loader.coming();
  if (!next || next->size != size || labelled_of(next->targets) == 0) return 0;
  return engine_->stage(program, {.inputs = next->inputs, .targets = next->targets, .size = size});
}

[[gnu::noinline]] TYPENET_INLINE void trainer::notify(fit_run& run, void (callback::*moment)(fit_run&)) {
  ::pid_t const process = ::getpid();
  for (std::size_t i = 0; i < run.callback_count; ++i) (run.callbacks[i].operator->()->*moment)(run);
  if (::getpid() == process) return;
  // A forked child has none of the threads, and the files and locks are its parent's: even unwinding could wait for
  // ever.
  std::fputs("fit: a callback has forked, and the child process must end with _exit(), not return from the callback\n",
             stderr);
  ::_exit(1);
}

TYPENET_INLINE bool trainer::ends_for_bad_loss(fit_run& run) {
  for (std::size_t i = 0; i < run.callback_count; ++i) run.failed |= run.callbacks[i]->on_bad_loss(run);
  return run.failed;
}

TYPENET_INLINE void trainer::check_rate(fit_run const& run) {
  if (!detail::is_learning_rate(run.learning_rate)) refuse_rate(run);
}

TYPENET_INLINE void trainer::refuse_rate(fit_run const& run) {
  detail::throw_error<option_error>({"learning_rate: it must be at least 0 and less than 1e30; found ",
                                     run.learning_rate, " in epoch ", run.epoch + 1, " after ",
                                     detail::counted(run.step, "batch", "batches"), "; a callback set it"});
}

}  // namespace dsl::TYPENET_MODE
