// SPDX-License-Identifier: MIT
#pragma once

namespace dsl {

/// The elementwise functions of op::activation. alpha is the slope of leaky_relu and the scale of elu. Files
/// and the kernels of cuda store these numbers, so new functions must be added at the end.
enum class function : unsigned char {
  relu,
  leaky_relu,
  elu,
  sigmoid,
  tanh,
  silu,
  relu6,
  hard_sigmoid,
  hard_swish,
  gelu,
  gelu_tanh,
  mish,
  softplus,
  hard_tanh,
};

}  // namespace dsl
