// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <dsl/plan/plan.hpp>

// Arithmetic on hashes instead of numbers, the same for plans and graphs: two executions end with the same hashes only
// if they computed the same. Tensors are batch x channels x height x width.

namespace dsl::test::symbolic {

using number = std::uint64_t;
using numbers = std::vector<number>;

/// Thrown if a plan is so wrong that it cannot be executed.
struct broken_plan {};

inline void demand(bool holds) {
  if (!holds) throw broken_plan{};
}

constexpr number mix(number a, number b) {
  number h = (a ^ (b * 0x9E3779B97F4A7C15u)) * 0xD6E8FEB86659FD93u;
  h ^= h >> 32;
  h = (h + b) * 0xBF58476D1CE4E5B9u;
  return h ^ (h >> 29);
}
template <class... More>
constexpr number mix(number a, number b, More... more) {
  return mix(mix(a, b), static_cast<number>(more)...);
}
inline number digest(numbers const& v, std::size_t begin, std::size_t end) {
  number h = 0x243F6A8885A308D3u;
  for (std::size_t i = begin; i < end; ++i) h = mix(h, v[i]);
  return h;
}
inline number digest(numbers const& v) { return digest(v, 0, v.size()); }

enum : number { seed_image = 11, seed_label, seed_weight, seed_slot, seed_update, seed_running, seed_gradient };

/// Returns a hash of what determines a node's results, whatever its number; dropout's depend on its layer.
inline number attributes(graph_view const& g, int n) {
  node const& x = g.nodes[n];
  auto const scaled = [](double v) { return static_cast<number>(v * 1e6); };
  number const h = mix(static_cast<number>(x.kind), static_cast<number>(x.function), x.window.height, x.window.width,
                       x.window.stride, x.window.pad_top, x.window.pad_left, x.window.column_stride,
                       x.window.row_dilation, x.window.column_dilation, scaled(x.rate), scaled(x.epsilon),
                       scaled(x.momentum), x.groups, x.first_channel, scaled(x.power));
  return x.kind == op::dropout || x.kind == op::stochastic_depth ? mix(h, static_cast<number>(n)) : h;
}

/// Computes every result of a sample from all of that sample, and some weights.
inline numbers by_sample(number what, std::vector<numbers const*> const& in, number weights, int batch,
                         long long size) {
  auto const samples = static_cast<std::size_t>(batch);
  numbers out(samples * static_cast<std::size_t>(size));
  for (std::size_t n = 0; n < samples; ++n) {
    number h = mix(what, weights);
    for (numbers const* v : in) h = mix(h, digest(*v, v->size() / samples * n, v->size() / samples * (n + 1)));
    for (std::size_t i = 0; i < static_cast<std::size_t>(size); ++i)
      out[n * static_cast<std::size_t>(size) + i] = mix(h, i);
  }
  return out;
}
/// Computes every result from all inputs.
inline numbers by_batch(number what, std::vector<numbers const*> const& in, long long size) {
  for (numbers const* v : in) what = mix(what, digest(*v));
  numbers out(static_cast<std::size_t>(size));
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = mix(what, i);
  return out;
}
/// Computes element from element; dropout counts elements from the batch's first sample on.
inline constexpr std::size_t uncounted = ~std::size_t{0};
inline numbers elementwise(number what, numbers const& a, numbers const* b, std::size_t first = uncounted) {
  demand(!b || b->size() == a.size());
  numbers out(a.size());
  for (std::size_t i = 0; i < a.size(); ++i)
    out[i] = mix(what, a[i], b ? (*b)[i] : 7, first == uncounted ? 5 : first + i);
  return out;
}

inline numbers statistics_of(number what, numbers const& x, int batch, shape const& s) {
  auto const channels = static_cast<std::size_t>(s.channels);
  auto const area = static_cast<std::size_t>(s.area());
  numbers h(channels, what);
  for (std::size_t n = 0; n < static_cast<std::size_t>(batch); ++n)
    for (std::size_t c = 0; c < channels; ++c)
      h[c] = mix(h[c], digest(x, (n * channels + c) * area, (n * channels + c + 1) * area));
  numbers out(2 * channels);
  for (std::size_t c = 0; c < channels; ++c) out[c] = mix(h[c], 1), out[channels + c] = mix(h[c], 2);
  return out;
}
/// Mean and inverse deviation may come from one list (this batch's) or from two (the running ones).
inline numbers normalise(number what, numbers const& x, numbers const& mean, numbers const& inverse,
                         std::size_t inverse_begin, numbers const& gamma, numbers const& beta, shape const& s) {
  auto const channels = static_cast<std::size_t>(s.channels);
  auto const area = static_cast<std::size_t>(s.area());
  demand(gamma.size() >= channels && beta.size() >= channels && mean.size() >= channels &&
         inverse.size() >= inverse_begin + channels);
  numbers out(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    std::size_t const c = i / area % channels;
    out[i] = mix(what, x[i], mean[c], inverse[inverse_begin + c], gamma[c], beta[c]);
  }
  return out;
}
inline numbers running(numbers const& old, numbers const& now, std::size_t begin, numbers const* bias) {
  numbers out(old.size());
  for (std::size_t c = 0; c < out.size(); ++c)
    out[c] = mix(seed_running, old[c], now[begin + c], bias ? (*bias)[c] : 3);
  return out;
}

/// The visible results of a step: parameters with optimizer slots, running statistics, metrics, network output.
struct outcome {
  std::vector<numbers> parameters;
  numbers metrics;
  numbers result;
  friend bool operator==(outcome const&, outcome const&) = default;
};

inline number initial_parameter(int k, std::size_t i) { return mix(seed_weight, static_cast<number>(k), i); }
inline number initial_slot(int slot, int k, std::size_t i) {
  return mix(seed_slot, static_cast<number>(slot), static_cast<number>(k), i);
}
/// A range of samples: what the symbolic executor and the interpreter take for a micro-batch.
struct samples {
  int first = 0;
  int size = 0;

  samples(plan_options const& o, int micro) {
    int const parts = o.batch < o.micro_batches ? 1 : o.micro_batches;
    first = micro * (o.batch / parts);
    size = micro == parts - 1 ? o.batch - first : o.batch / parts;
  }
  std::size_t elements_before(long long each) const { return static_cast<std::size_t>(first * each); }
};
inline numbers picture(long long size, samples const& part) {
  numbers v(static_cast<std::size_t>(part.size * size));
  for (std::size_t i = 0; i < v.size(); ++i) v[i] = mix(seed_image, part.elements_before(size) + i);
  return v;
}
inline numbers labels(samples const& part, long long each) {
  numbers v(static_cast<std::size_t>(part.size * each));
  for (std::size_t i = 0; i < v.size(); ++i) v[i] = mix(seed_label, part.elements_before(each) + i);
  return v;
}

/// Returns the nodes of the outputs in the order of their numbers: the result's, then those of further outputs.
inline std::vector<int> outputs_of(graph_view const& g) {
  std::vector<int> nodes{g.size.nodes - 1};
  for (int n = 0; n + 1 < g.size.nodes; ++n)
    if (g.nodes[n].further_output > 0) nodes.push_back(n);
  return nodes;
}
/// Returns how many targets of a sample belong to output k. If all outputs share them, one stands for all.
inline long long targets_of(graph_view const& g, plan_options const& o, std::size_t k) {
  if (o.targets.is_shared()) return 1;
  shape const& s = g.output_shape(g.nodes[outputs_of(g)[k]]);
  target_kind const kind = o.targets[static_cast<int>(k)];
  return kind == target_kind::values ? s.size() : kind == target_kind::pixel_classes ? s.area() : 1;
}
/// Returns how many targets a sample has.
inline long long all_targets(graph_view const& g, plan_options const& o) {
  long long all = 0;
  for (std::size_t k = 0; k < (o.targets.is_shared() ? 1 : outputs_of(g).size()); ++k) all += targets_of(g, o, k);
  return all;
}
inline number updated(number parameter, number gradient, number const* slots, int count) {
  number h = mix(seed_update, parameter, gradient);
  for (int i = 0; i < count; ++i) h = mix(h, slots[i]);
  return h;
}

/// Returns what stands for the sum of squared gradients; those of others can be added.
inline number squares_of(numbers const& gradients) {
  number all = 0;
  for (number g : gradients) all += mix(0x5C, g);
  return all;
}
inline number clipped(number gradient, number squares) { return mix(0xC11, gradient, squares); }
inline number over_all_devices(number gradient) { return mix(0xA11, gradient); }

}  // namespace dsl::test::symbolic
