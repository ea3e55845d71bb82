// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/cuda/kernels/spec.hpp>

#include <string_view>

/// Specs of kernels/local_response_norm.cuh.
namespace dsl::cu::kernels::TYPENET_MODE {

/// The numbers of a local_response_norm: y = x (k + alpha / size * S)^-beta, with S the sum of the squares of `size`
/// neighbouring channels. `size` is odd.
struct local_response {
  int size = 1;
  double alpha = 0;
  double beta = 0;
  double k = 0;
};

}  // namespace dsl::cu::kernels::TYPENET_MODE

namespace dsl::cu::kernels::detail::TYPENET_MODE {

inline any_kernel local_response_spec(std::string_view function, storage t, long long pixels, int channels,
                                      kernels::local_response const& how, slice x, slice y, slice dx, bool accumulate) {
  int const count = checked_count(function, pixels);
  int const lanes = lanes_of(t, channels, {x, y, dx});
  return pointwise(function, t, pixels * (channels / lanes), count, channels, lanes, how.size / 2,
                   static_cast<float>(how.alpha / how.size), static_cast<float>(how.k), static_cast<float>(how.beta), x,
                   y, dx, accumulate);
}

}  // namespace dsl::cu::kernels::detail::TYPENET_MODE

namespace dsl::cu::kernels::TYPENET_MODE {

/// Divides each number by a power of the sum of squares around it. y must not be x.
inline auto local_response_norm_forward(storage t, long long pixels, int channels, local_response const& how, slice x,
                                        slice y) -> kernel_spec<element const*, element*> {
  return detail::local_response_spec("local_response_norm_forward", t, pixels, channels, how, x, y, x, false);
}
/// Computes the gradient, or adds it to dx. The powers are computed again from x. dx must be neither x nor dy.
inline auto local_response_norm_backward(storage t, long long pixels, int channels, local_response const& how, slice x,
                                         slice dy, slice dx, bool accumulate)
    -> kernel_spec<element const*, element const*, element*> {
  return detail::local_response_spec("local_response_norm_backward", t, pixels, channels, how, x, dy, dx, accumulate);
}

}  // namespace dsl::cu::kernels::TYPENET_MODE
