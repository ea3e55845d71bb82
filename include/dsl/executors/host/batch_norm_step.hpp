// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/host/tower.hpp>

namespace dsl::host::TYPENET_MODE {

/// The sums of a tensor's values and of their squares, which were computed when the tensor was written. They are
/// (record, channel block, 2, lane), or null if they were not computed.
struct summed_moments {
  double const* data = nullptr;
  int records = 0;
};

/// The arguments of a batch_norm's step, forward or backward.
template <class T>
struct batch_norm_step {
  host::tower<T>* tower = nullptr;  // if several towers take moments over the whole batch, else null
  view<T const> x{};
  view<T const> dy{};  // for the backward pass
  view<T> to{};        // y or dx; without data dx is not needed
  batch_norm_parameters<T> parameters{};
  T* statistics = nullptr;       // means, then 1 / sqrt(variance + epsilon); null outside of training
  T* scale_and_shift = nullptr;  // where to save them, C numbers each, or, if `again`, where they are; null: not saved
  T* dgamma = nullptr;
  T* dbeta = nullptr;
  double epsilon = 0;
  double momentum = 0;
  int whole = 0;          // number of samples of all towers
  summed_moments made{};  // the sums of x
  bool unbiased = false;
  bool relu = false;
  bool again = false;  // computes its output a second time
  bool accumulate = false;
};

}  // namespace dsl::host::TYPENET_MODE
