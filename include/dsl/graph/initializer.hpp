// SPDX-License-Identifier: MIT
#pragma once

namespace dsl {

/// What a kernel's first values are drawn from, by its fan_in and fan_out. Normal distributions are cut off at twice
/// the deviation that they are drawn with, as Keras's are; that of what is left is the one named here.
enum class distribution : unsigned char {
  glorot_uniform,    // in +-sqrt(6 / (fan_in + fan_out)) (Glorot & Bengio 2010)
  glorot_normal,     // deviation sqrt(2 / (fan_in + fan_out))
  he_uniform,        // in +-sqrt(6 / fan_in) (He et al. 2015)
  he_normal,         // deviation sqrt(2 / fan_in)
  truncated_normal,  // drawn with the deviation `number`, as Keras's TruncatedNormal and PyTorch's trunc_normal_ at 2
  constant,          // `number`
};

/// How a kernel's first values are made: from which distribution, with the number that the distribution may need.
struct initializer {
  distribution kind = distribution::glorot_uniform;
  double number = 0;
};

}  // namespace dsl
