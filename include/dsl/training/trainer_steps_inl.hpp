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
