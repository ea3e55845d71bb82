// SPDX-License-Identifier: MIT
#pragma once

// Several GPUs, one process each: target typenet::nccl.
#include <dsl/executors/cuda/nccl_api.hpp>
#include <dsl/executors/cuda/nccl_aside.hpp>
#include <dsl/executors/cuda/nccl_communicator.hpp>
