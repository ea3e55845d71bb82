// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/math.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/detail/option_check.hpp>
#include <dsl/training/checks.hpp>
#include <dsl/training/compile.hpp>
#include <dsl/training/loss_check.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace dsl::detail::TYPENET_MODE {

/// Returns the number of the output that an option names. Throws option_error if there is none, or if an earlier
/// element of the option, before number `at`, names the same.
template <class Options>
int output_named(graph_view const& g, Options const& all, std::size_t at, char const* option) {
  std::string const& wanted = all[at].output;
  std::string names = "main";
  int k = -1;
  for (int i = 0; i < output_count(g); ++i) {
    if (name_of_output(g, i) == wanted) k = i;
    if (i > 0) names += ", " + name_of_output(g, i);
  }
  if (k < 0)
    throw_error<option_error>(
        {option, ": the network's outputs are ", names, "; found ", wanted, "; give one of these names"});
  for (std::size_t earlier = 0; earlier < at; ++earlier)
    if (all[earlier].output == wanted)
      throw_error<option_error>({option, ": each output must be given once; found ", wanted, " twice"});
  return k;
}

TYPENET_INLINE void require_complete(any_loss const& l) {
  if (l.kind() == loss::custom && !l.own())
    throw_error<option_error>(
        {"loss: loss::custom stands for a loss of your own; found none; write .loss = my_loss{}"});
}

TYPENET_INLINE engine_options checked_options(graph_view const& g, update_rule const& update,
                                              compile_options const& o) {
  int const outputs = output_count(g);
  std::vector<any_loss> each(static_cast<std::size_t>(outputs), o.loss);
  for (std::size_t i = 0; i < o.losses.size(); ++i)
    each[static_cast<std::size_t>(output_named(g, o.losses, i, "losses"))] = o.losses[i].loss;
  bool same = true, crossentropy = false;
  for (any_loss const& l : each) {
    require_complete(l);
    same = same && l.kind() == each[0].kind() && l.own() == each[0].own();
    crossentropy = crossentropy || l.kind() == loss::categorical_crossentropy;
  }
  per_output<loss> kind = each[0].kind();
  std::vector<std::shared_ptr<custom_loss const>> own;
  if (!same && outputs > most_own_outputs)
    throw_error<option_error>({"losses: at most ", most_own_outputs, " outputs may have losses of their own; found ",
                               outputs, " outputs; leave some out"});
  if (!same) kind = {};
  for (any_loss const& l : each)
    if (!same) kind.push(l.kind()), own.push_back(l.own());
  require_probabilities(g, kind);
  option_check{"batch_norm_momentum"}.need(
      (o.batch_norm_momentum >= 0 && o.batch_norm_momentum < 1) || o.batch_norm_momentum == -1,
      "it must be at least 0 and less than 1, or -1 to keep each layer's own", o.batch_norm_momentum);
  option_check const smoothing{"label_smoothing"};
  smoothing.need(o.label_smoothing >= 0 && o.label_smoothing < 1, "it must be at least 0 and less than 1",
                 o.label_smoothing);
  if (o.label_smoothing > 0 && !crossentropy)
    throw_error<option_error>({"label_smoothing: it needs the loss categorical_crossentropy; found ", o.label_smoothing,
                               " with ", name_of_loss(each[0].kind()), "; leave it out, or change the loss"});
  shape const& out = g.shape_of(g.result());
  auto const classes = out.is_flat() ? out.size() : out.channels;
  if (!o.class_weights.empty()) {
    option_check const weights{"class_weights"};
    auto const found = static_cast<long long>(o.class_weights.size());
    weights.need(kind == per_output<loss>(loss::categorical_crossentropy),
                 "there must be none unless the loss is categorical_crossentropy", found, "leave them out");
    if (found != classes)
      throw_error<option_error>(
          {"class_weights: there must be one for each of the network's ", classes, " classes; found ", found});
    bool weighs = false;
    for (std::size_t c = 0; c < o.class_weights.size(); ++c) {
      float const w = o.class_weights[c];
      if (!isfinite(w) || w < 0)
        throw_error<option_error>(
            {"class_weights: each must be finite and at least 0; found ", static_cast<double>(w), " for class ", c});
      weighs = weighs || w > 0;
    }
    weights.need(weighs, "at least one must be above 0", "only zeros");
  }
  std::vector<double> loss_weights;
  for (std::size_t i = 0; i < o.loss_weights.size(); ++i) {
    loss_weights.resize(static_cast<std::size_t>(outputs), 1);
    double const weight = o.loss_weights[i].weight;
    if (weight < 0 || !(weight < 1e30))  // or not a number
      throw_error<option_error>({"loss_weights: each must be at least 0 and less than 1e30; found ", weight,
                                 " for output ", o.loss_weights[i].output});
    loss_weights[static_cast<std::size_t>(output_named(g, o.loss_weights, i, "loss_weights"))] = weight;
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
          .custom_loss = same ? each[0].own() : nullptr,
          .custom_losses = std::move(own)};
}

}  // namespace dsl::detail::TYPENET_MODE
