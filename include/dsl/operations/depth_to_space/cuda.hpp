// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/cuda/kernels/spec.hpp>
#include <dsl/executors/cuda/operation.hpp>
#include <dsl/plan/plan.hpp>

namespace dsl::cu::kernels::TYPENET_MODE {

/// Copies between an image and a tensor with a pixel for each square of its pixels, whose channels are `apart` from
/// each other. `to_depth` is the direction.
inline auto copy_squares(storage t, int batch, shape const& image, shape const& deep, int apart, bool to_depth,
                         slice image_at, slice deep_at, bool accumulate) -> kernel_spec<element const*, element*> {
  int lanes = detail::lanes_of(t, image.channels, {image_at, deep_at});
  if (apart % lanes != 0) lanes = 1;
  return detail::pointwise("copy_squares", t, batch * image.area() * (image.channels / lanes), batch, image.channels,
                           lanes, image.height, image.width, image.height / deep.height, apart, to_depth, image_at,
                           deep_at, accumulate);
}

}  // namespace dsl::cu::kernels::TYPENET_MODE

namespace dsl::cu::TYPENET_MODE {

/// The launches of both operations: the gradient of each is a copy in the direction of the other.
template <bool ToDepth>
struct square_kernels {
  static constexpr char const* forward_kernel = "copy_squares";
  static constexpr char const* backward_kernel = "copy_squares";

  template <class Recording>
  static void forward(Recording& r, step const& x) {
    copy<ToDepth>(r, x, r.at.read(x, content::activation), r.at.written(x, content::activation), false);
  }
  template <class Recording>
  static void backward(Recording& r, step const& x) {
    copy<!ToDepth>(r, x, r.at.read(x, content::gradient), r.at.written(x, content::gradient), r.at.accumulates(x));
  }

 private:
  template <bool To, class Recording, class Tensor>
  static void copy(Recording& r, step const& x, Tensor const& from, Tensor const& to, bool more) {
    Tensor const &image = To ? from : to, &deep = To ? to : from;
    r.launch(kernels::copy_squares(r.type, r.batch(), image.shape, deep.shape, r.parts.graph.nodes[x.node].groups, To,
                                   image.at, deep.at, more),
             from.data, to.data);
  }
};

template <>
struct own_kernels<op::depth_to_space> : square_kernels<false> {
  static constexpr char const* text =
#include <dsl/operations/depth_to_space/kernels.cuh>
      ;
};
template <>
struct own_kernels<op::space_to_depth> : square_kernels<true> {
  static constexpr char const* text = "\n";  // that of depth_to_space is used
};

}  // namespace dsl::cu::TYPENET_MODE
