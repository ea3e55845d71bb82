// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/cuda/recording.hpp>

#include <cstddef>

namespace dsl::cu::TYPENET_MODE {

/// Records dense layers: large ones through cublasLt, small ones through typenet's own kernel.
class dense_steps {
 public:
  /// `workspace_limit` is the number of bytes that one product may use.
  dense_steps(recording& r, long long workspace_limit) : r_(r), workspace_limit_(workspace_limit) {}

  /// Records y (batch, units) = x (batch, features) kernel (units, features)^T + bias.
  void forward(step const& x) {
    tensor_at const in = r_.at.read(x, content::activation), out = r_.at.written(x, content::activation);
    cu::arena const& a = r_.parts.arena;
    int const k = first_parameter(x);
    if (pays(in, out) && multiply({.a = kernel_of(k, in, out),
                                   .b = samples_of(in),
                                   .d = samples_of(out),
                                   .transpose_a = true,
                                   .bias = a.working_copy(k + 1)}))
      return;
    r_.launch(kernels::dense_forward(r_.type, r_.batch(), in.shape.channels, out.shape.channels, in.at, out.at),
              in.data, a.working_copy(k), a.parameter(k + 1), out.data);
  }
  /// Records dkernel = dy^T x, in float, and dbias, the sum of dy over the batch.
  void backward_weights(step const& x) {
    tensor_at const in = r_.at.read(x, content::activation), dy = r_.at.read(x, content::gradient);
    cu::arena const& a = r_.parts.arena;
    int const k = first_parameter(x);
    matrix dkernel = kernel_of(k, in, dy);
    dkernel.data = a.gradient(k), dkernel.type = storage::f32;
    if (pays(in, dy) && multiply({.a = samples_of(in), .b = samples_of(dy), .d = dkernel, .transpose_b = true}))
      return r_.launch(kernels::channel_sums(r_.type, dy.pixels, dy.shape.channels, dy.at), dy.data, a.gradient(k + 1));
    r_.launch(kernels::dense_backward_weights(r_.type, r_.batch(), in.shape.channels, dy.shape.channels, in.at, dy.at),
              in.data, dy.data, a.gradient(k), a.gradient(k + 1));
  }
  /// Records dx = dy kernel, or dx += dy kernel.
  void backward_data(step const& x) {
    tensor_at const dy = r_.at.read(x, content::gradient), dx = r_.at.written(x, content::gradient);
    int const k = first_parameter(x);
    bool const accumulate = r_.at.accumulates(x);
    if (pays(dx, dy) &&
        multiply({.a = kernel_of(k, dx, dy), .b = samples_of(dy), .d = samples_of(dx), .accumulate = accumulate}))
      return;
    r_.launch(kernels::dense_backward_data(r_.type, r_.batch(), dx.shape.channels, dy.shape.channels, dx.at, dy.at,
                                           accumulate),
              dy.data, r_.parts.arena.working_copy(k), dx.data);
  }

 private:
  int first_parameter(step const& x) const { return r_.parts.graph.nodes[x.node].first_parameter; }
  /// Whether to use the library: its tensor cores work on tiles of 64 or more, and for smaller products a call of the
  /// library costs more than the work.
  static bool pays(tensor_at const& in, tensor_at const& out) {
    return in.shape.channels >= 64 && out.shape.channels >= 64;
  }

  // The library reads a row-major matrix as the transposed matrix in column-major order.
  matrix samples_of(tensor_at const& t) const {
    return {behind(t.data, r_.type, t.at.offset), r_.type, t.shape.channels, r_.batch(), t.at.channels};
  }
  matrix kernel_of(int k, tensor_at const& in, tensor_at const& out) const {
    return {r_.parts.arena.working_copy(k), r_.type, in.shape.channels, out.shape.channels, in.shape.channels};
  }

  /// Returns false if the library cannot compute the product.
  bool multiply(matrix_product p) {
    for (void const* data : {p.a.data, p.b.data, p.d.data, p.bias})
      if (!begins_aligned(data)) return false;
    p.rounds_to_tf32 = r_.parts.precision == precision::tf32;
    if (!r_.parts.products) r_.parts.products.emplace(r_.parts.calls);
    bound_product& b = r_.made.products.emplace(*r_.parts.products, p, workspace_limit_, r_.queue());
    if (!b.plan.found()) {
      r_.made.products.drop_last();
      return false;
    }
    r_.enqueue([&b, &w = r_.made.work[b.queue], s = r_.stream()] { b.plan.run(w.workspace->data(), s); });
    return true;
  }

  recording& r_;
  long long workspace_limit_;
};

}  // namespace dsl::cu::TYPENET_MODE
