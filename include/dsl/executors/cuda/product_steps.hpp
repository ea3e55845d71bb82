// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/cuda/recording.hpp>

namespace dsl::cu::TYPENET_MODE {

/// Records multiply and channel_scale.
class product_steps {
 public:
  explicit product_steps(recording& r) : r_(r) {}

  void forward(step const& x) { x.kind == op::multiply ? multiply(x) : scale(x); }
  void backward(step const& x) { x.kind == op::multiply ? multiply_backward(x) : scale_backward(x); }

 private:
  void multiply(step const& x) {
    tensor_at const a = r_.at.read(x, content::activation), out = r_.at.written(x, content::activation);
    tensor_at const b = r_.at.read(x, content::activation, 1);
    r_.launch(kernels::multiply(r_.type, r_.batch(), out.shape, kernels::factor_of(a.shape, a.at, out.shape),
                                kernels::factor_of(b.shape, b.at, out.shape), out.at, false),
              a.data, b.data, out.data);
  }
  /// Records the gradient of one operand. The step reads the other one.
  void multiply_backward(step const& x) {
    tensor_at const b = r_.at.read(x, content::activation), dy = r_.at.read(x, content::gradient);
    tensor_at const dx = r_.at.written(x, content::gradient);
    kernels::factor const all{dy.at}, other = kernels::factor_of(b.shape, b.at, dy.shape);
    auto const [place, one_channel, one_pixel] = kernels::factor_of(dx.shape, dx.at, dy.shape);
    bool const more = r_.at.accumulates(x);
    r_.launch(one_channel ? kernels::multiply_backward_channels(r_.type, r_.batch(), dy.shape, one_pixel, dy.at, other,
                                                                place, more)
              : one_pixel ? kernels::multiply_backward_pixels(r_.type, r_.batch(), dy.shape, dy.at, other, place, more)
                          : kernels::multiply(r_.type, r_.batch(), dy.shape, all, other, place, more),
              dy.data, b.data, dx.data);
  }

  void scale(step const& x) {
    tensor_at const in = r_.at.read(x, content::activation), out = r_.at.written(x, content::activation);
    r_.launch(kernels::channel_scale(r_.type, out.pixels, out.shape.channels, in.at, out.at, false), in.data,
              parameter(x), out.data);
  }
  void scale_backward(step const& x) {
    node const& n = r_.parts.graph.nodes[x.node];
    tensor_at const in = r_.at.read(x, content::activation), dy = r_.at.read(x, content::gradient);
    tensor_at const dx = r_.at.written(x, content::gradient);
    r_.launch(kernels::channel_scale_backward(r_.type, in.pixels, in.shape.channels, in.at, dy.at, dx ? dx.at : in.at,
                                              r_.at.accumulates(x)),
              in.data, dy.data, parameter(x), dx.data, r_.parts.arena.gradient(n.first_parameter));
  }
  float const* parameter(step const& x) const {
    return r_.parts.arena.parameter(r_.parts.graph.nodes[x.node].first_parameter);
  }

  recording& r_;
};

}  // namespace dsl::cu::TYPENET_MODE
