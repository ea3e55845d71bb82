// SPDX-License-Identifier: MIT
#pragma once

#include <initializer_list>

#include <dsl/layer.hpp>
#include <dsl/number.hpp>

namespace dsl {

/// Local response normalisation (Krizhevsky et al. 2012): divides each number by (K + Alpha / Size * the sum of the
/// squares of Size neighbouring channels) ^ Beta. The numbers after Size are Alpha, Beta and K, by default 1e-4, 0.75
/// and 1, as in PyTorch's nn.LocalResponseNorm. AlexNet does not divide its alpha of 1e-4 by its size of 5, so its
/// layer is local_response_norm<5, 5e-4, 0.75, 2> here.
template <int Size, number... Options>
  requires(sizeof...(Options) <= 3)
struct local_response_norm {
  static constexpr double alpha = detail::number_at<Options...>(0, 1e-4);
  static constexpr double beta = detail::number_at<Options...>(1, 0.75);
  static constexpr double k = detail::number_at<Options...>(2, 1);

  static constexpr value lower(builder& b, value in) {
    b.require(Size > 0 && Size % 2 == 1, {.broken = rule::response_size_is_odd, .first = in.shape, .found = Size});
    for (double x : {alpha, beta, k})
      b.require(x >= 1e-30 && x < 1e30, {.broken = rule::response_numbers_are_positive, .number = x});
    return b.append({.kind = op::local_response_norm, .rate = alpha, .epsilon = k, .groups = Size, .power = beta}, in,
                    in.shape);
  }
};
// local_response_norm<5> on 64x8x8 -> 64x8x8

}  // namespace dsl
