// SPDX-License-Identifier: MIT
#pragma once

namespace dsl_test {

/// Makes all kernels known to the simulated device. tests/cuda/kernels_test.cpp finds one that is missing there.
void add_all_kernels();

}  // namespace dsl_test
