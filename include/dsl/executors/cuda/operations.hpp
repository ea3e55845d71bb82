// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/cuda/operation.hpp>
#include <dsl/operations/depth_to_space/cuda.hpp>
#include <dsl/operations/merge_pixels/cuda.hpp>
#include <dsl/operations/transpose_tokens/cuda.hpp>

#include <utility>

namespace dsl::cu::TYPENET_MODE {

/// The kernels of an operation; all members are null for an operation without kernels of its own.
struct kernel_row {
  char const* text = nullptr;
  char const* forward = nullptr;  // the names
  char const* backward = nullptr;
};

template <op Kind>
constexpr kernel_row kernel_row_for() {
  if constexpr (requires { own_kernels<Kind>::text; })
    return {own_kernels<Kind>::text, own_kernels<Kind>::forward_kernel, own_kernels<Kind>::backward_kernel};
  else
    return {};
}
template <int... Kinds>
kernel_row const& kernel_row_in(std::integer_sequence<int, Kinds...>, op kind) {
  static constexpr kernel_row rows[] = {kernel_row_for<static_cast<op>(Kinds)>()...};
  return rows[static_cast<int>(kind)];
}
/// Returns the kernels of an operation.
inline kernel_row const& kernel_row_of(op kind) {
  return kernel_row_in(std::make_integer_sequence<int, operations::count>{}, kind);
}

}  // namespace dsl::cu::TYPENET_MODE
