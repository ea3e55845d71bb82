// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/cuda/kernels/spec.hpp>

#include <algorithm>
#include <string_view>

/// Specs of kernels/convolution.cuh: direct convolutions for cases without a cuDNN plan. Tensors are packed, kernels
/// (out, height, width, in / groups). `in` and `out` are the shapes of a sample.
namespace dsl::cu::kernels::detail::TYPENET_MODE {

inline any_kernel convolution_spec(std::string_view function, storage t, long long units, int batch, shape const& in,
                                   shape const& out, window const& w, int groups, int lanes, bool relu,
                                   bool accumulate) {
  checked_count(function, batch * std::max(in.area(), out.area()));
  return pointwise(function, t, units, batch, in.channels, in.height, in.width, out.channels, out.height, out.width,
                   w.height, w.width, w.stride, w.columns().stride, w.pad_top, w.pad_left, w.row_dilation,
                   w.column_dilation, groups, lanes, relu, accumulate);
}
/// Returns the number of input channels that a thread processes. They are in one group.
inline int group_lanes(storage t, shape const& in, int groups) { return lanes_of(t, in.channels / groups, {}); }

}  // namespace dsl::cu::kernels::detail::TYPENET_MODE

namespace dsl::cu::kernels::TYPENET_MODE {

/// Computes y = x * kernel + bias, then relu if requested, or adds this to y. bias may be null.
inline auto convolution_forward(storage t, int batch, shape const& in, shape const& out, window const& w, bool relu,
                                int groups = 1, bool accumulate = false)
    -> kernel_spec<element const*, element const*, float const*, element*> {
  return detail::convolution_spec("convolution_forward", t, batch * out.size(), batch, in, out, w, groups,
                                  detail::group_lanes(t, in, groups), relu, accumulate);
}
/// Computes the gradient of a convolution with respect to its input.
inline auto convolution_backward_data(storage t, int batch, shape const& in, shape const& out, window const& w,
                                      bool accumulate, int groups = 1)
    -> kernel_spec<element const*, element const*, element*> {
  int const lanes = detail::group_lanes(t, in, groups);
  return detail::convolution_spec("convolution_backward_data", t, batch * in.size() / lanes, batch, in, out, w, groups,
                                  lanes, false, accumulate);
}
/// Computes the gradient of a convolution's kernel, which is float, whatever the storage. The bias's gradient is
/// computed by channel_sums() from dy.
inline auto convolution_backward_weights(storage t, int batch, shape const& in, shape const& out, window const& w,
                                         int groups = 1) -> kernel_spec<element const*, element const*, float*> {
  int const lanes = detail::group_lanes(t, in, groups);
  return detail::convolution_spec("convolution_backward_weights", t,
                                  1LL * out.channels * w.height * w.width * (in.channels / groups / lanes), batch, in,
                                  out, w, groups, lanes, false, false);
}

}  // namespace dsl::cu::kernels::TYPENET_MODE
