// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/data/dataset.hpp>
#include <dsl/data/sample_stream.hpp>
#include <dsl/detail/math.hpp>
#include <dsl/detail/message.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/detail/option_check.hpp>
#include <dsl/error.hpp>
#include <dsl/executors/engine.hpp>
#include <dsl/training/checks.hpp>
#include <dsl/training/fit_options.hpp>
#include <dsl/training/token_checks.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace dsl::detail::TYPENET_MODE {

TYPENET_INLINE void require_pictures(graph_view const& g, dataset const& data, char const* what) {
  shape const& in = g.shape_of(g.nodes[0].output);
  shape const& found = data.sample;
  if (!(found == in)) {
    std::string const input = found.is_flat()
                                  ? message({"features<", found.channels, ">"})
                                  : message({"image<", found.channels, ", ", found.height, ", ", found.width, ">"});
    throw_error<option_error>({what, ": the network takes samples of ", in.channels, "x", in.height, "x", in.width,
                               ", but the data set has ", found.channels, "x", found.height, "x", found.width,
                               "; change the network's input, for example to ", input, ", or the data"});
  }
  if (data.size < 1) throw_error<option_error>({what, ": the data set has no samples; load some first"});
  require_further_inputs(g, data, what);
  require_tokens(g, data, what);
}

TYPENET_INLINE std::string name_of_input(graph_view const& g, int n) {
  name const& own = g.scopes[g.nodes[n].scope].name;
  return {own.data, static_cast<std::size_t>(own.size)};
}

TYPENET_INLINE std::string name_of_output(graph_view const& g, int k) {
  if (k == 0) return "main";
  name const& own = g.scopes[g.nodes[output_node(g, k)].further_output].name;
  return {own.data, static_cast<std::size_t>(own.size)};
}

TYPENET_INLINE std::vector<std::string> names_of_outputs(graph_view const& g) {
  std::vector<std::string> all;
  for (int k = 0; k < output_count(g) && output_count(g) > 1; ++k) all.push_back(name_of_output(g, k));
  return all;
}

TYPENET_INLINE void require_further_inputs(graph_view const& g, dataset const& data, char const* what) {
  std::string names;
  for (int k = 0; k < data.further_inputs(); ++k)
    names += (k > 0 ? ", \"" : "\"") + (*data.further)[static_cast<std::size_t>(k)].name + "\"";
  for (int n = 1; n < g.size.nodes; ++n) {
    if (!is_further_input(g, n)) continue;
    shape const& wanted = g.output_shape(g.nodes[n]);
    shape const* found = nullptr;
    for (int k = 0; k < data.further_inputs(); ++k)
      if (further_input const& f = (*data.further)[static_cast<std::size_t>(k)]; f.name == name_of_input(g, n))
        found = &f.sample;
    if (!found)
      throw_error<option_error>({what, ": the network has an input \"", name_of_input(g, n),
                                 "\", but the data set has only the first input", names.empty() ? "" : " and ", names,
                                 "; add it with with_input()"});
    if (!(*found == wanted))
      throw_error<option_error>({what, ": the network's input \"", name_of_input(g, n), "\" is ", wanted.channels, "x",
                                 wanted.height, "x", wanted.width, ", but that of the data set is ", found->channels,
                                 "x", found->height, "x", found->width, "; change named_input<...> or the data"});
  }
  if (int const wanted = further_inputs(g, g.size.nodes); data.further_inputs() != wanted)
    throw_error<option_error>({what, ": besides the first, the network has ", wanted,
                               wanted == 1 ? " input" : " inputs", ", but the data set has ", data.further_inputs(),
                               ": ", names, "; add named_input<...> to the network, or leave out the other inputs"});
}

TYPENET_INLINE dataset in_order_of_inputs(graph_view const& g, dataset data) {
  if (!data.further) return data;
  std::vector<further_input> all;
  for (int n = 1; n < g.size.nodes; ++n)
    for (further_input const& f : *data.further)
      if (is_further_input(g, n) && f.name == name_of_input(g, n)) all.push_back(f);
  data.further = std::make_shared<std::vector<further_input> const>(std::move(all));
  return data;
}

TYPENET_INLINE target_kind targets_for(loss l, dataset const& data) {
  if (data.pixel_classes) return target_kind::pixel_classes;
  return data.has_classes() && takes(l, target_kind::classes) ? target_kind::classes : target_kind::values;
}

/// Returns how messages call output k: "the network" for its result, as if it were the only output.
TYPENET_INLINE std::string owner_of_output(graph_view const& g, int k) {
  return k == 0 ? "the network" : "output " + name_of_output(g, k);
}

TYPENET_INLINE void require_pixel_classes(graph_view const& g, int k, loss l, dataset const& data, shape const& in,
                                          char const* what) {
  if (l != loss::categorical_crossentropy)
    throw_error<option_error>(
        {what, ": ", k == 0 ? "the data set" : "the target of " + owner_of_output(g, k),
         " has one class per pixel, which needs the loss categorical_crossentropy; give ",
         k == 0 ? "compile() that loss" : owner_of_output(g, k) + " that loss in compile(), with .losses"});
  shape const& out = g.output_shape(g.nodes[output_node(g, k)]);
  if (!(out == shape{data.classes, in.height, in.width}))
    throw_error<option_error>(
        {what, ": ", k == 0 ? "the network's output" : owner_of_output(g, k), " must be ", data.classes, "x", in.height,
         "x", in.width, ", one probability per class and pixel of the data set; found ", out.channels, "x", out.height,
         "x", out.width, "; end it with conv2d<", data.classes, ", 1> and softmax2d"});
  for (std::int64_t i = 0; i < data.size * data.labels_each(); ++i)
    if (data.labels(0)[i] >= 0) return;
  throw_error<data_error>({what, ": at least one pixel must have a class; found ", counted(data.size, "image"),
                           " without a labelled pixel; choose another part of the data"});
}

TYPENET_INLINE void require_target(graph_view const& g, int k, loss l, dataset const& data, shape const& sample,
                                   char const* what) {
  if (data.pixel_classes) return require_pixel_classes(g, k, l, data, sample, what);
  shape const& out = g.output_shape(g.nodes[output_node(g, k)]);
  auto const outputs = out.size();
  std::string const own = owner_of_output(g, k), whose = k == 0 ? "the data set" : "its target";
  char const* const other =
      k == 0 ? "" : ", or the output needs another target; see with_class_target() and similar functions";
  std::string const has =
      message({what, ": ", k == 0 ? "the network's output" : own, " has ", counted(outputs, "number"), ", but "});
  bool const one_of_two = outputs == 1 && data.classes == 2 && targets_for(l, data) == target_kind::values;
  if (data.has_classes() && targets_for(l, data) == target_kind::classes && !out.is_flat())
    throw_error<option_error>({what, ": ", k == 0 ? "the network's output" : own,
                               " must be flat if each sample has a class; found ", out.channels, "x", out.height, "x",
                               out.width, "; end it with flatten or global_avg_pool2d, or give each pixel a class"});
  if (data.has_classes() && data.classes != outputs && !one_of_two)
    throw_error<option_error>({has, whose, " has ", counted(data.classes, "class", "classes"),
                               "; the last dense layer must have one unit per class", other});
  if (data.has_classes()) return;
  if (l == loss::categorical_crossentropy)
    throw_error<option_error>({what, ": categorical_crossentropy needs one class per sample, but ",
                               k == 0 ? "the data set" : "the target of " + own, " has ", counted(data.values, "value"),
                               "; give ",
                               k == 0 ? "compile() another loss, such as mean_squared_error"
                                      : "that output another loss in compile(), with .losses"});
  if (data.values != outputs)
    throw_error<option_error>({has, whose, " has ", counted(data.values, "value"),
                               " per sample; the last dense layer must have one unit per value", other});
}

/// Returns the target of each output, in the order of the outputs.
TYPENET_INLINE std::vector<dataset> target_of_each_output(graph_view const& g, dataset const& data, char const* what) {
  std::vector<dataset> all{data};
  std::string names;
  for (int k = 1; k < output_count(g); ++k) {
    std::string const name = name_of_output(g, k);
    names += (names.empty() ? "" : ", ") + name;
    int found = -1;
    for (int t = 0; t < data.further_targets(); ++t)
      if ((*data.targets)[static_cast<std::size_t>(t)].output == name) found = t;
    if (data.targets && found < 0)
      throw_error<option_error>({what, ": if outputs have targets of their own, each must have one; output ", name,
                                 " has none; add one with with_class_target() or a similar function, or let the "
                                 "output learn the target of the network's result: with_main_target()"});
    all.push_back(data.targets ? data.targets_of(found) : data);
  }
  for (int t = 0; t < data.further_targets(); ++t) {
    std::string const& own = (*data.targets)[static_cast<std::size_t>(t)].output;
    bool known = false;
    for (int k = 1; k < output_count(g); ++k) known = known || name_of_output(g, k) == own;
    if (!known)
      throw_error<option_error>({what, ": each target must belong to an output of the network; found a target of ", own,
                                 ", but the network has ",
                                 names.empty() ? "no further output" : "the further outputs " + names,
                                 "; add named_output<...> to the network, or leave the target out"});
  }
  return all;
}

TYPENET_INLINE learned_targets require_samples(graph_view const& g, per_output<loss> const& l, dataset const& data,
                                               char const* what) {
  require_pictures(g, data, what);
  std::vector<dataset> const all = target_of_each_output(g, data, what);
  target_kind const first = targets_for(l[0], data);
  auto const result = g.shape_of(g.result()).size();
  bool shared = !data.targets;
  for (int k = 0; k < static_cast<int>(all.size()); ++k) {
    dataset const& own = all[static_cast<std::size_t>(k)];
    require_target(g, k, l[k], own, data.sample, what);
    shared = shared && targets_for(l[k], own) == first && g.output_shape(g.nodes[output_node(g, k)]).size() == result;
  }
  auto const values_of = [&](target_kind kind, int k) {
    return kind == target_kind::values ? static_cast<int>(g.output_shape(g.nodes[output_node(g, k)]).size()) : 0;
  };
  if (shared) return {first, {{data, values_of(first, 0)}}};
  if (static_cast<int>(all.size()) > most_own_outputs)
    throw_error<option_error>({what, ": at most ", most_own_outputs, " outputs may have targets of their own; found ",
                               all.size(), " outputs; leave some out"});
  learned_targets made;
  for (int k = 0; k < static_cast<int>(all.size()); ++k) {
    dataset const& own = all[static_cast<std::size_t>(k)];
    target_kind const kind = targets_for(l[k], own);
    made.kinds.push(kind);
    made.each.push_back({own, values_of(kind, k)});
  }
  return made;
}

TYPENET_INLINE void require_shares(loss l, float const* values, long long samples, long long each, char const* what) {
  for (long long i = 0; l == loss::binary_crossentropy && i < samples * each; ++i)
    if (bool const is_share = values[i] >= 0 && values[i] <= 1; !is_share)  // nor is a NaN
      throw_error<data_error>({what, ": binary_crossentropy takes target values from 0 to 1; found ",
                               static_cast<double>(values[i]), " for output ", i % each, " of sample ", i / each,
                               "; scale the values, or give compile() the loss mean_squared_error"});
}

TYPENET_INLINE void require_shares(per_output<loss> const& l, float const* values, long long samples, long long each,
                                   char const* what) {
  for (int k = 0; k < (l.is_shared() ? 1 : l.count); ++k) require_shares(l[k], values, samples, each, what);
}

TYPENET_INLINE void require_weights_of_classes_fit(std::vector<float> const& class_weights,
                                                   per_output<target_kind> const& targets) {
  if (!targets.is_shared() && !class_weights.empty())
    throw_error<option_error>({"class_weights: all outputs must share their targets; found ", targets.count,
                               " outputs with targets of their own; leave class_weights out, or use with_weights()"});
}

TYPENET_INLINE void require_shares(per_output<loss> const& l, learned_targets const& targets, char const* what) {
  int const losses = l.is_shared() ? 1 : l.count, own_targets = static_cast<int>(targets.each.size());
  for (int k = 0; k < (own_targets > 1 ? own_targets : losses); ++k) {
    dataset const& own = targets.of(static_cast<std::size_t>(k));
    if (!own.has_classes() && own.size > 0 && !is_stream(own))
      require_shares(l[k], own.wanted(0), own.size, own.values, what);
  }
}

TYPENET_INLINE std::string advice_on_bad_loss(graph_view const& g, batch_view const& batch) {
  float const *const samples = batch.input(0), *const values = batch.target(0).values;
  long long const each = g.output_shape(g.nodes[0]).size(), targets = g.shape_of(g.result()).size();
  for (long long i = 0; samples && i < batch.size * each; ++i)
    if (auto const x = static_cast<double>(samples[i]); !isfinite(x))
      return message({"; number ", i % each, " of sample ", i / each, " of the batch is ", x,
                      " before the first layer: correct the data, its mean or its deviation"});
  for (long long i = 0; values && i < batch.size * targets; ++i)
    if (auto const x = static_cast<double>(values[i]); !isfinite(x))
      return message(
          {"; target value ", i % targets, " of sample ", i / targets, " of the batch is ", x, ": correct the data"});
  return "; try a smaller learning rate";
}

TYPENET_INLINE void require_moments_fit(graph_view const& g, normalization const& n) {
  for (input_moments const& m : n.inputs) {
    long long count = m.input.empty() ? g.output_shape(g.nodes[0]).size() : -1;
    for (int k = 1; k < g.size.nodes; ++k)
      if (is_further_input(g, k) && name_of_input(g, k) == m.input) count = g.output_shape(g.nodes[k]).size();
    std::string const input = m.input.empty() ? "the first input" : "input \"" + m.input + "\"";
    if (count < 0)
      throw_error<data_error>(
          {"normalization: each input that it names must be one of the network's; the network lacks ", input,
           "; use the normalization of the same network"});
    for (int k = 0; k < g.size.nodes; ++k)
      if (bool const is_it = m.input.empty() ? k == 0 : is_further_input(g, k) && name_of_input(g, k) == m.input;
          is_it && (m.mean || m.deviation) && vocabulary_of(g, k) > 0)
        throw_error<data_error>({"normalization: token numbers must not be normalised; found a mean or a deviation of ",
                                 input, "; leave it out"});
    for (auto const& [numbers, kind] : {std::pair{m.mean, "mean"}, std::pair{m.deviation, "deviation"}}) {
      if (!numbers) continue;
      if (static_cast<long long>(numbers->size()) != count)
        throw_error<data_error>({"normalization: the ", kind, " of ", input, " must have ", count,
                                 " numbers, as many as the network's input; found ", numbers->size(),
                                 "; use that of data of the same shape"});
      for (std::size_t i = 0; i < numbers->size(); ++i)
        if (float const x = (*numbers)[i]; !isfinite(x) || (numbers == m.deviation && x == 0))
          throw_error<data_error>({"normalization: each number of the ", kind, " of ", input, " must be finite",
                                   numbers == m.deviation ? " and not 0" : "", "; found ", static_cast<double>(x),
                                   " as number ", i, "; correct it"});
    }
  }
}

TYPENET_INLINE bool same_mean(std::shared_ptr<std::vector<float> const> const& a,
                              std::shared_ptr<std::vector<float> const> const& b) {
  return a == b || (a && b && *a == *b);
}

TYPENET_INLINE void require_fit(graph_view const& g, per_output<loss> const& l, dataset const& data,
                                fit_options const& o) {
  option_check const fit{"fit"};
  fit.need(o.epochs >= 1, "epochs must be 1 or more", o.epochs);
  if (o.initial_epoch < 0 || o.initial_epoch >= o.epochs)
    throw_error<option_error>({"fit: initial_epoch must be ",
                               o.epochs > 1 ? message({"0 to ", o.epochs - 1}) : std::string("0"),
                               ", since .epochs is ", o.epochs, "; found ", o.initial_epoch});
  fit.need(o.batch_size >= 1, "batch_size must be 1 or more", o.batch_size, "try 64");
  if (o.batch_size > data.size)
    throw_error<option_error>({"fit: batch_size is ", o.batch_size, ", but there ", data.size == 1 ? "is" : "are",
                               " only ", counted(data.size, "sample"), "; use a smaller batch"});
  if (parameter_count(g) > 0 && trainable_parameter_count(g) == 0)
    throw_error<option_error>({"fit: the network must have a parameter to train; found ", parameter_count(g),
                               ", all of them frozen; take a layer out of frozen<...>"});
  require_tokens_stay(g, o);
  if (is_stream(data) && (o.shuffle || o.cache))
    throw_error<option_error>({"fit: a stream gives its samples only once, in its own order; found .",
                               o.shuffle
                                   ? "shuffle = true; write .shuffle = false, and use shuffle_stream() if samples "
                                     "that follow each other are alike"
                                   : "cache = true; leave it out"});
  if (is_stream(data) && require_samples(g, l, data, "fit").each.size() > 1)
    throw_error<option_error>(
        {"fit: all outputs must learn the same target if the samples come from a stream; found ", output_count(g),
         " outputs that need targets of different kinds or sizes; change the losses or the outputs, or use data in "
         "memory or a sample_source"});
  if (o.validation) require_no_stream(*o.validation, "validation");
  if (!o.validation && !o.metrics.empty())
    throw_error<option_error>({"fit: .metrics are computed on the validation data; found ", o.metrics.size(),
                               " of them and no .validation; add .validation = &test, or leave .metrics out"});
  if (!o.validation) return;
  require_shares(l, require_samples(g, l, *o.validation, "validation"), "validation");
}

TYPENET_INLINE void require_same_moments(dataset const& data, dataset const& validation) {
  auto const found = [](bool in_training, bool in_validation) {
    return !in_training     ? "one for the validation data only"
           : !in_validation ? "one for the training data only"
                            : "two different ones";
  };
  if (!same_mean(data.deviation, validation.deviation))
    throw_error<option_error>({"fit: training and validation data must be divided by the same deviation; found ",
                               found(!!data.deviation, !!validation.deviation), "; use normalize(train, validation)"});
  for (int k = 0; k < data.further_inputs(); ++k)
    for (further_input const& other : *validation.further)
      if (further_input const& own = (*data.further)[static_cast<std::size_t>(k)];
          own.name == other.name && !(same_mean(own.mean, other.mean) && same_mean(own.deviation, other.deviation)))
        throw_error<option_error>({"fit: input \"", own.name, "\" must have the same ",
                                   same_mean(own.mean, other.mean) ? "deviation" : "mean",
                                   " in the training and the validation data; found ",
                                   same_mean(own.mean, other.mean) ? found(!!own.deviation, !!other.deviation)
                                                                   : found(!!own.mean, !!other.mean),
                                   "; use normalize(train, validation)"});
  if (!same_mean(data.mean, validation.mean))
    throw_error<option_error>({"fit: training and validation data must have the same mean; found ",
                               found(!!data.mean, !!validation.mean), "; set validation.mean = train.mean"});
}

}  // namespace dsl::detail::TYPENET_MODE
