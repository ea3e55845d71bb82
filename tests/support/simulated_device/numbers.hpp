// SPDX-License-Identifier: MIT
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

#include <library_types.h>

// Storage types of tensors on the host. Rounding is to nearest, ties to even, like the GPU's conversions.

namespace dsl_test::simulated {

enum class storage { f32, f16, bf16 };

constexpr std::size_t bytes_of(storage s) { return s == storage::f32 ? 4 : 2; }

/// Keeps the top `bits` of the 23 of a float's mantissa: 7 for bf16, 10 for TF32.
inline float round_mantissa(float x, int bits) {
  if (!std::isfinite(x)) return x;
  std::uint32_t const dropped = static_cast<std::uint32_t>(23 - bits);
  std::uint32_t const u = std::bit_cast<std::uint32_t>(x);
  std::uint32_t const half = (1u << (dropped - 1)) - 1 + (u >> dropped & 1u);
  return std::bit_cast<float>((u + half) >> dropped << dropped);
}

/// How floats reach a multiplier. Some kernels round for TF32, others leave it to the tensor core, which drops the last
/// 13 bits.
enum class factors { whole, rounded_to_tf32, truncated_to_tf32 };
inline factors factors_in(bool tf32, bool truncates) {
  return !tf32 ? factors::whole : truncates ? factors::truncated_to_tf32 : factors::rounded_to_tf32;
}
inline float factor_of(float x, factors how) {
  if (how == factors::truncated_to_tf32) return std::bit_cast<float>(std::bit_cast<std::uint32_t>(x) & ~0x1fffU);
  return how == factors::whole ? x : round_mantissa(x, 10);
}

inline std::uint16_t to_bf16(float x) {
  if (std::isnan(x)) return 0x7fff;
  return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(round_mantissa(x, 7)) >> 16);
}
inline float from_bf16(std::uint16_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }

/// Converts to half precision: 5 bits of exponent, 10 of mantissa.
inline std::uint16_t to_half(float x) {
  std::uint16_t const sign = static_cast<std::uint16_t>(std::signbit(x) ? 0x8000 : 0);
  float const a = std::fabs(x);
  if (std::isnan(x)) return 0x7fff;
  if (a >= 65520.0f) return static_cast<std::uint16_t>(sign | 0x7c00);  // rounds past the largest, 65504
  if (a < 0x1p-14f)  // a multiple of 2^-24; 1024 of them carry into the exponent, as they should
    return static_cast<std::uint16_t>(sign | static_cast<std::uint16_t>(std::nearbyint(a * 0x1p24f)));
  std::uint32_t const u = std::bit_cast<std::uint32_t>(round_mantissa(a, 10));
  return static_cast<std::uint16_t>(sign | ((u >> 13) - (112u << 10)));
}
inline float from_half(std::uint16_t bits) {
  std::uint32_t const exponent = bits >> 10 & 31u, mantissa = bits & 1023u;
  float x = exponent == 0 ? static_cast<float>(mantissa) * 0x1p-24f
                          : std::ldexp(1.0f + static_cast<float>(mantissa) * 0x1p-10f, static_cast<int>(exponent) - 15);
  if (exponent == 31) x = mantissa ? std::numeric_limits<float>::quiet_NaN() : std::numeric_limits<float>::infinity();
  return bits & 0x8000u ? -x : x;
}

/// Returns element i of an array in device memory.
inline float load(void const* data, std::int64_t i, storage s) {
  if (s == storage::f32) {
    float x;
    std::memcpy(&x, static_cast<char const*>(data) + i * 4, 4);
    return x;
  }
  std::uint16_t bits;
  std::memcpy(&bits, static_cast<char const*>(data) + i * 2, 2);
  return s == storage::bf16 ? from_bf16(bits) : from_half(bits);
}
inline void store(void* data, std::int64_t i, storage s, float x) {
  if (s == storage::f32) {
    std::memcpy(static_cast<char*>(data) + i * 4, &x, 4);
    return;
  }
  std::uint16_t const bits = s == storage::bf16 ? to_bf16(x) : to_half(x);
  std::memcpy(static_cast<char*>(data) + i * 2, &bits, 2);
}
inline float rounded_to(float x, storage s) {
  return s == storage::f32 ? x : s == storage::bf16 ? from_bf16(to_bf16(x)) : from_half(to_half(x));
}

}  // namespace dsl_test::simulated
