// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/math.hpp>
#include <dsl/detail/message.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/executors/engine.hpp>
#include <dsl/training/checks.hpp>
#include <dsl/training/token_checks.hpp>
#include <dsl/training/trainer.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace dsl::TYPENET_MODE {

TYPENET_INLINE scores trainer::train_on_batch(std::span<float const> samples, std::span<std::int32_t const> labels) {
  std::size_t const size = checks().samples_of(labels);
  checks().require_count("train_on_batch: samples", samples.size(), size, graph_.output_shape(graph_.nodes[0]));
  return train_on_batch(samples.data(), labels.data(), static_cast<int>(size));
}

TYPENET_INLINE scores trainer::train_on_batch(std::span<float const> samples, std::span<float const> values) {
  std::size_t const size = checks().samples_of(values);
  checks().require_count("train_on_batch: samples", samples.size(), size, graph_.output_shape(graph_.nodes[0]));
  return train_on_batch(samples.data(), values.data(), static_cast<int>(size));
}

TYPENET_INLINE scores trainer::train_on_batch(float const* images, std::int32_t const* labels, int size) {
  checks().require_labels(labels, size);
  return train_on({&images, 1}, {.labels = labels}, static_cast<std::size_t>(size));
}

TYPENET_INLINE scores trainer::train_on_batch(float const* images, float const* values, int size) {
  checks().require_loss_takes(target_kind::values);
  checks().require_size(size);
  return train_on({&images, 1}, {.values = values}, static_cast<std::size_t>(size));
}

TYPENET_INLINE scores trainer::train_on_batch(std::vector<batch_input> const& inputs,
                                              std::vector<batch_target> const& targets) {
  std::size_t const size = checks().samples_of(inputs);
  auto const all = checks().arranged("train_on_batch", inputs, size);
  auto const wanted = checks().arranged(targets, size);
  if (wanted.each.size() == 1) return train_on(all, wanted.each[0], size);
  detail::require_weights_of_classes_fit(engine_->options().class_weights, wanted.kinds);
  detail::require_tokens(graph_, all, static_cast<int>(size), "train_on_batch");
  return train_on({.inputs = all, .targets = wanted.each, .size = static_cast<int>(size)}, wanted.kinds);
}

TYPENET_INLINE scores trainer::train_on_batch(std::vector<batch_input> const& inputs,
                                              std::span<std::int32_t const> labels) {
  std::size_t const size = checks().samples_of(labels);
  auto const all = checks().arranged("train_on_batch", inputs, size);
  checks().require_labels(labels.data(), static_cast<int>(size));
  return train_on(all, {.labels = labels.data()}, size);
}

TYPENET_INLINE scores trainer::train_on_batch(std::vector<batch_input> const& inputs, std::span<float const> values) {
  std::size_t const size = checks().samples_of(values);
  auto const all = checks().arranged("train_on_batch", inputs, size);
  return train_on(all, {.values = values.data()}, size);
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
  detail::require_tokens(graph_, all, static_cast<int>(size), "predict_on_batch");
  int const program = engine_->prepare(mode::inference, static_cast<int>(size));
  engine_->run(program, {.inputs = all, .size = static_cast<int>(size), .step = step_});
  engine_->read_result(program, outputs.data());
}

TYPENET_INLINE void trainer::predict_on_batch(float const* images, int size, float* outputs) {
  checks().require_size(size);
  checks().require_one_input("predict_on_batch");
  detail::require_tokens(graph_, {&images, 1}, size, "predict_on_batch");
  int const program = engine_->prepare(mode::inference, size);
  engine_->run(program, {.inputs = {&images, 1}, .size = size, .step = step_});
  engine_->read_result(program, outputs);
}

TYPENET_INLINE scores trainer::train_on(std::span<float const* const> inputs, target_view target, std::size_t size) {
  if (inputs.size() == 1) checks().require_one_input("train_on_batch");
  auto const count = static_cast<int>(size);
  detail::require_tokens(graph_, inputs, count, "train_on_batch");
  shape const& result = graph_.shape_of(graph_.result());
  if (target.values)
    detail::require_shares(engine_->options().loss, target.values, count, result.size(), "train_on_batch");
  target_kind const kind = target.values ? target_kind::values : checks().targets_of_labels();
  bool const of_pixels = kind == target_kind::pixel_classes;
  std::span<std::int32_t const> const labels{target.labels, target.labels ? size * (of_pixels ? result.area() : 1) : 0};
  target.labelled = of_pixels ? 0 : -1;
  for (std::size_t i = 0; of_pixels && i < labels.size(); ++i) target.labelled += labels[i] >= 0 ? 1 : 0;
  std::vector<float> weights;
  if (std::vector<float> const& of_classes = engine_->options().class_weights; !of_classes.empty()) {
    weights.reserve(labels.size());
    for (std::int32_t const label : labels)
      weights.push_back(label < 0 ? 1.0F : of_classes[static_cast<std::size_t>(label)]);
  }
  target.weights = weights.empty() ? nullptr : weights.data();
  return train_on({.inputs = inputs, .targets = {&target, 1}, .size = count}, kind);
}

TYPENET_INLINE scores trainer::train_on(batch_view all, per_output<target_kind> const& targets) {
  int const size = all.size;
  batch_part const share = engine_->share_of(size);
  std::int64_t const labelled = labelled_of(all.targets);
  if (engine_->processes()) engine_->processes()->before_batch(size, learning_rate_, step_, targets);
  int const program = program_for(labelled, engine_->prepare(mode::training, share, targets), share);
  all.step = step_++;
  all.learning_rate = learning_rate_;
  batch_view mine = all;
  mine.first = share.first, mine.size = share.size;
  engine_->run(program, mine);
  batch_metrics const sums = engine_->metrics(program);
  if (!detail::isfinite(sums.loss))
    detail::throw_error<training_error>({"loss: it became ", by_sample(sums, labelled, size).loss, " in step ",
                                         static_cast<long long>(step_), ", with learning rate ", learning_rate_,
                                         detail::advice_on_bad_loss(graph_, all)});
  std::vector<double> each;
  batch_metrics const m = by_sample(add_step(program, sums, targets, all.targets, size, each), labelled, size);
  for (double& s : each) s = by_sample({s, 0}, labelled, size).loss;
  return mean_scores(m.loss, m.correct, size, has_acc(targets), outputs_, each);
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
                                               per_output<target_kind> const& kinds,
                                               std::span<target_view const> targets, int size,
                                               std::vector<double>& sums) {
  if (kinds.is_shared()) {
    add_outputs(program, kinds, sums);
    return all;
  }
  std::vector<double> step;
  add_outputs(program, kinds, step);
  sums.resize(step.size());
  batch_metrics whole;
  for (std::size_t k = 0; k < outputs_.size(); ++k) {
    batch_metrics const mean = by_sample({step[2 * k], step[2 * k + 1]}, targets[k].labelled, size);
    sums[2 * k] += mean.loss, sums[2 * k + 1] += mean.correct;
    whole.loss += engine_->loss_weight(static_cast<int>(k)) * mean.loss;
    if (k == 0) whole.correct = mean.correct;
  }
  return whole;
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

TYPENET_INLINE batch_metrics trainer::by_sample(batch_metrics const& m, std::int64_t labelled, int size) {
  double const share = labelled < 0 ? 1 : labelled > 0 ? size / static_cast<double>(labelled) : 0;
  return {m.loss * share, m.correct * share};
}

}  // namespace dsl::TYPENET_MODE
