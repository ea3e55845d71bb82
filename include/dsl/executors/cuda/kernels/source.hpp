// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/cuda/operations.hpp>

#include <iterator>
#include <vector>

namespace dsl::cu::TYPENET_MODE {

/// A piece of the kernels' text. Each .cuh file is one string literal, so that no file is needed at run time; tests cut
/// off its first and last line and compile the rest as C++.
struct source_file {
  char const* name;
  char const* text;
};

/// The pieces that several operations share, in the order of their dependencies.
inline constexpr source_file shared_sources[] = {
    {
        "prelude.cuh",
#include <dsl/executors/cuda/kernels/prelude.cuh>
    },
    {
        "tensors.cuh",
#include <dsl/executors/cuda/kernels/tensors.cuh>
    },
    {
        "reduce.cuh",
#include <dsl/executors/cuda/kernels/reduce.cuh>
    },
    {
        "teams.cuh",
#include <dsl/executors/cuda/kernels/teams.cuh>
    },
    {
        "elementwise.cuh",
#include <dsl/executors/cuda/kernels/elementwise.cuh>
    },
    {
        "activation.cuh",
#include <dsl/operations/activation/kernels.cuh>
    },
    {
        "dropout.cuh",
#include <dsl/executors/cuda/kernels/dropout.cuh>
    },
    {
        "batch_norm.cuh",
#include <dsl/executors/cuda/kernels/batch_norm.cuh>
    },
    {
        "batch_norm_backward.cuh",
#include <dsl/executors/cuda/kernels/batch_norm_backward.cuh>
    },
    {
        "frozen_batch_norm.cuh",
#include <dsl/executors/cuda/kernels/frozen_batch_norm.cuh>
    },
    {
        "group_norm.cuh",
#include <dsl/executors/cuda/kernels/group_norm.cuh>
    },
    {
        "group_norm_backward.cuh",
#include <dsl/executors/cuda/kernels/group_norm_backward.cuh>
    },
    {
        "head_norm.cuh",
#include <dsl/executors/cuda/kernels/head_norm.cuh>
    },
    {
        "local_response_norm.cuh",
#include <dsl/executors/cuda/kernels/local_response_norm.cuh>
    },
    {
        "product.cuh",
#include <dsl/executors/cuda/kernels/product.cuh>
    },
    {
        "channel_scale.cuh",
#include <dsl/executors/cuda/kernels/channel_scale.cuh>
    },
    {
        "pool2d.cuh",
#include <dsl/executors/cuda/kernels/pool2d.cuh>
    },
    {
        "movement.cuh",
#include <dsl/executors/cuda/kernels/movement.cuh>
    },
    {
        "upsample2d.cuh",
#include <dsl/executors/cuda/kernels/upsample2d.cuh>
    },
    {
        "tokens.cuh",
#include <dsl/executors/cuda/kernels/tokens.cuh>
    },
    {
        "dense.cuh",
#include <dsl/executors/cuda/kernels/dense.cuh>
    },
    {
        "softmax.cuh",
#include <dsl/executors/cuda/kernels/softmax.cuh>
    },
    {
        "loss.cuh",
#include <dsl/executors/cuda/kernels/loss.cuh>
    },
    {
        "convolution.cuh",
#include <dsl/executors/cuda/kernels/convolution.cuh>
    },
    {
        "weights.cuh",
#include <dsl/executors/cuda/kernels/weights.cuh>
    },
    {
        "towers.cuh",
#include <dsl/executors/cuda/kernels/towers.cuh>
    },
    {
        "input.cuh",
#include <dsl/executors/cuda/kernels/input.cuh>
    },
};

/// Returns all pieces, in the order of their dependencies.
inline std::vector<source_file> kernel_sources() {
  std::vector<source_file> all(std::begin(shared_sources), std::end(shared_sources));
  for (int i = 0; i < operations::count; ++i)
    if (char const* const text = kernel_row_of(static_cast<op>(i)).text)
      all.push_back({operations::table[i].name, text});
  return all;
}

}  // namespace dsl::cu::TYPENET_MODE
