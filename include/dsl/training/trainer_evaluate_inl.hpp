// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/data/pipeline.hpp>
#include <dsl/data/sample_stream.hpp>
#include <dsl/detail/math.hpp>
#include <dsl/detail/message.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/detail/option_check.hpp>
#include <dsl/detail/zeros.hpp>
#include <dsl/executors/engine.hpp>
#include <dsl/training/checks.hpp>
#include <dsl/training/evaluation.hpp>
#include <dsl/training/token_checks.hpp>
#include <dsl/training/trainer.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dsl::TYPENET_MODE {

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

TYPENET_INLINE scores trainer::evaluate(dataset const& given, int batch_size,
                                        std::vector<evaluation_observer*> const& seen, fit_run* run) {
  per_output<loss> const& l = engine_->options().loss;
  detail::require_no_stream(given, "evaluate");
  detail::learned_targets const targets = detail::require_samples(graph_, l, given, "evaluate");
  if (!run) detail::require_shares(l, targets, "evaluate");  // fit has checked its validation data
  dataset const data = as_learned(given, "evaluate");
  process_checks* const processes = engine_->processes();
  if (processes) processes->before_evaluation(data, batch_size);
  batch_metrics sum;
  std::vector<double> sums;  // of several outputs
  std::vector<std::int64_t> counted(targets.each.size());
  detail::zeros<float> outputs;  // of this process's part of a batch
  std::vector<int> observed;
  for (evaluation_observer* const o : seen) {
    observed.push_back(output_called(o->output(), "evaluate"));
    begin_with(*o, targets);
  }
  for_each_batch(data, batch_size, mode::evaluation, targets, [&](int program, batch const& b) {
    batch_metrics const m = metrics(program, run);
    sum.loss += m.loss;
    sum.correct += m.correct;
    add_outputs(program, targets.kinds, sums);
    for (std::size_t k = 0; k < counted.size(); ++k)
      counted[k] += targets.of(k).pixel_classes ? b.targets[k].labelled : b.size;
    if (run && run->interrupted && !averages(*run) && detail::isfinite(sum.loss)) {
      run->proven = true;
      return false;
    }
    for (std::size_t i = 0; i < seen.size(); ++i)
      show(*seen[i], observed[i], program, b, targets.of(static_cast<std::size_t>(observed[i])), outputs);
    return true;
  });
  for (evaluation_observer* const o : seen) o->on_end(processes);
  if (run && run->proven) notify(*run, &callback::on_backup);
  if (targets.kinds.is_shared())
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

TYPENET_INLINE void trainer::begin_with(evaluation_observer& seen, detail::learned_targets const& targets) const {
  seen.on_begin(targets.of(static_cast<std::size_t>(output_called(seen.output(), "metrics"))));
}

TYPENET_INLINE void trainer::show(evaluation_observer& to, int k, int program, batch const& b, dataset const& target,
                                  detail::zeros<float>& outputs) {
  target_view const& wanted = b.targets[b.targets.size() > 1 ? static_cast<std::size_t>(k) : 0];
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

template <class F>
void trainer::for_each_batch(dataset const& data, int batch_size, mode m, detail::learned_targets const& targets, F f) {
  detail::option_check{m == mode::inference ? "predict" : "evaluate"}.need(
      batch_size >= 1, "batch_size must be 1 or more", batch_size, "try 64");
  if (batch_size > data.size) batch_size = static_cast<int>(data.size);
  batch_loader loader(detail::in_order_of_inputs(graph_, data),
                      {.batch_size = batch_size, .shuffle = false, .targets = targets.each});
  loader.start(0);
  std::uint64_t staged = 0;
  while (batch const* b = loader.next()) {
    detail::require_tokens(graph_, data, *b, b->size, m == mode::inference ? "predict" : "evaluate");
    // every process predicts for itself
    batch_part const share = m == mode::inference ? batch_part(b->size) : engine_->share_of(b->size);
    int const program = engine_->prepare(m, share, targets.kinds);
    engine_->run(program, {.inputs = b->inputs,
                           .targets = b->targets,
                           .size = share.size,
                           .step = step_,
                           .first = share.first,
                           .staged = staged});
    staged = share.size == b->size ? stage_next(loader, program, b->size) : 0;
    if (!f(program, *b)) return;
  }
}

TYPENET_INLINE bool trainer::has_acc(per_output<target_kind> const& targets, int k) const {
  return targets[k] != target_kind::values || engine_->options().loss[k] == loss::binary_crossentropy;
}

}  // namespace dsl::TYPENET_MODE
