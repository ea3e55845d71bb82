// SPDX-License-Identifier: MIT
#pragma once

// The executor's own kernels. Each has a function that makes its spec from plain numbers.
#include <dsl/executors/cuda/kernels/spec.hpp>
#include <dsl/executors/cuda/kernels/input.hpp>
#include <dsl/executors/cuda/kernels/convolution.hpp>
#include <dsl/executors/cuda/kernels/batch_norm.hpp>
#include <dsl/executors/cuda/kernels/group_norm.hpp>
#include <dsl/executors/cuda/kernels/head_norm.hpp>
#include <dsl/executors/cuda/kernels/local_response_norm.hpp>
#include <dsl/executors/cuda/kernels/product.hpp>
#include <dsl/executors/cuda/kernels/channel_scale.hpp>
#include <dsl/executors/cuda/kernels/pool2d.hpp>
#include <dsl/executors/cuda/kernels/elementwise.hpp>
#include <dsl/executors/cuda/kernels/movement.hpp>
#include <dsl/executors/cuda/kernels/upsample2d.hpp>
#include <dsl/executors/cuda/kernels/tokens.hpp>
#include <dsl/executors/cuda/kernels/classifier.hpp>
#include <dsl/executors/cuda/kernels/weights.hpp>
#include <dsl/executors/cuda/kernels/towers.hpp>
#include <dsl/executors/cuda/operations.hpp>
