// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/cuda/kernels/spec.hpp>

#include <algorithm>
#include <string_view>

/// Specs of kernels/convolution.cuh: direct convolutions for cases without a cuDNN plan. Tensors are packed, kernels
/// (out, height, width, in).
namespace dsl::cu::kernels::detail::TYPENET_MODE {

inline kernel_spec convolution_spec(std::string_view function, storage t, long long units, int batch, shape const& in,
                                    shape const& out, window const& w, int lanes, bool relu, bool accumulate) {
  checked_count(function, batch * std::max(in.area(), out.area()));
  return pointwise(function, t, units, batch, in.channels, in.height, in.width, out.channels, out.height, out.width, w,
                   w.pad_top, w.pad_left, lanes, relu, accumulate);
}

}  // namespace dsl::cu::kernels::detail::TYPENET_MODE

namespace dsl::cu::kernels::TYPENET_MODE {

/// Computes y = x * kernel + bias, then relu if requested. bias may be null.
///   launch(T const* x, T const* kernel, float const* bias, T* y)
inline kernel_spec convolution_forward(storage t, int batch, shape const& in, shape const& out, window const& w,
                                       bool relu) {
  return detail::convolution_spec("convolution_forward", t, batch * out.size(), batch, in, out, w,
                                  detail::lanes_of(t, in.channels, {}), relu, false);
}
/// Computes the gradient of a convolution with respect to its input.
///   launch(T const* dy, T const* kernel, T* dx)
inline kernel_spec convolution_backward_data(storage t, int batch, shape const& in, shape const& out, window const& w,
                                             bool accumulate) {
  int const lanes = detail::lanes_of(t, in.channels, {});
  return detail::convolution_spec("convolution_backward_data", t, batch * in.size() / lanes, batch, in, out, w, lanes,
                                  false, accumulate);
}
/// Computes the gradient of a convolution's kernel, which is float, whatever the storage. The bias's gradient is
/// computed by channel_sums() from dy.
///   launch(T const* x, T const* dy, float* dkernel)
inline kernel_spec convolution_backward_weights(storage t, int batch, shape const& in, shape const& out,
                                                window const& w) {
  int const lanes = detail::lanes_of(t, in.channels, {});
  return detail::convolution_spec("convolution_backward_weights", t,
                                  1LL * out.channels * w.height * w.width * in.channels / lanes, batch, in, out, w,
                                  lanes, false, false);
}

}  // namespace dsl::cu::kernels::TYPENET_MODE
