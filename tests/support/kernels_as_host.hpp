// SPDX-License-Identifier: MIT
#pragma once

// The executor's own kernels as C++: the very files that NVRTC compiles, without their first and last line. CMake cuts
// those off (kernels_as_host.cmake) and puts the rest into a folder typenet_kernels/ on the include path.

#define DSL_SIMULATED 1
#include "support/simulated_device/indices.hpp"
#include <typenet_kernels/prelude.cuh>
#include <typenet_kernels/tensors.cuh>
#include <typenet_kernels/reduce.cuh>
#include <typenet_kernels/elementwise.cuh>
#include <typenet_kernels/dropout.cuh>
#include <typenet_kernels/batch_norm.cuh>
#include <typenet_kernels/batch_norm_backward.cuh>
#include <typenet_kernels/pool2d.cuh>
#include <typenet_kernels/dense.cuh>
#include <typenet_kernels/softmax.cuh>
#include <typenet_kernels/loss.cuh>
#include <typenet_kernels/convolution.cuh>
#include <typenet_kernels/weights.cuh>
#include <typenet_kernels/towers.cuh>
#include <typenet_kernels/input.cuh>
#undef KERNEL
#undef DEVICE
#undef SHARED
#undef UNROLL
#undef MATH

#include "support/simulated_device/kernels.hpp"

namespace dsl_test {

/// Makes all kernels known to the simulated device. tests/cuda/kernels_test.cpp finds one that is missing here.
inline void add_all_kernels() {
#define TYPENET_ADD(name)                                           \
  add_kernel(#name, "bf16", &dsl_kernels::name<dsl_kernels::bf16>); \
  add_kernel(#name, "float", &dsl_kernels::name<float>);
  TYPENET_ADD(sum)
  TYPENET_ADD(reshape)
  TYPENET_ADD(activation_forward)
  TYPENET_ADD(activation_backward)
  TYPENET_ADD(dropout)
  TYPENET_ADD(add_bias)
  TYPENET_ADD(narrow)
  TYPENET_ADD(widen)
  TYPENET_ADD(channel_sums)
  TYPENET_ADD(batch_norm_statistics)
  TYPENET_ADD(batch_norm_apply)
  TYPENET_ADD(batch_norm_gradients)
  TYPENET_ADD(batch_norm_backward)
  TYPENET_ADD(max_pool2d_forward)
  TYPENET_ADD(max_pool2d_backward)
  TYPENET_ADD(avg_pool2d_forward)
  TYPENET_ADD(avg_pool2d_backward)
  TYPENET_ADD(dense_forward)
  TYPENET_ADD(dense_backward_weights)
  TYPENET_ADD(dense_backward_data)
  TYPENET_ADD(softmax_forward)
  TYPENET_ADD(softmax_backward)
  TYPENET_ADD(loss)
  TYPENET_ADD(softmax_loss)
  TYPENET_ADD(convolution_forward)
  TYPENET_ADD(convolution_backward_data)
  TYPENET_ADD(convolution_backward_weights)
  TYPENET_ADD(measure)
  TYPENET_ADD(update)
  TYPENET_ADD(fold_batch_norm)
  TYPENET_ADD(widen_staged)
  TYPENET_ADD(move_moments)
  TYPENET_ADD(join_moments)
  TYPENET_ADD(load_pictures)
  TYPENET_ADD(gather_pictures)
#undef TYPENET_ADD
}

}  // namespace dsl_test
