// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/cuda/recording.hpp>

namespace dsl::cu::TYPENET_MODE {

/// Records the operations with learnt numbers that are the same for all samples: class_token and position_embedding.
class token_steps {
 public:
  explicit token_steps(recording& r) : r_(r) {}

  void forward(step const& x) {
    tensor_at const in = r_.at.read(x, content::activation), out = r_.at.written(x, content::activation);
    float const* const learnt = r_.parts.arena.parameter(r_.parts.graph.nodes[x.node].first_parameter);
    if (x.kind == op::class_token)
      return r_.launch(kernels::class_token(r_.type, r_.batch(), in.shape, in.at, out.at), in.data, learnt, out.data);
    r_.launch(kernels::position_embedding(r_.type, r_.batch(), in.shape, in.at, out.at), in.data, learnt, out.data);
  }
  /// Records the gradient of the learnt numbers, if it is needed, and dx, if there is one. The gradient comes first: dx
  /// may be the memory of dy.
  void backward(step const& x) {
    tensor_at const dy = r_.at.read(x, content::gradient), dx = r_.at.written(x, content::gradient);
    bool const more = r_.at.accumulates(x), is_class_token = x.kind == op::class_token;
    if (int const k = r_.at.parameter(x, role::kernel, content::parameter_gradient); k >= 0) {
      float* const to = r_.parts.arena.gradient(k);
      if (is_class_token)
        r_.launch(kernels::class_token_gradient(r_.type, r_.batch(), dy.shape.area(), dy.shape.channels, dy.at),
                  dy.data, to);
      else
        r_.launch(kernels::sample_sums(r_.type, r_.batch(), dy.shape, dy.at), dy.data, to);
    }
    if (!dx) return;
    if (is_class_token)
      return r_.launch(kernels::shifted_copy(r_.type, r_.batch(), dy.shape, kernels::row_of(dx.shape), {.left = -1},
                                             dy.at, dx.at, more),
                       dy.data, dx.data);
    bool const in_place = dx.data == dy.data && dx.at.offset == dy.at.offset;
    kernels::sum_inputs const from{{dy.data}};
    if (!in_place) r_.launch(kernels::copy(r_.type, dx.pixels, dx.shape.channels, dy.at, dx.at, more), from, dx.data);
  }

 private:
  recording& r_;
};

}  // namespace dsl::cu::TYPENET_MODE
