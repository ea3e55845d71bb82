// SPDX-License-Identifier: MIT
#pragma once

namespace dsl {

/// The distribution of a kernel's initial values, which may depend on the kernel's fan_in and fan_out. Normal
/// distributions are truncated at twice their standard deviation, as in Keras. For glorot_normal and he_normal, the
/// deviation is that after truncation.
enum class distribution : unsigned char {
  glorot_uniform,    // in +-sqrt(6 / (fan_in + fan_out)) (Glorot & Bengio 2010)
  glorot_normal,     // deviation sqrt(2 / (fan_in + fan_out))
  he_uniform,        // in +-sqrt(6 / fan_in) (He et al. 2015)
  he_normal,         // deviation sqrt(2 / fan_in)
  truncated_normal,  // deviation `number` before truncation, like Keras's TruncatedNormal and PyTorch's trunc_normal_
  constant,          // `number`
};

/// The initial values of a kernel: the distribution, and the number that some distributions need.
struct initializer {
  distribution kind = distribution::glorot_uniform;
  double number = 0;
};

}  // namespace dsl
