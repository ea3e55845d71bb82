// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/operations/activation/facts.hpp>
#include <dsl/operations/add/facts.hpp>
#include <dsl/operations/batch_norm/facts.hpp>
#include <dsl/operations/concat/facts.hpp>
#include <dsl/operations/conv2d/facts.hpp>
#include <dsl/operations/custom/facts.hpp>
#include <dsl/operations/dense/facts.hpp>
#include <dsl/operations/dropout/facts.hpp>
#include <dsl/operations/flatten/facts.hpp>
#include <dsl/operations/input/facts.hpp>
#include <dsl/operations/multiply/facts.hpp>
#include <dsl/operations/pool2d/facts.hpp>
#include <dsl/operations/softmax/facts.hpp>
#include <dsl/operations/transfer/facts.hpp>

namespace dsl::operations {

/// The row of each operation, by enum class op. An op::activation has that of its function, in `activations`.
inline constexpr row table[] = {
    input,   conv2d, batch_norm, activations[0], max_pool2d, avg_pool2d, dropout, flatten, dense,
    softmax, concat, add,        custom,         transfer,   multiply,
};

}  // namespace dsl::operations
