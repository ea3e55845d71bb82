// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/cuda/kernel_table.hpp>
#include <dsl/executors/cuda/recording.hpp>

#include <algorithm>

namespace dsl::cu::TYPENET_MODE {

/// Records the normalisations whose moments are not those of the whole batch. What a launch of a backward step passes
/// on to the next launch is in memory that all of these steps on a queue share.
class norm_steps {
 public:
  explicit norm_steps(recording& r) : r_(r) {}

  void forward(step const& x) {
    node const& n = node_of(x);
    tensor_at const in = r_.at.read(x, content::activation), out = r_.at.written(x, content::activation);
    int const channels = in.shape.channels;
    switch (n.kind) {
      case op::local_response_norm:
        return r_.launch(
            kernels::local_response_norm_forward(r_.type, in.pixels, channels, response_of(n), in.at, out.at), in.data,
            out.data);
      case op::head_norm:
        return r_.launch(kernels::head_norm_forward(r_.type, in.pixels, channels, n.groups, in.at, out.at), in.data,
                         parameter(n, 0), out.data);
      default:
        return r_.launch(kernels::group_norm_forward(r_.type, groups_of(n), n.epsilon, in.at, out.at), in.data,
                         parameter(n, 0), is_centred(n) ? parameter(n, 1) : nullptr, out.data);
    }
  }
  void backward(step const& x) {
    node const& n = node_of(x);
    tensor_at const in = r_.at.read(x, content::activation), dy = r_.at.read(x, content::gradient);
    tensor_at dx = r_.at.written(x, content::gradient);
    if (!dx) dx.at = in.at;
    bool const more = r_.at.accumulates(x);
    switch (n.kind) {
      case op::local_response_norm:
        return r_.launch(kernels::local_response_norm_backward(r_.type, in.pixels, in.shape.channels, response_of(n),
                                                               in.at, dy.at, dx.at, more),
                         in.data, dy.data, dx.data);
      case op::head_norm: return heads_backward(n, in, dy, dx, more);
      default: return groups_backward(n, in, dy, dx, more);
    }
  }

 private:
  node const& node_of(step const& x) const { return r_.parts.graph.nodes[x.node]; }
  float const* parameter(node const& n, int i) const { return r_.parts.arena.parameter(n.first_parameter + i); }
  /// Returns the address of a parameter's gradient, or null if the node is frozen.
  float* gradient(node const& n, int i) const { return r_.parts.arena.gradient(n.first_parameter + i); }
  /// Whether a normalisation subtracts the mean; then it has a beta, too.
  static bool is_centred(node const& n) { return n.parameters > 1; }
  kernels::normalised_groups groups_of(node const& n) const {
    shape const& s = r_.parts.graph.output_shape(n);
    return n.kind == op::group_norm ? kernels::groups_of_samples(r_.batch(), s, n.groups)
                                    : kernels::groups_of_pixels(r_.batch(), s, is_centred(n));
  }
  static kernels::local_response response_of(node const& n) {
    return {.size = n.groups, .alpha = n.rate, .beta = n.power, .k = n.epsilon};
  }
  void groups_backward(node const& n, tensor_at const& x, tensor_at const& dy, tensor_at const& dx, bool more) {
    kernels::normalised_groups const g = groups_of(n);
    float* const means = shared();
    r_.launch(kernels::group_norm_means(r_.type, g, n.epsilon, x.at, dy.at), x.data, dy.data, parameter(n, 0), means);
    r_.launch(kernels::group_norm_backward(r_.type, g, x.at, dy.at, dx.at, more), x.data, dy.data, parameter(n, 0),
              means, dx.data, gradient(n, 0), is_centred(n) ? gradient(n, 1) : nullptr);
  }
  void heads_backward(node const& n, tensor_at const& x, tensor_at const& dy, tensor_at const& dx, bool more) {
    float* const to = gradient(n, 0);
    float* const products = to ? shared() : nullptr;
    r_.launch(kernels::head_norm_backward(r_.type, x.pixels, x.shape.channels, n.groups, x.at, dy.at, dx.at, more),
              x.data, dy.data, parameter(n, 0), dx.data, products);
    if (to) r_.launch(kernels::channel_sums(storage::f32, x.pixels, n.groups, {n.groups}), elements_of(products), to);
  }

  /// Returns the number of floats that a launch of a backward step passes on to the next one.
  long long passes_on(node const& n) const {
    if (recorder_of(n) != recorder::sample_norms || n.kind == op::local_response_norm) return 0;
    if (n.kind == op::head_norm) return r_.batch() * r_.parts.graph.output_shape(n).area() * n.groups;
    return kernels::count_of_means(groups_of(n));
  }
  /// Returns the current queue's memory for what launches pass on, enough for every node of the network.
  float* shared() {
    float*& place = shared_[r_.queue()];
    if (place) return place;
    long long most = 0;
    for (int n = 0; n < r_.parts.graph.size.nodes; ++n) most = std::max(most, passes_on(r_.parts.graph.nodes[n]));
    return place = r_.numbers(most);
  }

  recording& r_;
  float* shared_[2] = {nullptr, nullptr};
};

}  // namespace dsl::cu::TYPENET_MODE
