// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/host/tower.hpp>

namespace dsl::host::TYPENET_MODE {

/// Sums of a tensor's numbers and of their squares, which have been made when it was written: (record, channel block,
/// 2, lane). Null: there are none.
struct summed_moments {
  double const* data = nullptr;
  int records = 0;
};

/// What a batch_norm's step reads and writes, forward or backward.
template <class T>
struct batch_norm_step {
  host::tower<T>* tower = nullptr;  // of several that take the moments of the whole batch, else null
  view<T const> x{};
  view<T const> dy{};  // in the backward pass
  view<T> to{};        // y or dx; without data nobody wants dx
  batch_norm_parameters<T> parameters{};
  T* statistics = nullptr;  // means, then 1 / sqrt(variance + epsilon); null but in training
  T* dgamma = nullptr;
  T* dbeta = nullptr;
  double epsilon = 0;
  double momentum = 0;
  int whole = 0;          // samples of all towers together
  summed_moments made{};  // of x
  bool unbiased = false;
  bool relu = false;
  bool accumulate = false;
};

}  // namespace dsl::host::TYPENET_MODE
