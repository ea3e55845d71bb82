// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>

namespace dsl::cu::TYPENET_MODE {

/// The arithmetic and the storage of tensors. bf16 uses 16-bit tensors and tensor cores. tf32 uses float tensors, and
/// tensor cores round factors to 10 bits of mantissa. fp32_strict uses float throughout. Sums, statistics, parameters,
/// gradients and losses are always float.
enum class precision : unsigned char { bf16, tf32, fp32_strict };

/// The type of activations, their gradients and the working copy of the weights; arithmetic is always float.
enum class storage : unsigned char { bf16, f32 };

constexpr storage storage_of(precision p) { return p == precision::bf16 ? storage::bf16 : storage::f32; }
constexpr int bytes_of(storage t) { return t == storage::bf16 ? 2 : 4; }
/// Returns the type's name in the kernels' text.
constexpr char const* name_of(storage t) { return t == storage::bf16 ? "bf16" : "float"; }

}  // namespace dsl::cu::TYPENET_MODE
