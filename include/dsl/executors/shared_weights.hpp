// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/data/normalization.hpp>
#include <dsl/detail/mode.hpp>

#include <memory>

namespace dsl::TYPENET_MODE {

/// The weights of an engine, which further engines may read: engine::weights() returns them, and
/// engine_options::weights passes them on. While several owners hold them, they cannot change: training and
/// write_parameter throw an option_error. Executors derive their own class.
class shared_weights {
 public:
  shared_weights() = default;
  shared_weights(shared_weights const&) = delete;
  shared_weights& operator=(shared_weights const&) = delete;
  virtual ~shared_weights() = default;

  /// Returns the bytes of the parameters and running statistics, and of the packed kernels that the engines share. An
  /// engine's arena_bytes() and executor_bytes() contain them.
  virtual long long bytes() const = 0;
  /// Whether the weights have been written or trained.
  virtual bool written() const = 0;

  /// The normalisation of the data that the weights were trained on; null: unknown. engine::set_normalization writes
  /// it.
  std::shared_ptr<dsl::normalization const> normalization{};
};

}  // namespace dsl::TYPENET_MODE
