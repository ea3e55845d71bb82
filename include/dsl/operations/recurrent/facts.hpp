// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/operations/operation.hpp>

namespace dsl::operations {

/// A recurrent layer over a sequence. At each position, the gates are computed from the input at that position and from
/// the layer's own output at the previous position. The kernels are (gates * units, channels) and (gates * units,
/// units), with a bias for each row of both, as in PyTorch. The output is that of every position, or only that of the
/// last one. Training saves `saved_numbers` for each unit and position, so that the backward step computes no gate
/// again.
inline constexpr row lstm{.name = "lstm",
                          .parameters = 4,
                          .roles = {role::kernel, role::recurrent_kernel, role::bias, role::recurrent_bias},
                          .output = makes::unrolled,
                          .reads = {values::first_input},
                          .parameters_read = 0b0011,
                          .kept = kept::states,
                          .slices = slices::always};

/// The gated recurrent unit, whose facts have the same form as those of lstm.
inline constexpr row gru{.name = "gru",
                         .parameters = 4,
                         .roles = {role::kernel, role::recurrent_kernel, role::bias, role::recurrent_bias},
                         .output = makes::unrolled,
                         .reads = {values::first_input},
                         .parameters_read = 0b0011,
                         .kept = kept::states,
                         .slices = slices::always};

/// The saved numbers of a unit at one position: an lstm's gates i, f, g and o and its cell; a gru's gates n, r and z,
/// the recurrent part of n before r multiplies it, and the output.
inline constexpr int saved_numbers = 5;

}  // namespace dsl::operations
