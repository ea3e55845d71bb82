// SPDX-License-Identifier: MIT
#pragma once

namespace dsl_test {

/// Registers all kernels with the simulated device. tests/cuda/kernels_test.cpp finds a missing one.
void add_all_kernels();

}  // namespace dsl_test
