// SPDX-License-Identifier: MIT
#pragma once

// The executor's own kernels as C++: the files that NVRTC compiles, without their first and last line. CMake removes
// those (kernels_as_host.cmake) and writes the rest to a folder typenet_kernels/ on the include path.

#define DSL_SIMULATED 1
#include "support/simulated_device/indices.hpp"
#include <typenet_kernels/prelude.cuh>
#include <typenet_kernels/tensors.cuh>
#include <typenet_kernels/reduce.cuh>
#include <typenet_kernels/teams.cuh>
#include <typenet_kernels/elementwise.cuh>
#include <typenet_kernels/activation.cuh>
#include <typenet_kernels/dropout.cuh>
#include <typenet_kernels/batch_norm.cuh>
#include <typenet_kernels/batch_norm_backward.cuh>
#include <typenet_kernels/frozen_batch_norm.cuh>
#include <typenet_kernels/group_norm.cuh>
#include <typenet_kernels/group_norm_backward.cuh>
#include <typenet_kernels/head_norm.cuh>
#include <typenet_kernels/local_response_norm.cuh>
#include <typenet_kernels/product.cuh>
#include <typenet_kernels/channel_scale.cuh>
#include <typenet_kernels/pool2d.cuh>
#include <typenet_kernels/movement.cuh>
#include <typenet_kernels/upsample2d.cuh>
#include <typenet_kernels/tokens.cuh>
#include <typenet_kernels/dense.cuh>
#include <typenet_kernels/softmax.cuh>
#include <typenet_kernels/loss.cuh>
#include <typenet_kernels/convolution.cuh>
#include <typenet_kernels/weights.cuh>
#include <typenet_kernels/towers.cuh>
#include <typenet_kernels/input.cuh>
#include <typenet_kernels/operations.cuh>
#undef KERNEL
#undef DEVICE
#undef SHARED
#undef UNROLL
#undef MATH
