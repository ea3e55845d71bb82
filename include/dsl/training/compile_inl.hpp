// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/math.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/detail/option_check.hpp>
#include <dsl/training/checks.hpp>
#include <dsl/training/compile.hpp>
#include <dsl/training/loss_check.hpp>

#include <string>
#include <utility>
#include <vector>

namespace dsl::detail::TYPENET_MODE {

TYPENET_INLINE engine_options checked_options(graph_view const& g, update_rule const& update,
                                              compile_options const& o) {
  loss const kind = o.loss.kind();
  if (kind == loss::custom && !o.loss.own())
    throw_error<option_error>(
        {"loss: loss::custom stands for a loss of your own; found none; write .loss = my_loss{}"});
  require_probabilities(g, kind);
  option_check{"batch_norm_momentum"}.need(
      (o.batch_norm_momentum >= 0 && o.batch_norm_momentum < 1) || o.batch_norm_momentum == -1,
      "it must be at least 0 and less than 1, or -1 to keep that of each layer", o.batch_norm_momentum);
  option_check{"label_smoothing"}.need(
      o.label_smoothing == 0 ||
          (kind == loss::categorical_crossentropy && o.label_smoothing > 0 && o.label_smoothing < 1),
      "it must be at least 0 and less than 1, and 0 unless the loss is categorical_crossentropy", o.label_smoothing);
  shape const& out = g.shape_of(g.result());
  auto const classes = out.is_flat() ? out.size() : out.channels;
  if (!o.class_weights.empty()) {
    option_check const weights{"class_weights"};
    auto const found = static_cast<long long>(o.class_weights.size());
    weights.need(kind == loss::categorical_crossentropy,
                 "there must be none unless the loss is categorical_crossentropy", found, "leave them out");
    if (found != classes)
      throw_error<option_error>(
          {"class_weights: there must be one for each of the network's ", classes, " classes; found ", found});
    bool weighs = false;
    for (float const w : o.class_weights) {
      weights.need(isfinite(w) && w >= 0, "each must be a number of at least 0", static_cast<double>(w));
      weighs = weighs || w > 0;
    }
    weights.need(weighs, "at least one must be above 0", "only zeros");
  }
  std::vector<double> loss_weights;
  std::string names = "main";
  for (int k = 1; k < output_count(g); ++k) names += ", " + name_of_output(g, k);
  for (output_weight const& w : o.loss_weights) {
    loss_weights.resize(static_cast<std::size_t>(output_count(g)), 1);
    int k = 0;
    while (k < output_count(g) && name_of_output(g, k) != w.output) ++k;
    if (k == output_count(g))
      throw_error<option_error>(
          {"loss_weights: the network's outputs are ", names, "; found ", w.output, "; give one of these names"});
    option_check{"loss_weights"}.need(w.weight >= 0 && w.weight < 1e30, "each must be at least 0 and less than 1e30",
                                      w.weight);
    for (output_weight const& earlier : o.loss_weights) {
      if (&earlier == &w) break;
      if (earlier.output == w.output)
        throw_error<option_error>({"loss_weights: each output must be given once; found ", w.output, " twice"});
    }
    loss_weights[static_cast<std::size_t>(k)] = w.weight;
  }
  double all = loss_weights.empty() ? 1 : 0;
  for (double const w : loss_weights) all += w;
  option_check{"loss_weights"}.need(all > 0, "at least one must be above 0", all);
  return {.seed = o.seed,
          .update = update,
          .loss = kind,
          .batch_norm_momentum = o.batch_norm_momentum,
          .unbiased_running_variance = o.unbiased_running_variance,
          .verify = o.verify,
          .label_smoothing = o.label_smoothing,
          .class_weights = o.class_weights,
          .loss_weights = std::move(loss_weights),
          .custom_loss = o.loss.own()};
}

}  // namespace dsl::detail::TYPENET_MODE
