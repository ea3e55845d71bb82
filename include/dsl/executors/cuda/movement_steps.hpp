// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/cuda/recording.hpp>

namespace dsl::cu::TYPENET_MODE {

/// Records the operations that move numbers, or interpolate between neighbours: zero_pad2d, channel_slice,
/// channel_shuffle, upsample2d and token_slice.
class movement_steps {
 public:
  explicit movement_steps(recording& r) : r_(r) {}

  void forward(step const& x) {
    node const& n = r_.parts.graph.nodes[x.node];
    tensor_at const in = r_.at.read(x, content::activation), out = r_.at.written(x, content::activation);
    switch (n.kind) {
      case op::zero_pad2d: return shift(in, out, {.top = n.window.pad_top, .left = n.window.pad_left}, false);
      case op::channel_slice: return copy(from_channel(n.first_channel, in), out, out.shape.channels, false);
      case op::channel_shuffle: return shuffle(in, out, n.groups, false);
      case op::token_slice: return shift(as_row(in), out, {.left = -n.first_channel}, false);
      case op::upsample_nearest:
      case op::upsample_bilinear:
        return r_.launch(kernels::upsample2d_forward(r_.type, r_.batch(), in.shape, out.shape,
                                                     n.kind == op::upsample_bilinear, in.at, out.at),
                         in.data, out.data);
      default: recording::unknown();
    }
  }
  void backward(step const& x) {
    node const& n = r_.parts.graph.nodes[x.node];
    tensor_at const dy = r_.at.read(x, content::gradient), dx = r_.at.written(x, content::gradient);
    bool const more = r_.at.accumulates(x);
    switch (n.kind) {
      case op::zero_pad2d: return shift(dy, dx, {.top = -n.window.pad_top, .left = -n.window.pad_left}, more);
      case op::channel_slice:
        if (more) return copy(dy, from_channel(n.first_channel, dx), dy.shape.channels, true);
        return shift(dy, dx, {.front = n.first_channel}, false);  // which writes zeros to the other channels
      case op::channel_shuffle: return shuffle(dy, dx, dx.shape.channels / n.groups, more);
      case op::token_slice: return shift(dy, as_row(dx), {.left = n.first_channel}, more);
      case op::upsample_nearest:
      case op::upsample_bilinear:
        return r_.launch(kernels::upsample2d_backward(r_.type, r_.batch(), dx.shape, dy.shape,
                                                      n.kind == op::upsample_bilinear, dx.at, dy.at, more),
                         dy.data, dx.data);
      default: recording::unknown();
    }
  }

 private:
  /// Returns the place of a tensor's channels from number `first` on.
  static tensor_at from_channel(int first, tensor_at t) {
    t.at.offset += first;
    return t;
  }
  /// Returns a tensor whose pixels are one row.
  static tensor_at as_row(tensor_at t) {
    t.shape = kernels::row_of(t.shape);
    return t;
  }
  void copy(tensor_at const& from, tensor_at const& to, int channels, bool more) {
    kernels::sum_inputs const in{{from.data}};
    r_.launch(kernels::copy(r_.type, to.pixels, channels, from.at, to.at, more), in, to.data);
  }
  void shift(tensor_at const& from, tensor_at const& to, kernels::shift const& by, bool more) {
    r_.launch(kernels::shifted_copy(r_.type, r_.batch(), from.shape, to.shape, by, from.at, to.at, more), from.data,
              to.data);
  }
  void shuffle(tensor_at const& from, tensor_at const& to, int groups, bool more) {
    r_.launch(kernels::channel_shuffle(r_.type, to.pixels, to.shape.channels, groups, from.at, to.at, more), from.data,
              to.data);
  }

  recording& r_;
};

}  // namespace dsl::cu::TYPENET_MODE
