// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/detail/philox.hpp>

#include <cstdint>

namespace dsl::TYPENET_MODE {

/// Decides which values a dropout layer keeps. The result is the same on every executor and for any number of towers or
/// threads, since it depends only on (seed, step, sample, node, element). `element` is the number of the value in the
/// sample, in the order channel, row, column.
struct dropout_draw {
  std::uint64_t seed = 0;
  std::uint64_t step = 0;
  std::uint32_t node = 0;
  float rate = 0;
  std::uint32_t first = 0;  // the index of sample 0 in the whole batch

  /// Returns random bits for elements 4 * quad ... 4 * quad + 3 of a sample.
  constexpr detail::philox_block four(std::uint32_t sample, std::uint32_t quad) const {
    return detail::philox(static_cast<std::uint32_t>(seed),
                          static_cast<std::uint32_t>(seed >> 32) ^ static_cast<std::uint32_t>(step >> 32), quad,
                          static_cast<std::uint32_t>(detail::purpose::dropout) | node << 16, first + sample,
                          static_cast<std::uint32_t>(step));
  }
  constexpr bool keeps(std::uint32_t draw) const { return detail::unit_float(draw) >= rate; }
};

}  // namespace dsl::TYPENET_MODE
