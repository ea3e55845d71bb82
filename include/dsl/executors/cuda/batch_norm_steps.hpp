// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/cuda/tower_meetings.hpp>

#include <vector>

namespace dsl::cu::TYPENET_MODE {

/// Records batch_norm in training. The steps of a group share their launches. With synchronized moments, the steps
/// communicate with the other towers twice: to join the moments, and to sum the numbers from which dx is computed.
class batch_norm_steps {
 public:
  /// If `moments` is not null, the steps store this tower's moments there, in the layout of the running ones, and do
  /// not update the running ones.
  batch_norm_steps(recording& r, tower_meetings& towers, float* moments) : r_(r), towers_(towers), moments_(moments) {}

  /// Returns the number of steps that share their launches, counted from step `first`.
  int together(int first) const {
    step const& x = r_.steps()[first];
    int count = 1;
    for (; x.group >= 0 && count < kernels::batch_norm_group && first + count < r_.steps().size(); ++count)
      if (step const& s = r_.steps()[first + count]; s.group != x.group || s.what != x.what) break;
    return count;
  }
  /// Records the steps that share the launches of step `first`.
  void record(int first) {
    step const& x = r_.steps()[first];
    bool const forward = x.what == action::forward;
    group g;
    for (; g.count < together(first); ++g.count) {
      step const& s = r_.steps()[first + g.count];
      g.layers.push_back(forward ? layer_forward(s, g.forward.layer[g.count])
                                 : layer_backward(s, g.back.layer[g.count]));
    }
    g.pixels = r_.at.read(x, content::activation).pixels;
    g.area = g.pixels / r_.batch();
    if (forward)
      synchronizes() ? join_forward(g) : apply(g);
    else
      synchronizes() ? join_backward(g) : back(g);
  }
  /// Records a batch_norm with running moments: in evaluation and inference, and in training if it is frozen.
  void infer(step const& s) {
    kernels::batch_norm_forwards to{};
    std::vector<kernels::batch_norm_layer> const layers{layer_forward(s, to.layer[0])};
    r_.launch(kernels::batch_norm_inference(r_.type, r_.at.read(s, content::activation).pixels, layers), to);
  }
  /// Records the backward step of a frozen batch_norm, which has no gradients of parameters.
  void back_frozen(step const& s) {
    node const& n = r_.parts.graph.nodes[s.node];
    cu::arena const& a = r_.parts.arena;
    tensor_at const dy = r_.at.read(s, content::gradient), dx = r_.at.written(s, content::gradient);
    r_.launch(kernels::frozen_batch_norm_backward(r_.type, dx.pixels, dx.shape.channels, n.epsilon, dy.at, dx.at,
                                                  r_.at.accumulates(s)),
              dy.data, a.parameter(n.first_parameter), a.parameter(n.first_parameter + 3), dx.data);
  }

 private:
  struct group {
    std::vector<kernels::batch_norm_layer> layers{};
    kernels::batch_norm_forwards forward{};
    kernels::batch_norm_gradients_of back{};
    int count = 0;
    long long pixels = 0;
    long long area = 0;
  };

  bool synchronizes() const { return towers_.any() && r_.parts.options.moments == tower_moments::synchronized; }
  bool idle() const { return r_.made.idle(); }

  void apply(group const& g) {
    r_.launch(kernels::batch_norm_statistics(r_.type, g.pixels, g.layers, r_.parts.options.unbiased_running_variance),
              g.forward);
    r_.launch(kernels::batch_norm_apply(r_.type, g.pixels, g.layers), g.forward);
  }
  void back(group const& g) {
    r_.launch(kernels::batch_norm_gradients(r_.type, g.pixels, g.layers), g.back);
    if (wants_input_gradient(g)) r_.launch(kernels::batch_norm_backward(r_.type, g.pixels, g.layers), g.back);
  }

  void join_forward(group const& g) {
    int const count = kernels::moments_of_part(g.layers);
    float *const mine = r_.numbers(count), *const all = r_.numbers(1LL * count * towers_.towers());
    kernels::batch_norm_forwards part = g.forward;
    float* next = mine;
    for (int k = 0; k < g.count; ++k) {
      part.layer[k].statistics = next;
      next += 2 * g.layers[static_cast<std::size_t>(k)].channels;
    }
    if (!idle()) {
      r_.write(next, static_cast<float>(g.pixels));
      r_.launch(kernels::batch_norm_part(r_.type, g.pixels, g.layers), part);
    }
    towers_.gather(mine, count, all, r_.parts.stream);
    towers_.meet();
    r_.launch(kernels::join_moments(r_.type, g.layers, towers_.towers(), r_.parts.options.unbiased_running_variance),
              g.forward, all);
    if (!idle()) r_.launch(kernels::batch_norm_apply(r_.type, g.pixels, g.layers), g.forward);
  }
  /// Sums over the towers the numbers from which dx is computed. dgamma and dbeta remain this tower's share; all_reduce
  /// sums them like every gradient.
  void join_backward(group& g) {
    if (!wants_input_gradient(g)) {
      if (!idle()) back(g);
      return;
    }
    long long const count = kernels::moments_of_part(g.layers) - 1;
    float* const sums = r_.numbers(count);
    float* next = sums;
    for (int k = 0; k < g.count; ++k) {
      g.back.layer[k].sums = next;
      next += 2 * g.layers[static_cast<std::size_t>(k)].channels;
    }
    if (idle())
      r_.clear(sums, 4 * count);
    else
      r_.launch(kernels::batch_norm_gradients(r_.type, g.pixels, g.layers), g.back);
    towers_.sum(sums, count, r_.parts.stream);
    towers_.meet();
    if (idle()) return;
    for (int k = 0; k < g.count; ++k) {
      kernels::batch_norm_gradient& to = g.back.layer[k];
      to.dgamma = to.sums;
      to.dbeta = to.sums + g.layers[static_cast<std::size_t>(k)].channels;
    }
    r_.launch(kernels::batch_norm_backward(r_.type, g.pixels, g.layers, r_.made.part.whole * g.area), g.back);
  }
  static bool wants_input_gradient(group const& g) {
    bool wanted = false;
    for (int k = 0; k < g.count; ++k) wanted = wanted || g.back.layer[k].dx;
    return wanted;
  }

  kernels::batch_norm_layer layer_of(step const& s, tensor_at const& x) const {
    node const& n = r_.parts.graph.nodes[s.node];
    engine_options const& o = r_.parts.options;
    double const momentum = moments_ ? 0 : o.batch_norm_momentum >= 0 ? o.batch_norm_momentum : n.momentum;
    return {
        .channels = x.shape.channels, .x = x.at, .relu = s.activation >= 0, .epsilon = n.epsilon, .momentum = momentum};
  }
  float* running(int k) const {
    bool const moves = moments_ && !r_.parts.graph.parameters[k].frozen;
    return moves ? moments_ + r_.parts.arena.offset_of(k) : r_.parts.arena.parameter(k);
  }
  kernels::batch_norm_layer layer_forward(step const& s, kernels::batch_norm_forward& to) const {
    cu::arena const& a = r_.parts.arena;
    int const first = r_.parts.graph.nodes[s.node].first_parameter, bias = r_.at.parameter(s, role::bias);
    tensor_at const x = r_.at.read(s, content::activation), y = r_.at.written(s, content::activation);
    to = {x.data,
          y.data,
          a.parameter(first),
          a.parameter(first + 1),
          running(first + 2),
          running(first + 3),
          bias < 0 ? nullptr : a.parameter(bias),
          r_.at.statistics(s)};
    kernels::batch_norm_layer l = layer_of(s, x);
    l.y = y.at;
    return l;
  }
  kernels::batch_norm_layer layer_backward(step const& s, kernels::batch_norm_gradient& to) const {
    cu::arena const& a = r_.parts.arena;
    int const first = r_.parts.graph.nodes[s.node].first_parameter;
    tensor_at const x = r_.at.read(s, content::activation), dy = r_.at.read(s, content::gradient);
    tensor_at const dx = r_.at.written(s, content::gradient);
    to = {.x = x.data,
          .dy = dy.data,
          .dx = dx.data,
          .gamma = a.parameter(first),
          .beta = a.parameter(first + 1),
          .statistics = r_.at.statistics(s),
          .dgamma = a.gradient(first),
          .dbeta = a.gradient(first + 1)};
    kernels::batch_norm_layer l = layer_of(s, x);
    l.y = dy.at, l.dx = dx ? dx.at : x.at, l.accumulate = r_.at.accumulates(s);
    return l;
  }

  recording& r_;
  tower_meetings& towers_;
  float* moments_;
};

}  // namespace dsl::cu::TYPENET_MODE
