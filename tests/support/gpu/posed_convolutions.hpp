// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/dsl.hpp>
#include <dsl/executors/cuda.hpp>
#include <dsl/executors/cuda/engine.hpp>

#include <vector>

// The convolutions that a plan asks of cuDNN, by the same rules as executors/cuda/convolution_steps.hpp.

namespace dsl::test {

/// A pass of a convolution, as a step of a plan has it.
struct posed_convolution {
  cu::convolution what{};
  cu::convolution_options how{};
  int node = -1;
  int channel = 0;  // where the output begins, if it is a slice
};

/// Returns convolutions in the order of the plan's steps. Fused ones have a bias: the batch_norm's, or their own. A
/// conv2d_transpose and its data gradient are the data gradient and the forward pass of a convolution.
inline std::vector<posed_convolution> convolutions_of(graph_view const& g, plan const& p, precision with) {
  std::vector<posed_convolution> all;
  for (step const& s : p.steps) {
    bool const transposed = s.kind == op::conv2d_transpose;
    if (s.kind != op::conv2d && !transposed) continue;
    posed_convolution c{.what = cu::convolution_of(g, g.nodes[s.node], p.options.batch),
                        .how = {.precision = cu::factors_of(with)},
                        .node = s.node};
    bool fused = s.batch_norm >= 0;
    using enum cu::convolution_pass;
    for (int i = s.first_operand; i < s.first_operand + s.operands; ++i) {
      operand const& o = p.operands[i];
      if (o.what == content::parameter && g.parameters[o.index].role == role::bias) fused = true;
      if (o.what == content::gradient && o.how == access::accumulate) c.how.accumulate = true;
      if (o.what != content::activation || o.how == access::read) continue;
      int const channels = p.buffers[o.buffer].shape.channels;
      if (!transposed && channels > c.what.out_channels) c.what.output_pitch = channels, c.channel = o.channel;
    }
    switch (s.what) {
      case action::forward:
        c.how.pass = transposed ? backward_data : fused ? forward_inference : forward;
        c.how.relu = fused && s.activation >= 0;
        break;
      case action::backward_data: c.how.pass = transposed ? forward : backward_data; break;
      case action::backward_weights: c.how.pass = backward_weights; break;
      default: continue;
    }
    all.push_back(c);
  }
  return all;
}
inline std::vector<posed_convolution> convolutions_of(graph_view const& g, int batch, mode m, precision with) {
  return convolutions_of(g, make_plan(g, {.batch = batch, .mode = m, .target = cu::target_for(cu::storage_of(with))}),
                         with);
}

}  // namespace dsl::test
