// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/cuda/kernels/spec.hpp>
#include <dsl/executors/cuda/operation.hpp>
#include <dsl/plan/plan.hpp>

#include <string_view>

namespace dsl::cu::kernels::detail::TYPENET_MODE {

inline any_kernel merge_pixels_spec(std::string_view function, storage t, int batch, shape const& image, int side,
                                    slice x, slice y, bool accumulate) {
  int const lanes = lanes_of(t, image.channels, {x, y});
  return pointwise(function, t, batch * image.area() * (image.channels / lanes), batch, image.channels, lanes,
                   image.height, image.width, side, x, y, accumulate);
}

}  // namespace dsl::cu::kernels::detail::TYPENET_MODE

namespace dsl::cu::kernels::TYPENET_MODE {

/// Makes one pixel of each square of `side` x `side` pixels. `image` is the shape of the larger image.
inline auto merge_pixels(storage t, int batch, shape const& image, int side, slice x, slice y)
    -> kernel_spec<element const*, element*> {
  return detail::merge_pixels_spec("merge_pixels", t, batch, image, side, x, y, false);
}
/// Copies the gradients of merged pixels back to their squares.
inline auto merge_pixels_backward(storage t, int batch, shape const& image, int side, slice dx, slice dy,
                                  bool accumulate) -> kernel_spec<element const*, element*> {
  return detail::merge_pixels_spec("merge_pixels_backward", t, batch, image, side, dx, dy, accumulate);
}

}  // namespace dsl::cu::kernels::TYPENET_MODE

namespace dsl::cu::TYPENET_MODE {

template <>
struct own_kernels<op::merge_pixels> {
  static constexpr char const* text =
#include <dsl/operations/merge_pixels/kernels.cuh>
      ;
  static constexpr char const* forward_kernel = "merge_pixels";
  static constexpr char const* backward_kernel = "merge_pixels_backward";

  template <class Recording>
  static void forward(Recording& r, step const& x) {
    auto const in = r.at.read(x, content::activation), out = r.at.written(x, content::activation);
    int const side = in.shape.height / out.shape.height;
    r.launch(kernels::merge_pixels(r.type, r.batch(), in.shape, side, in.at, out.at), in.data, out.data);
  }
  template <class Recording>
  static void backward(Recording& r, step const& x) {
    auto const dy = r.at.read(x, content::gradient), dx = r.at.written(x, content::gradient);
    int const side = dx.shape.height / dy.shape.height;
    r.launch(kernels::merge_pixels_backward(r.type, r.batch(), dx.shape, side, dx.at, dy.at, r.at.accumulates(x)),
             dy.data, dx.data);
  }
};

}  // namespace dsl::cu::TYPENET_MODE
