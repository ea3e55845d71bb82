// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/cuda/kernels/spec.hpp>

#include <algorithm>
#include <string_view>

/// Specs of kernels/pool2d.cuh. `in` and `out` are the shapes of a sample; x and y are the places of its input and its
/// output, or of their gradients. The argmax is packed channels-last.
namespace dsl::cu::kernels::TYPENET_MODE {

/// Returns the number of bytes in which the position of a window's maximum is stored.
constexpr int argmax_bytes(window const& w) { return w.height * w.width <= 256 ? 1 : 2; }

}  // namespace dsl::cu::kernels::TYPENET_MODE

namespace dsl::cu::kernels::detail::TYPENET_MODE {

/// Whether a window begins before the image or ends behind it, in padding or because of ceil_mode.
constexpr bool leaves_image(window const& w, shape const& in, shape const& out) {
  auto const leaves = [](window_side const& s, int from, int to) { return s.before > 0 || s.behind(from, to) > 0; };
  return leaves(w.rows(), in.height, out.height) || leaves(w.columns(), in.width, out.width);
}

inline any_kernel pool2d_spec(std::string_view function, storage t, int batch, shape const& in, shape const& out,
                              window const& w, bool counts_padding, slice x, slice y, int place_bytes, bool backward,
                              bool accumulate) {
  int const lanes = lanes_of(t, in.channels, {x, y});
  checked_count(function, batch * std::max(in.area(), out.area()));
  long long const pixels = batch * (backward ? in.area() : out.area());
  return pointwise(function, t, pixels * (in.channels / lanes), batch, in.channels, lanes, in.height, in.width,
                   out.height, out.width, w.height, w.width, w.stride, w.columns().stride, w.pad_top, w.pad_left,
                   leaves_image(w, in, out), counts_padding, x, y, place_bytes, accumulate);
}

}  // namespace dsl::cu::kernels::detail::TYPENET_MODE

namespace dsl::cu::kernels::TYPENET_MODE {

/// Computes the maximum of each window, which is never in the padding. The positions of the maxima are written to
/// argmax only if `saves` is true, for training; otherwise pass null.
inline auto max_pool2d_forward(storage t, int batch, shape const& in, shape const& out, window const& w, slice x,
                               slice y, bool saves) -> kernel_spec<element const*, element*, window_position*> {
  return detail::pool2d_spec("max_pool2d_forward", t, batch, in, out, w, true, x, y, saves ? argmax_bytes(w) : 0, false,
                             false);
}
/// Computes the gradient of a max pool from the positions that the forward pass saved.
inline auto max_pool2d_backward(storage t, int batch, shape const& in, shape const& out, window const& w, slice dx,
                                slice dy, bool accumulate)
    -> kernel_spec<element const*, window_position const*, element*> {
  return detail::pool2d_spec("max_pool2d_backward", t, batch, in, out, w, true, dx, dy, argmax_bytes(w), true,
                             accumulate);
}
/// Computes the mean of each window: of its whole size if `counts_padding` is true, otherwise of its pixels inside the
/// image.
inline auto avg_pool2d_forward(storage t, int batch, shape const& in, shape const& out, window const& w,
                               bool counts_padding, slice x, slice y) -> kernel_spec<element const*, element*> {
  return detail::pool2d_spec("avg_pool2d_forward", t, batch, in, out, w, counts_padding, x, y, 0, false, false);
}
/// Computes the gradient of an average pool.
inline auto avg_pool2d_backward(storage t, int batch, shape const& in, shape const& out, window const& w,
                                bool counts_padding, slice dx, slice dy, bool accumulate)
    -> kernel_spec<element const*, element*> {
  return detail::pool2d_spec("avg_pool2d_backward", t, batch, in, out, w, counts_padding, dx, dy, 0, true, accumulate);
}

}  // namespace dsl::cu::kernels::TYPENET_MODE
