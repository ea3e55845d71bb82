// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/combinators/sequential.hpp>
#include <dsl/placement/placed.hpp>

namespace dsl {

/// One of the machine's devices, from 0: a GPU, or a set of processor cores.
template <int I>
struct device {
  static constexpr int number = I;
};

/// Layers that compute, and have their parameters, on one device, one after the other. The innermost on<> decides, and
/// what is in none is on device 0. Values are copied where they go from device to device; branches of a concat or add
/// on different ones run at the same time. Results are those of one device.
template <class Device, class... Layers>
struct on {
  using children = types<Layers...>;

  static constexpr value lower(builder& b, value in) {
    int number = 0;
    if constexpr (requires { Device::number; })
      number = Device::number;
    else
      b.require(false, {.broken = rule::on_names_a_device, .first = in.shape});
    b.require(number >= 0, {.broken = rule::devices_are_not_negative, .first = in.shape, .found = number});
    int const outside = b.move_to(number < 0 ? 0 : number);
    value const out = sequential<Layers...>::lower(b, in);
    b.move_to(outside);
    return out;
  }
};
// on<device<1>, conv2d<64, 3>> on 3x32x32 -> 64x32x32

}  // namespace dsl
