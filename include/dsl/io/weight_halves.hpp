// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>

#include <bit>
#include <cstdint>

namespace dsl::TYPENET_MODE {

/// Converts IEEE 754 half precision to float exactly; a NaN keeps its payload.
constexpr float float_of_f16(std::uint16_t half) {
  std::uint32_t const sign = (half & 0x8000U) << 16, exponent = half >> 10 & 31U, fraction = half & 1023U;
  if (exponent == 0)  // zero or subnormal: units of 2^-24
    return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(static_cast<float>(fraction) * 0x1p-24F));
  // Infinities and NaNs have the largest exponent in both formats.
  return std::bit_cast<float>(sign | (exponent == 31 ? 255U : exponent + 112U) << 23 | fraction << 13);
}

/// Converts bfloat16 to float. A bfloat16 has the upper 16 bits of the float.
constexpr float float_of_bf16(std::uint16_t half) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(half) << 16);
}

}  // namespace dsl::TYPENET_MODE
