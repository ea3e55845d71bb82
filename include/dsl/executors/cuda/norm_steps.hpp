// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/cuda/recording.hpp>

#include <algorithm>

namespace dsl::cu::TYPENET_MODE {

/// Records the normalisations whose moments are not those of the whole batch: layer_norm, group_norm and
/// local_response_norm. What their backward steps compute first and read again is in memory that all of these steps on
/// a queue share.
class norm_steps {
 public:
  explicit norm_steps(recording& r) : r_(r) {}

  [[gnu::cold]] void forward(step const& x) {
    node const& n = node_of(x);
    tensor_at const in = r_.at.read(x, content::activation), out = r_.at.written(x, content::activation);
    if (n.kind == op::local_response_norm)
      return r_.launch(
          kernels::local_response_norm_forward(r_.type, in.pixels, in.shape.channels, response_of(n), in.at, out.at),
          in.data, out.data);
    r_.launch(kernels::group_norm_forward(r_.type, groups_of(n), n.epsilon, in.at, out.at), in.data, parameter(n, 0),
              parameter(n, 1), out.data);
  }
  [[gnu::cold]] void backward(step const& x) {
    node const& n = node_of(x);
    tensor_at const in = r_.at.read(x, content::activation), dy = r_.at.read(x, content::gradient);
    tensor_at const dx = r_.at.written(x, content::gradient);
    bool const more = r_.at.accumulates(x);
    if (n.kind == op::local_response_norm)
      return r_.launch(kernels::local_response_norm_backward(r_.type, in.pixels, in.shape.channels, response_of(n),
                                                             in.at, dy.at, dx.at, more),
                       in.data, dy.data, dx.data);
    kernels::normalised_groups const g = groups_of(n);
    float* const means = shared();
    r_.launch(kernels::group_norm_means(r_.type, g, n.epsilon, in.at, dy.at), in.data, dy.data, parameter(n, 0), means);
    r_.launch(kernels::group_norm_backward(r_.type, g, in.at, dy.at, dx ? dx.at : in.at, more), in.data, dy.data,
              parameter(n, 0), means, dx.data, gradient(n, 0), gradient(n, 1));
  }

 private:
  node const& node_of(step const& x) const { return r_.parts.graph.nodes[x.node]; }
  float const* parameter(node const& n, int i) const { return r_.parts.arena.parameter(n.first_parameter + i); }
  float* gradient(node const& n, int i) const {
    return n.frozen ? nullptr : r_.parts.arena.gradient(n.first_parameter + i);
  }
  kernels::normalised_groups groups_of(node const& n) const {
    shape const& s = r_.parts.graph.output_shape(n);
    return n.kind == op::layer_norm ? kernels::groups_of_pixels(r_.batch(), s)
                                    : kernels::groups_of_samples(r_.batch(), s, n.groups);
  }
  static kernels::local_response response_of(node const& n) {
    return {.size = n.groups, .alpha = n.rate, .beta = n.power, .k = n.epsilon};
  }
  /// Returns the number of floats that the launches of a backward step pass on.
  long long passes_on(node const& n) const {
    bool const moments = n.kind == op::layer_norm || n.kind == op::group_norm;
    return moments ? kernels::count_of_means(groups_of(n)) : 0;
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
