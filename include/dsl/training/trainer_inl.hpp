// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/data/normalization.hpp>
#include <dsl/data/pipeline.hpp>
#include <dsl/data/sample_source.hpp>
#include <dsl/data/sample_stream.hpp>
#include <dsl/detail/math.hpp>
#include <dsl/detail/message.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/detail/option_check.hpp>
#include <dsl/detail/owner.hpp>
#include <dsl/detail/zeros.hpp>
#include <dsl/executors/engine.hpp>
#include <dsl/training/callback.hpp>
#include <dsl/training/checks.hpp>
#include <dsl/training/evaluation.hpp>
#include <dsl/training/fit_options.hpp>
#include <dsl/training/initialize.hpp>
#include <dsl/training/token_checks.hpp>
#include <dsl/training/trainer.hpp>
#include <dsl/warning.hpp>

#include <cstdint>
#include <ctime>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace dsl::TYPENET_MODE {

TYPENET_INLINE trainer::trainer(std::unique_ptr<dsl::engine> e, double learning_rate) : trainer(std::move(e)) {
  learning_rate_ = learning_rate;
  initialize(*engine_, engine_->options().seed);
}

TYPENET_INLINE trainer::trainer(std::unique_ptr<dsl::engine> e)
    : engine_(require(std::move(e))),
      graph_(engine_->graph()),
      outputs_(detail::names_of_outputs(graph_)),
      learning_rate_(0) {}

TYPENET_INLINE history trainer::fit(dataset const& given, fit_options const& options) {
  per_output<loss> const& l = engine_->options().loss;
  detail::learned_targets const learned = detail::require_samples(graph_, l, given, "fit");
  detail::require_fit(graph_, l, given, options);
  dataset const data = as_learned(given, "fit");
  if (options.validation) {
    detail::require_same_moments(data, as_learned(*options.validation, "validation"));
    detail::learned_targets const of = detail::require_samples(graph_, l, *options.validation, "validation");
    for (metric_handle const& m : options.metrics)
      begin_with(m.observer(), *options.validation, of);  // which may refuse it
  }
  detail::require_shares(l, learned, data, "fit");
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
    loader =
        detail::make_owner<batch_loader>(detail::in_order_of_inputs(graph_, data),
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
                                                          .values = learned.own.empty() ? values_of(targets.all) : 0,
                                                          .class_weights = class_weights,
                                                          .targets = learned.own});
    program = engine_->prepare(mode::training, share, targets);
  }
  detail::weight_averager average(*engine_, options.average, options.epochs);
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
                                             "; try a smaller one, or check the validation data"});
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
  return std::move(run.past);
}

TYPENET_INLINE scores trainer::evaluate(dataset const& data, int batch_size, evaluation_observer* seen) {
  return evaluate(data, batch_size, seen ? std::vector{seen} : std::vector<evaluation_observer*>{}, nullptr);
}

TYPENET_INLINE std::vector<float> trainer::predict(dataset const& data, int batch_size) {
  return predict_output(0, data, batch_size);
}

TYPENET_INLINE std::vector<float> trainer::predict_output(std::string_view name, dataset const& data, int batch_size) {
  return predict_output(output_called(name, "predict_output"), data, batch_size);
}

TYPENET_INLINE int trainer::output_called(std::string_view name, char const* what) const {
  std::string names;
  for (int k = 0; k < output_count(graph_); ++k) {
    std::string const own = detail::name_of_output(graph_, k);
    if (own == name) return k;
    names += (k > 0 ? ", " : "") + own;
  }
  detail::throw_error<option_error>(
      {what, ": the network's outputs are ", names, "; found ", std::string(name), "; give one of these names"});
}

TYPENET_INLINE std::vector<float> trainer::predict_output(int k, dataset const& given, int batch_size) {
  detail::require_pictures(graph_, given, "predict");
  detail::require_no_stream(given, "predict");
  dataset const data = as_learned(given, "predict");
  auto const outputs = graph_.output_shape(graph_.nodes[output_node(graph_, k)]).size();
  std::vector<float> all(static_cast<std::size_t>(data.size * outputs));
  for_each_batch(data, batch_size, mode::inference, {}, [&](int program, batch const& b) {
    engine_->read_output(program, k, all.data() + b.first * outputs);
    return true;
  });
  return all;
}

TYPENET_INLINE scores trainer::train_on_batch(std::span<float const> samples, std::span<std::int32_t const> labels) {
  std::size_t const size = checks().samples_of(labels);
  checks().require_count("train_on_batch: samples", samples.size(), size, graph_.output_shape(graph_.nodes[0]));
  return train_on_batch(samples.data(), labels.data(), static_cast<int>(size));
}

TYPENET_INLINE scores trainer::train_on_batch(std::span<float const> samples, std::span<float const> values) {
  std::size_t const size = checks().samples_of(values);
  checks().require_count("train_on_batch: samples", samples.size(), size, graph_.output_shape(graph_.nodes[0]));
  return train_on(samples.data(), nullptr, values.data(), static_cast<int>(size));
}

TYPENET_INLINE scores trainer::train_on_batch(float const* images, std::int32_t const* labels, int size) {
  checks().require_labels(labels, size);
  return train_on(images, labels, nullptr, size);
}

TYPENET_INLINE scores trainer::train_on_batch(float const* images, float const* values, int size) {
  checks().require_loss_takes(target_kind::values);
  checks().require_size(size);
  return train_on(images, nullptr, values, size);
}

TYPENET_INLINE scores trainer::train_on_batch(std::vector<batch_input> const& inputs,
                                              std::vector<batch_target> const& targets) {
  std::size_t const size = checks().samples_of(inputs);
  auto const all = checks().arranged("train_on_batch", inputs, size);
  auto const wanted = checks().arranged(targets, size);
  if (target_view const& one = wanted.each[0]; wanted.each.size() == 1)
    return train_on(all[0], one.labels, one.values, static_cast<int>(size), all.data() + 1);
  detail::require_weights_of_classes_fit(engine_->options().class_weights, wanted.kinds);
  detail::require_tokens(graph_, all[0], all.data() + 1, static_cast<int>(size), "train_on_batch");
  return train_on(
      {.images = all[0], .size = static_cast<int>(size), .further = all.data() + 1, .targets = wanted.each.data()},
      wanted.kinds);
}

TYPENET_INLINE scores trainer::train_on_batch(std::vector<batch_input> const& inputs,
                                              std::span<std::int32_t const> labels) {
  std::size_t const size = checks().samples_of(labels);
  auto const all = checks().arranged("train_on_batch", inputs, size);
  checks().require_labels(labels.data(), static_cast<int>(size));
  return train_on(all[0], labels.data(), nullptr, static_cast<int>(size), all.data() + 1);
}

TYPENET_INLINE scores trainer::train_on_batch(std::vector<batch_input> const& inputs, std::span<float const> values) {
  std::size_t const size = checks().samples_of(values);
  auto const all = checks().arranged("train_on_batch", inputs, size);
  return train_on(all[0], nullptr, values.data(), static_cast<int>(size), all.data() + 1);
}

TYPENET_INLINE void trainer::predict_on_batch(std::span<float const> samples, std::span<float> outputs) {
  auto const each = static_cast<std::size_t>(graph_.shape_of(graph_.result()).size());
  checks().require_count("predict_on_batch: outputs", outputs.size(), outputs.size() / each,
                         graph_.shape_of(graph_.result()));
  checks().require_count("predict_on_batch: samples", samples.size(), outputs.size() / each,
                         graph_.output_shape(graph_.nodes[0]));
  predict_on_batch(samples.data(), static_cast<int>(outputs.size() / each), outputs.data());
}

TYPENET_INLINE void trainer::predict_on_batch(std::vector<batch_input> const& inputs, std::span<float> outputs) {
  shape const& result = graph_.shape_of(graph_.result());
  std::size_t const size = outputs.size() / static_cast<std::size_t>(result.size());
  checks().require_count("predict_on_batch: outputs", outputs.size(), size, result);
  auto const all = checks().arranged("predict_on_batch", inputs, size);
  detail::require_tokens(graph_, all[0], all.data() + 1, static_cast<int>(size), "predict_on_batch");
  int const program = engine_->prepare(mode::inference, static_cast<int>(size));
  engine_->run(program, {.images = all[0], .size = static_cast<int>(size), .step = step_, .further = all.data() + 1});
  engine_->read_result(program, outputs.data());
}

TYPENET_INLINE void trainer::predict_on_batch(float const* images, int size, float* outputs) {
  checks().require_size(size);
  checks().require_one_input("predict_on_batch");
  detail::require_tokens(graph_, images, nullptr, size, "predict_on_batch");
  int const program = engine_->prepare(mode::inference, size);
  engine_->run(program, {.images = images, .size = size, .step = step_});
  engine_->read_result(program, outputs);
}

TYPENET_INLINE double& fit_run::rate_of(dsl::trainer& t) { return t.learning_rate_; }

TYPENET_INLINE void trainer::set_learning_rate(double rate) {
  if (!detail::is_learning_rate(rate))
    detail::throw_error<option_error>({"set_learning_rate: it must be at least 0 and less than 1e30; found ", rate});
  learning_rate_ = rate;
}

TYPENET_INLINE scores trainer::train_on(float const* samples, std::int32_t const* labels, float const* values, int size,
                                        float const* const* further) {
  if (!further) checks().require_one_input("train_on_batch");
  detail::require_tokens(graph_, samples, further, size, "train_on_batch");
  long long const outputs = graph_.shape_of(graph_.result()).size();
  if (values) detail::require_shares(engine_->options().loss, values, size, outputs, "train_on_batch");
  target_kind const targets = values ? target_kind::values : checks().targets_of_labels();
  bool const of_pixels = targets == target_kind::pixel_classes;
  long long const labels_each = of_pixels ? graph_.shape_of(graph_.result()).area() : 1;
  long long labelled = of_pixels ? 0 : -1;
  for (long long i = 0; of_pixels && i < size * labels_each; ++i) labelled += labels[i] >= 0 ? 1 : 0;
  std::vector<float> weights;
  if (std::vector<float> const& of_classes = engine_->options().class_weights; labels && !of_classes.empty()) {
    weights.reserve(static_cast<std::size_t>(size * labels_each));
    for (long long i = 0; i < size * labels_each; ++i)
      weights.push_back(labels[i] < 0 ? 1.0F : of_classes[static_cast<std::size_t>(labels[i])]);
  }
  return train_on({.images = samples,
                   .labels = labels,
                   .size = size,
                   .values = values,
                   .further = further,
                   .weights = weights.empty() ? nullptr : weights.data(),
                   .labelled = labelled},
                  targets);
}

TYPENET_INLINE scores trainer::train_on(batch_view all, per_output<target_kind> const& targets) {
  int const size = all.size;
  batch_part const share = engine_->share_of(size);
  if (engine_->processes()) engine_->processes()->before_batch(size, learning_rate_, step_, targets);
  int const program = program_for(all.labelled, engine_->prepare(mode::training, share, targets), share);
  all.step = step_++;
  all.learning_rate = learning_rate_;
  std::vector<float const*> further;
  std::vector<target_view> own;
  engine_->run(program, share_of(all, targets, share, further, own));
  batch_metrics const sums = engine_->metrics(program);
  if (!detail::isfinite(sums.loss))
    detail::throw_error<training_error>({"loss: it became ", by_sample(sums, all.labelled, size).loss, " in step ",
                                         static_cast<long long>(step_), ", with learning rate ", learning_rate_,
                                         detail::advice_on_bad_loss(graph_, size, all.images, all.values)});
  std::vector<double> each;
  batch_metrics const step = add_step(program, sums, targets, all.targets, size, each);
  batch_metrics const m = all.targets ? step : by_sample(step, all.labelled, size);
  for (double& s : each)
    if (!all.targets) s = by_sample({s, 0}, all.labelled, size).loss;
  return mean_scores(m.loss, m.correct, size, has_acc(targets), outputs_, each);
}

TYPENET_INLINE batch_view trainer::share_of(batch_view all, per_output<target_kind> const& targets, batch_part share,
                                            std::vector<float const*>& further, std::vector<target_view>& own) const {
  auto const move_on = [&](target_view& t, int k) {
    long long const each = targets_each(graph_, targets, k), first = share.first;
    if (t.labels) t.labels += first * each;
    if (t.values) t.values += first * each;
    if (t.weights) t.weights += first * (targets[k] == target_kind::pixel_classes ? each : 1);
  };
  further = further_from(all.further, share.first);
  if (all.images) all.images += share.first * graph_.output_shape(graph_.nodes[0]).size();
  all.further = further.data();
  all.size = share.size;
  if (all.targets) {
    own.assign(all.targets, all.targets + targets.count);
    for (int k = 0; k < targets.count; ++k) move_on(own[static_cast<std::size_t>(k)], k);
    all.targets = own.data();
    return all;
  }
  target_view shared = all.targets_of(0);
  move_on(shared, 0);
  all.labels = shared.labels, all.values = shared.values, all.weights = shared.weights;
  return all;
}

TYPENET_INLINE void trainer::add_outputs(int program, per_output<target_kind> const& targets,
                                         std::vector<double>& sums) {
  if (outputs_.empty()) return;
  sums.resize(2 * outputs_.size());
  for (std::size_t k = 0; k < outputs_.size(); ++k) {
    batch_metrics const m = engine_->output_metrics(program, static_cast<int>(k));
    sums[2 * k] += m.loss;
    sums[2 * k + 1] += has_acc(targets, static_cast<int>(k)) ? m.correct : __builtin_nan("");
  }
}

TYPENET_INLINE batch_metrics trainer::add_step(int program, batch_metrics const& all,
                                               per_output<target_kind> const& targets, target_view const* own, int size,
                                               std::vector<double>& sums) {
  if (!own) {
    add_outputs(program, targets, sums);
    return all;
  }
  std::vector<double> step;
  add_outputs(program, targets, step);
  sums.resize(step.size());
  batch_metrics whole;
  for (std::size_t k = 0; k < outputs_.size(); ++k) {
    batch_metrics const mean = by_sample({step[2 * k], step[2 * k + 1]}, own[k].labelled, size);
    sums[2 * k] += mean.loss, sums[2 * k + 1] += mean.correct;
    whole.loss += engine_->loss_weight(static_cast<int>(k)) * mean.loss;
    if (k == 0) whole.correct = mean.correct;
  }
  return whole;
}

TYPENET_INLINE std::vector<float const*> trainer::further_from(float const* const* all, int first) const {
  std::vector<float const*> from;
  for (int n = 1; all && n < graph_.size.nodes; ++n)
    if (is_further_input(graph_, n))
      from.push_back(all[from.size()] + first * graph_.output_shape(graph_.nodes[n]).size());
  return from;
}

TYPENET_INLINE std::unique_ptr<dsl::engine> trainer::require(std::unique_ptr<dsl::engine> e) {
  if (!e) detail::throw_error<option_error>({"trainer: it needs an engine; found none; compile<...>() makes both"});
  return e;
}

TYPENET_INLINE fit_terms trainer::terms_of(dataset const& data, fit_options const& o) const {
  weight_average const average = o.average.value_or(weight_average{.start_from_epoch = -1});
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
          .average_every = average.every};
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
    throw;
  }
}

TYPENET_INLINE std::int64_t trainer::counted_before(fit_position const& at, int batch_size, batch_loader* of_pixels) {
  if (!of_pixels || at.step == 0) return at.step * batch_size;
  std::int64_t counted = 0;
  of_pixels->start(at.epoch);
  for (std::int64_t i = 0; i < at.step; ++i)
    if (batch const* const b = of_pixels->next()) counted += b->labelled;
  return counted;
}

TYPENET_INLINE int trainer::program_for(std::int64_t labelled, int training, batch_part share) {
  return labelled == 0 ? engine_->prepare(mode::evaluation, share, target_kind::pixel_classes) : training;
}

TYPENET_INLINE batch_metrics trainer::metrics(int program, fit_run* run) {
  if (!run) return engine_->metrics(program);
  int const here = run->interrupt ? __atomic_load_n(run->interrupt, __ATOMIC_RELAXED) : 0;
  if (run->processes) run->processes->ask(here);
  batch_metrics const m = engine_->metrics(program);
  if (!run->interrupted) run->interrupted = run->processes ? run->processes->asked() : here;
  return m;
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

TYPENET_INLINE scores trainer::evaluate(dataset const& given, int batch_size,
                                        std::vector<evaluation_observer*> const& seen, fit_run* run) {
  per_output<loss> const& l = engine_->options().loss;
  detail::require_no_stream(given, "evaluate");
  detail::learned_targets const targets = detail::require_samples(graph_, l, given, "evaluate");
  if (!run) detail::require_shares(l, targets, given, "evaluate");  // fit has checked its validation data
  dataset const data = as_learned(given, "evaluate");
  process_checks* const processes = engine_->processes();
  if (processes) processes->before_evaluation(data, batch_size);
  bool const shared = targets.own.empty();
  batch_metrics sum;
  std::vector<double> sums;  // of several outputs
  std::vector<std::int64_t> counted(shared ? 1 : targets.own.size());
  auto const of_pixels = [&](std::size_t k) { return shared ? data.pixel_classes : targets.own[k].data.pixel_classes; };
  detail::zeros<float> outputs;  // of this process's part of a batch
  std::vector<int> observed;
  for (evaluation_observer* const o : seen) {
    observed.push_back(output_called(o->output(), "evaluate"));
    begin_with(*o, data, targets);
  }
  for_each_batch(data, batch_size, mode::evaluation, targets, [&](int program, batch const& b) {
    batch_metrics const m = metrics(program, run);
    sum.loss += m.loss;
    sum.correct += m.correct;
    add_outputs(program, targets.kinds, sums);
    for (std::size_t k = 0; k < counted.size(); ++k)
      counted[k] += !of_pixels(k) ? b.size : shared ? b.labelled : b.targets[k].labelled;
    if (run && run->interrupted && !averages(*run) && detail::isfinite(sum.loss)) {
      run->proven = true;
      return false;
    }
    for (std::size_t i = 0; i < seen.size(); ++i) {
      auto const k = static_cast<std::size_t>(observed[i]);
      show(*seen[i], observed[i], program, b, shared ? data : targets.own[k].data, outputs);
    }
    return true;
  });
  for (evaluation_observer* const o : seen) o->on_end(processes);
  if (run && run->proven) notify(*run, &callback::on_backup);
  if (shared)
    return mean_scores(sum.loss, sum.correct, static_cast<double>(counted[0]), has_acc(targets.kinds), outputs_, sums);
  scores all;
  for (std::size_t k = 0; k < outputs_.size(); ++k) {
    auto const count = static_cast<double>(counted[k]);
    all.outputs.push_back({outputs_[k], sums[2 * k] / count, sums[2 * k + 1] / count});
    all.loss += engine_->loss_weight(static_cast<int>(k)) * all.outputs[k].loss;
  }
  all.acc = all.outputs[0].acc;
  return all;
}

TYPENET_INLINE void trainer::begin_with(evaluation_observer& seen, dataset const& data,
                                        detail::learned_targets const& targets) const {
  int const k = output_called(seen.output(), "metrics");
  seen.on_begin(targets.own.empty() ? data : targets.own[static_cast<std::size_t>(k)].data);
}

TYPENET_INLINE void trainer::show(evaluation_observer& to, int k, int program, batch const& b, dataset const& target,
                                  detail::zeros<float>& outputs) {
  target_view const wanted = b.targets ? b.targets[k] : target_view{.labels = b.labels, .values = b.values};
  auto const each = static_cast<std::size_t>(graph_.output_shape(graph_.nodes[output_node(graph_, k)]).size());
  batch_part const share = engine_->share_of(b.size);
  auto const needed = static_cast<std::size_t>(share.size) * (each > 1 ? each : 2);
  if (outputs.size() < needed) outputs.allocate(needed);
  engine_->read_output(program, k, outputs.data());
  if (wanted.labels && each == 1 && target.classes == 2) {  // one column per class, as for any other network
    for (std::size_t n = static_cast<std::size_t>(share.size); n-- > 0;) {
      float const second = outputs[n];
      outputs[2 * n] = 1 - second, outputs[2 * n + 1] = second;
    }
  }
  if (wanted.labels)
    to.on_batch(outputs.data(), wanted.labels + share.first * target.labels_each(), b.first + share.first, share.size);
  else
    to.on_values(outputs.data(), wanted.values + share.first * static_cast<std::int64_t>(each), b.first + share.first,
                 share.size);
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
    if (loader) detail::require_tokens(graph_, loader->data(), b, b.size, "fit");
    if (run.streams && b.values)
      detail::require_shares(engine_->options().loss, b.values, b.size, graph_.shape_of(graph_.result()).size(), "fit");
    bool const last = run.interrupted != 0 && b.labelled != 0;  // its loss shows whether the state before it is sound
    int const running = program_for(b.labelled, program, engine_->share_of(options.batch_size));
    engine_->run(running, {.images = b.images,
                           .labels = b.labels,
                           .size = b.size,
                           .step = step_++,
                           .learning_rate = run.learning_rate,
                           .values = b.values,
                           .further = b.further,
                           .weights = b.weights,
                           .labelled = b.labelled,
                           .targets = b.targets,
                           .staged = staged});
    staged = loader ? stage_next(*loader, program, b.size) : 0;
    batch_metrics const m = metrics(running, &run);
    if (!detail::isfinite(m.loss)) {
      if (ends_for_bad_loss(run)) return false;
      detail::throw_error<training_error>({"loss: it became ", m.loss, " in epoch ", run.epoch + 1, ", batch ",
                                           run.step + 1, ", with learning rate ", run.learning_rate,
                                           detail::advice_on_bad_loss(graph_, b.size, b.images, b.values)});
    }
    batch_metrics const step = add_step(running, m, targets, b.targets, options.batch_size, at.outputs);
    at.loss += step.loss;
    at.correct += step.correct;
    at.counted += b.labelled < 0 ? options.batch_size : b.labelled;
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
  if (!next || next->size != size || next->labelled == 0) return 0;
  return engine_->stage(program,
                        {.images = next->images, .labels = next->labels, .size = size, .weights = next->weights});
}

[[gnu::noinline]] TYPENET_INLINE void trainer::notify(fit_run& run, void (callback::*moment)(fit_run&)) {
  for (std::size_t i = 0; i < run.callback_count; ++i) (run.callbacks[i].operator->()->*moment)(run);
}

TYPENET_INLINE bool trainer::ends_for_bad_loss(fit_run& run) {
  for (std::size_t i = 0; i < run.callback_count; ++i) run.failed |= run.callbacks[i]->on_bad_loss(run);
  return run.failed;
}

template <class F>
void trainer::for_each_batch(dataset const& data, int batch_size, mode m, detail::learned_targets const& targets, F f) {
  detail::option_check{m == mode::inference ? "predict" : "evaluate"}.need(
      batch_size >= 1, "batch_size must be 1 or more", batch_size, "try 64");
  if (batch_size > data.size) batch_size = static_cast<int>(data.size);
  bool const shared = targets.own.empty();
  batch_loader loader(detail::in_order_of_inputs(graph_, data), {.batch_size = batch_size,
                                                                 .shuffle = false,
                                                                 .values = shared ? values_of(targets.kinds.all) : 0,
                                                                 .targets = targets.own});
  loader.start(0);
  std::uint64_t staged = 0;
  while (batch const* b = loader.next()) {
    detail::require_tokens(graph_, data, *b, b->size, m == mode::inference ? "predict" : "evaluate");
    // every process predicts for itself
    batch_part const share = m == mode::inference ? batch_part(b->size) : engine_->share_of(b->size);
    int const program = engine_->prepare(m, share, targets.kinds);
    batch_view const all{.images = b->images,
                         .labels = b->labels,
                         .size = b->size,
                         .step = step_,
                         .values = b->values,
                         .further = b->further,
                         .weights = b->weights,
                         .labelled = b->labelled,
                         .targets = b->targets,
                         .staged = staged};
    std::vector<float const*> further;
    std::vector<target_view> own;
    engine_->run(program, share_of(all, targets.kinds, share, further, own));
    staged = share.size == b->size ? stage_next(loader, program, b->size) : 0;
    if (!f(program, *b)) return;
  }
}

TYPENET_INLINE int trainer::values_of(target_kind targets) const {
  return targets == target_kind::values ? static_cast<int>(graph_.shape_of(graph_.result()).size()) : 0;
}

TYPENET_INLINE batch_metrics trainer::by_sample(batch_metrics const& m, std::int64_t labelled, int size) {
  double const share = labelled < 0 ? 1 : labelled > 0 ? size / static_cast<double>(labelled) : 0;
  return {m.loss * share, m.correct * share};
}

TYPENET_INLINE bool trainer::has_acc(per_output<target_kind> const& targets, int k) const {
  return targets[k] != target_kind::values || engine_->options().loss[k] == loss::binary_crossentropy;
}

TYPENET_INLINE void trainer::check_rate(fit_run const& run) {
  if (!detail::is_learning_rate(run.learning_rate)) refuse_rate(run);
}

TYPENET_INLINE void trainer::refuse_rate(fit_run const& run) {
  detail::throw_error<option_error>({"learning_rate: it must be at least 0 and less than 1e30; found ",
                                     run.learning_rate, " in epoch ", run.epoch + 1, " after ",
                                     detail::counted(run.step, "batch", "batches"), "; a callback set it"});
}

TYPENET_INLINE dsl::normalization trainer::normalization() const {
  auto const known = engine_->normalization();
  return known ? *known : dsl::normalization{};
}

TYPENET_INLINE void trainer::set_normalization(dsl::normalization n) {
  detail::require_moments_fit(graph_, n);
  engine_->set_normalization(std::make_shared<dsl::normalization const>(std::move(n)));
}

TYPENET_INLINE dataset trainer::as_learned(dataset const& data, char const* what) const {
  auto const known = engine_->normalization();
  if (!known) return data;
  dsl::normalization const own = normalization_of(data);
  if (own == *known) return data;
  if (own.empty()) return normalize_as(data, *known);
  detail::throw_error<option_error>(
      {what, ": the data set must have the normalisation of the data that the weights were trained on; found ",
       detail::difference(own, *known),
       "; leave out its mean and deviation to use those of the weights, or call forget_normalization() to train the "
       "weights with another normalisation"});
}

TYPENET_INLINE double trainer::seconds() {
  std::timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace dsl::TYPENET_MODE
