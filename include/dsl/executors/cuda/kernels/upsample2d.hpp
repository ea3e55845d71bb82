// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/cuda/kernels/spec.hpp>

#include <string_view>

/// Specs of kernels/upsample2d.cuh. `in` and `out` are the shapes of a sample, of which `out` has a multiple of the
/// rows and columns; x and y are the places of its input and its output, or of their gradients.
namespace dsl::cu::kernels::detail::TYPENET_MODE {

inline any_kernel upsample2d_spec(std::string_view function, storage t, int batch, shape const& in, shape const& out,
                                  bool bilinear, slice x, slice y, bool backward, bool accumulate) {
  int const lanes = lanes_of(t, in.channels, {x, y});
  checked_count(function, batch * out.area());
  long long const pixels = batch * (backward ? in.area() : out.area());
  return pointwise(function, t, pixels * (in.channels / lanes), batch, in.channels, lanes, in.height, in.width,
                   out.height / in.height, out.width / in.width, bilinear, x, y, accumulate);
}

}  // namespace dsl::cu::kernels::detail::TYPENET_MODE

namespace dsl::cu::kernels::TYPENET_MODE {

/// Repeats each pixel or, if `bilinear` is true, interpolates between the four nearest ones.
inline auto upsample2d_forward(storage t, int batch, shape const& in, shape const& out, bool bilinear, slice x, slice y)
    -> kernel_spec<element const*, element*> {
  return detail::upsample2d_spec("upsample2d_forward", t, batch, in, out, bilinear, x, y, false, false);
}
/// Sums, for each input pixel, the gradients of the output pixels that read it, with the same weights.
inline auto upsample2d_backward(storage t, int batch, shape const& in, shape const& out, bool bilinear, slice dx,
                                slice dy, bool accumulate) -> kernel_spec<element const*, element*> {
  return detail::upsample2d_spec("upsample2d_backward", t, batch, in, out, bilinear, dx, dy, true, accumulate);
}

}  // namespace dsl::cu::kernels::TYPENET_MODE
