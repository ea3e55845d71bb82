// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/combinators/sequential.hpp>
#include <dsl/placement/with_transfers.hpp>

namespace dsl {

/// Runs layers in sequence on one device, which also holds their parameters. If several on<> contain a layer, the
/// innermost applies; a layer outside any on<> is on device 0. Values are copied between devices as needed. Branches of
/// a concat or add that are on different devices run at the same time. Results are the same as on one device.
template <auto Device, class... Layers>
struct on {
  using children = types<Layers...>;

  static constexpr value lower(builder& b, value in) {
    int number = 0;
    if constexpr (requires(option::device d) { d = Device; })
      number = Device.number;
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
