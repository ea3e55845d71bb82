// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/data/augment.hpp>
#include <dsl/data/dataset.hpp>
#include <dsl/data/sample_source.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/executors/custom_loss.hpp>
#include <dsl/executors/engine.hpp>
#include <dsl/graph/facts.hpp>
#include <dsl/training/fingerprint.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <string_view>
#include <vector>

namespace dsl::detail::TYPENET_MODE {

TYPENET_INLINE fingerprint::fingerprint(int version) {
  if (version > 0) add(version);  // version 0 did not hash its number
}

TYPENET_INLINE void fingerprint::add(void const* data, std::size_t bytes) {
  auto const* from = static_cast<unsigned char const*>(data);
  std::uint64_t word = 0;
  for (; bytes >= sizeof word; bytes -= sizeof word, from += sizeof word) {
    std::memcpy(&word, from, sizeof word);
    mix(word);
  }
  word = 0;
  std::memcpy(&word, from, bytes);
  mix(word ^ bytes << 56);
}

TYPENET_INLINE void fingerprint::mix(std::uint64_t word) {
  value_ = (value_ ^ word) * 0x100000001b3u;
  value_ ^= value_ >> 29;  // otherwise a word's highest bits would stay among the highest
}

TYPENET_INLINE void add_operation(fingerprint& f, node const& x) {
  auto const& [kind, function, device, first_input, inputs, output, first_parameter, parameters, scope, window, rate,
               epsilon, momentum, custom, groups, frozen, counts_padding, first_channel, further_output, power] =
      x;  // frozen layers and further outputs have the same weights
  f.add(parameters);
  f.add(groups);
  if (!counts_padding) f.add(1);  // only hashed if false, so that older files stay valid
  if (first_channel != 0) f.add(first_channel);
  if (power != 0) f.add(power);
  if (!custom) return;
  std::string_view const own = word_of(x);
  f.add(own.data(), own.size());
  auto const& [name, operands, or_more, owned, roles, optional, takes_flat, makes, options, gradients, reads,
               parameters_read, kept, forward_in_place, gradient_in_place, gradient_over_input, slices, renames,
               mixes_samples, gives_probabilities] = custom->facts;
  for (int v :
       {operands, static_cast<int>(or_more), owned, static_cast<int>(takes_flat), static_cast<int>(makes),
        static_cast<int>(options), static_cast<int>(gradients), static_cast<int>(reads[0]), static_cast<int>(reads[1]),
        static_cast<int>(parameters_read), static_cast<int>(kept), static_cast<int>(forward_in_place),
        static_cast<int>(gradient_in_place), static_cast<int>(gradient_over_input), static_cast<int>(slices),
        static_cast<int>(renames), static_cast<int>(mixes_samples), static_cast<int>(gives_probabilities)})
    f.add(v);
  for (role r : roles) f.add(static_cast<int>(r));
  if (optional > 0) f.add(static_cast<int>(optional));  // only hashed if not 0, so that older files stay valid
}

/// Hashes the column stride of a window if it differs from the row stride, and dilations other than 1. Other values are
/// not hashed, so that the fingerprints in older files stay valid.
TYPENET_INLINE void add_unusual_steps(fingerprint& f, window const& w) {
  auto const& [height, width, stride, top, left, column_stride, row_dilation, column_dilation] = w;
  if (w.strides_by(stride) && !w.is_dilated()) return;
  for (int v : {w.columns().stride, row_dilation, column_dilation}) f.add(v);
}

TYPENET_INLINE std::uint64_t fingerprint_of(graph_view const& g, int version) {
  fingerprint f(version);
  for (int n = 0; n < g.size.nodes; ++n) {
    node const& x = g.nodes[n];
    shape const& s = g.output_shape(x);
    for (int v :
         {static_cast<int>(x.kind), static_cast<int>(x.function), static_cast<int>(x.device), s.channels, s.height,
          s.width, x.inputs, x.window.height, x.window.width, x.window.stride, x.window.pad_top, x.window.pad_left})
      f.add(v);
    add_unusual_steps(f, x.window);
    for (double v : {x.rate, x.epsilon, x.momentum}) f.add(v);
    for (int i = 0; i < x.inputs; ++i) f.add(g.input(x, i));
    if (version > 0) add_operation(f, x);
    if (is_further_input(g, n))
      f.add(g.scopes[x.scope].name.data, static_cast<std::size_t>(g.scopes[x.scope].name.size));
  }
  for (int k = 0; k < g.size.parameters; ++k) {
    auto const& [role, node, dims, rank, fan_in, fan_out, frozen, initial, factors, constant] = g.parameters[k];
    for (int d : dims) f.add(d);
    if (constant) f.add(initial.number);
    if (version > 0)
      for (int v : {static_cast<int>(role), node, rank, fan_in, fan_out}) f.add(v);
  }
  return f.value();
}

TYPENET_INLINE std::uint64_t fingerprint_of(update_rule const& u, int version) {
  fingerprint f(version);
  for (double v : {u.momentum, u.weight_decay, u.first_decay, u.second_decay, u.epsilon, u.clip.norm, u.clip.value,
                   u.clip.norm_epsilon})
    f.add(v);
  for (int v : {static_cast<int>(u.method), static_cast<int>(u.where), static_cast<int>(u.nesterov),
                static_cast<int>(u.rate_in_velocity), static_cast<int>(u.decoupled), static_cast<int>(u.centered)})
    f.add(v);
  return f.value();
}

TYPENET_INLINE std::uint64_t fingerprint_of_frozen(graph_view const& g) {
  fingerprint f;
  bool any = false;
  for (int n = 0; n < g.size.nodes; ++n)
    if (g.nodes[n].frozen && g.nodes[n].parameters > 0) f.add(n), any = true;
  return any ? f.value() : 0;
}

TYPENET_INLINE std::uint64_t fingerprint_of_factors(graph_view const& g) {
  fingerprint f;
  bool any = false;
  for (int k = 0; k < g.size.parameters; ++k)
    if (update_factors const& own = g.parameters[k].factors; g.parameters[k].trainable() && own != update_factors{})
      f.add(k), f.add(own.learning_rate), f.add(own.weight_decay), any = true;
  return any ? f.value() : 0;
}

TYPENET_INLINE std::uint64_t fingerprint_of_outputs(graph_view const& g, engine_options const& o) {
  fingerprint f;
  bool any = false;
  for (int n = 0; n < g.size.nodes; ++n)
    if (is_further_output(g, n)) {
      name const& own = g.scopes[g.nodes[n].further_output].name;
      f.add(own.data, static_cast<std::size_t>(own.size));
      f.add(number_of(g, n));
      any = true;
    }
  for (int k = 0; k < static_cast<int>(o.loss_weights.size()); ++k)
    if (double const w = o.loss_weights[static_cast<std::size_t>(k)]; w != 1) f.add(k), f.add(w), any = true;
  for (int k = 0; k < o.loss.count; ++k) f.add(static_cast<int>(o.loss[k])), any = true;
  return any ? f.value() : 0;
}

/// Adds the name of a loss, and its values and derivatives for samples of `outputs` numbers.
TYPENET_INLINE void add_loss(fingerprint& f, custom_loss const& own, std::size_t outputs) {
  f.add(own.name().data, static_cast<std::size_t>(own.name().size));
  std::vector<double> y(outputs), t(outputs), slopes(outputs);
  auto const add = [&](double x) { f.add(x == x ? static_cast<float>(x) : 0.0F); };  // a NaN has many bit patterns
  std::uint32_t drawn = 1;
  auto const next = [&drawn] {  // 0 to 1, in steps that are exact in any precision
    drawn = drawn * 1664525u + 1013904223u;
    return static_cast<double>(drawn >> 16) / 65536;
  };
  for (int sample = 0; sample < 32; ++sample) {
    bool const shares = sample % 2 == 0;  // a loss may take outputs and targets of 0 to 1
    for (std::size_t i = 0; i < outputs; ++i) {
      y[i] = shares ? next() : 16 * next() - 8;
      t[i] = shares ? next() : 16 * next() - 8;
      slopes[i] = 0;
    }
    add(own.value(y, t));
    own.derivative(y, t, slopes);
    for (double const slope : slopes) add(slope);
  }
}

TYPENET_INLINE std::uint64_t fingerprint_of_loss(graph_view const& g, engine_options const& o) {
  fingerprint f;
  auto const numbers = [&](int k) {
    return static_cast<std::size_t>(g.output_shape(g.nodes[output_node(g, k)]).size());
  };
  if (o.custom_loss) add_loss(f, *o.custom_loss, numbers(0));
  bool any = o.custom_loss != nullptr;
  for (std::size_t k = 0; k < o.custom_losses.size(); ++k)
    if (o.custom_losses[k])
      f.add(static_cast<int>(k)), add_loss(f, *o.custom_losses[k], numbers(static_cast<int>(k))), any = true;
  return any ? f.value() : 0;
}

TYPENET_INLINE std::uint64_t fingerprint_of(engine_options const& o, graph_view const& g, int version) {
  fingerprint f(version);
  if (std::uint64_t const frozen = fingerprint_of_frozen(g)) f.add(frozen);
  f.add(fingerprint_of(o.update, version));
  for (double v : {o.batch_norm_momentum, o.label_smoothing}) f.add(v);
  for (float w : o.class_weights) f.add(static_cast<double>(w));  // nothing where there are none
  if (std::uint64_t const factors = fingerprint_of_factors(g)) f.add(factors);
  if (std::uint64_t const outputs = fingerprint_of_outputs(g, o)) f.add(outputs);
  if (std::uint64_t const own = fingerprint_of_loss(g, o)) f.add(own);
  for (int v : {static_cast<int>(o.loss.all), static_cast<int>(o.unbiased_running_variance), o.micro_batches}) f.add(v);
  return f.value();
}

/// Adds all labels or target values of a data set.
TYPENET_INLINE void add_target(fingerprint& f, dataset const& data) {
  if (data.storage && data.storage->stream) return;  // its identity stands for its targets
  if (data.has_classes())
    for (std::int64_t i = 0; i < data.size * data.labels_each(); ++i) f.add(data.labels(0)[i]);
  else if (data.values > 0)
    f.add(data.wanted(0), static_cast<std::size_t>(data.size * data.values) * sizeof(float));
}

/// Adds the targets of further outputs; nothing if there are none.
TYPENET_INLINE void add_targets(fingerprint& f, dataset const& data) {
  std::map<std::string_view, int> by_name;  // the order in which they were added does not matter to fit
  for (int k = 0; k < data.further_targets(); ++k) by_name[(*data.targets)[static_cast<std::size_t>(k)].output] = k;
  for (auto const& [name, k] : by_name) f.add(name.data(), name.size()), add_target(f, data.targets_of(k));
}

TYPENET_INLINE std::uint64_t fingerprint_of(dataset const& data) {
  fingerprint f;
  add_target(f, data);
  auto const bytes = static_cast<std::int64_t>(data.sample.size()) * (data.has_bytes() ? 1 : 4);
  pictures_looked_at const some{data.size, bytes};
  bool const has_source = data.storage && (data.storage->source || data.storage->stream);
  std::string const source = identity_of(data);
  if (has_source) f.add(source.data(), source.size()), f.add(data.begin);
  for (std::int64_t i = 0; !has_source && i < some.count(); ++i)
    f.add(data.pixels(some[i]), static_cast<std::size_t>(bytes));
  if (data.mean) f.add(data.mean->data(), data.mean->size() * sizeof(float));
  if (data.deviation) f.add(data.deviation->data(), data.deviation->size() * sizeof(float));
  for (std::int64_t i = 0; data.weights && i < data.size; ++i) f.add(static_cast<double>(data.weight(i)));
  add_targets(f, data);
  std::map<std::string_view, int> by_name;  // the order of the calls of with_input does not matter to fit
  for (int k = 0; k < data.further_inputs(); ++k) by_name[(*data.further)[static_cast<std::size_t>(k)].name] = k;
  for (auto const& [name, k] : by_name) {
    further_input const& x = (*data.further)[static_cast<std::size_t>(k)];
    f.add(name.data(), name.size());
    f.add(data.further_numbers(k, 0), static_cast<std::size_t>(data.size * x.sample.size()) * sizeof(float));
    if (x.mean) f.add(x.mean->data(), x.mean->size() * sizeof(float));
    if (x.deviation) f.add(x.deviation->data(), x.deviation->size() * sizeof(float));
  }
  return f.value();
}

TYPENET_INLINE std::uint64_t fingerprint_of(engine& e) {
  fingerprint f;
  std::vector<float> values;
  for (int k = 0; k < e.graph().size.parameters; ++k) {
    parameter const& p = e.graph().parameters[k];
    values.resize(static_cast<std::size_t>(p.count()));
    for (int s = -1; s < (p.trainable() ? e.options().update.slots() : 0); ++s) {
      s < 0 ? e.read_parameter(k, values.data()) : e.read_slot(s, k, values.data());
      f.add(values.data(), values.size() * sizeof(float));
    }
  }
  return f.value();
}

TYPENET_INLINE std::uint64_t fingerprint_of(augmentation const& policy, shape const& picture, int epochs) {
  fingerprint f;
  f.add(static_cast<bool>(policy));
  int const last = epochs < 10'000 ? epochs : 10'000;  // 2,000,000,000 would take minutes
  for (int epoch = 0; epoch < 4 || epoch < last; ++epoch)
    for (std::int64_t sample = 0; sample < (epoch < 4 ? 64 : 1); ++sample) {
      transform const t = policy.draw(1, epoch, sample, picture);
      f.add(t.dy), f.add(t.dx);
      for (int v : {static_cast<int>(t.flip), static_cast<int>(t.interpolation), static_cast<int>(t.outside),
                    t.hole.top, t.hole.left, t.hole.height, t.hole.width})
        f.add(v);
    }
  return f.value();
}

}  // namespace dsl::detail::TYPENET_MODE
