// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/cuda/recording.hpp>

#include <algorithm>
#include <vector>

namespace dsl::cu::TYPENET_MODE {

/// Records the operations that are one launch in each direction: activations, pools, dropout, stochastic_depth,
/// flatten, softmax and add, and the copies to and from the tensor of a concat.
class single_steps {
 public:
  explicit single_steps(recording& r) : r_(r) {}

  void forward(step const& x) {
    node const& n = r_.parts.graph.nodes[x.node];
    tensor_at const in = r_.at.read(x, content::activation), out = r_.at.written(x, content::activation);
    int const channels = out.shape.channels;
    switch (n.kind) {
      case op::activation:
        return r_.launch(kernels::activation_forward(r_.type, out.pixels, channels, n.function, n.rate, in.at, out.at),
                         in.data, out.data);
      case op::max_pool2d: {
        window_position* const argmax = r_.at.argmax(x);
        return r_.launch(
            kernels::max_pool2d_forward(r_.type, r_.batch(), in.shape, out.shape, n.window, in.at, out.at, argmax),
            in.data, out.data, argmax);
      }
      case op::avg_pool2d:
        return r_.launch(kernels::avg_pool2d_forward(r_.type, r_.batch(), in.shape, out.shape, n.window,
                                                     n.counts_padding, in.at, out.at),
                         in.data, out.data);
      case op::dropout:
      case op::stochastic_depth: return dropout(x, in, out, false);
      case op::flatten:
        return r_.launch(kernels::reshape(r_.type, r_.batch(), in.shape, out.shape, in.at, out.at, false), in.data,
                         out.data);
      case op::softmax:
        return r_.launch(kernels::softmax_forward(r_.type, out.pixels, channels, in.at, out.at), in.data, out.data);
      case op::add: return sum(x, out);
      default: recording::unknown();
    }
  }
  void backward(step const& x) {
    node const& n = r_.parts.graph.nodes[x.node];
    tensor_at const dy = r_.at.read(x, content::gradient), dx = r_.at.written(x, content::gradient);
    tensor_at const from = r_.at.read(x, content::activation);
    bool const more = r_.at.accumulates(x);
    int const channels = dx.shape.channels;
    switch (n.kind) {
      case op::activation:
        return r_.launch(
            kernels::activation_backward(r_.type, dx.pixels, channels, n.function, n.rate, from.at, dy.at, dx.at, more),
            from.data, dy.data, dx.data);
      case op::max_pool2d:
        return r_.launch(
            kernels::max_pool2d_backward(r_.type, r_.batch(), dx.shape, dy.shape, n.window, dx.at, dy.at, more),
            dy.data, r_.at.argmax(x), dx.data);
      case op::avg_pool2d:
        return r_.launch(kernels::avg_pool2d_backward(r_.type, r_.batch(), dx.shape, dy.shape, n.window,
                                                      n.counts_padding, dx.at, dy.at, more),
                         dy.data, dx.data);
      case op::dropout:
      case op::stochastic_depth: return dropout(x, dy, dx, more);
      case op::flatten:
        return r_.launch(kernels::reshape(r_.type, r_.batch(), dy.shape, dx.shape, dy.at, dx.at, more), dy.data,
                         dx.data);
      case op::softmax:
        return r_.launch(kernels::softmax_backward(r_.type, dx.pixels, channels, from.at, dy.at, dx.at, more),
                         from.data, dy.data, dx.data);
      default: recording::unknown();
    }
  }

  /// Records a copy between the tensor of a concat or add and one of its inputs. The view of the wider tensor already
  /// begins at the input's channels.
  void copy(step const& x, content what) {
    tensor_at const from = r_.at.read(x, what), to = r_.at.written(x, what);
    int const channels = std::min(from.shape.channels, to.shape.channels);
    kernels::sum_inputs const in{{from.data}};
    r_.launch(kernels::copy(r_.type, to.pixels, channels, from.at, to.at, r_.at.accumulates(x)), in, to.data);
  }

 private:
  void dropout(step const& x, tensor_at const& in, tensor_at const& out, bool accumulate) {
    node const& n = r_.parts.graph.nodes[x.node];
    auto const spec = n.kind == op::stochastic_depth ? kernels::stochastic_depth : kernels::dropout;
    r_.launch(spec(r_.type, r_.batch(), out.shape, n.rate, x.node, in.at, out.at, accumulate), in.data, out.data,
              r_.parts.state);
  }
  void sum(step const& x, tensor_at const& out) {
    int const inputs = r_.parts.graph.nodes[x.node].inputs;
    for (int first = 0; first < inputs; first += 8) {
      kernels::sum_inputs in{};
      std::vector<slice> slices;
      for (int i = first; i < inputs && i < first + 8; ++i) {
        tensor_at const t = r_.at.read(x, content::activation, i);
        in.x[i - first] = t.data;
        slices.push_back(t.at);
      }
      r_.launch(kernels::sum(r_.type, out.pixels, out.shape.channels, slices, out.at, first > 0), in, out.data);
    }
  }

  recording& r_;
};

}  // namespace dsl::cu::TYPENET_MODE
