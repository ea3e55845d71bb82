// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/data/normalization.hpp>
#include <dsl/detail/mode.hpp>

#include <memory>

namespace dsl::TYPENET_MODE {

/// The weights of an engine, which other engines can use, too: engine::weights() returns them, and
/// engine_options::weights passes them to another engine. While several engines or other owners hold the weights, these
/// cannot change: training and write_parameter throw an option_error. Each executor derives its own class.
class shared_weights {
 public:
  shared_weights() = default;
  shared_weights(shared_weights const&) = delete;
  shared_weights& operator=(shared_weights const&) = delete;
  virtual ~shared_weights() = default;

  /// Returns the bytes of the parameters, the running statistics, and the packed kernels that the engines share. The
  /// results of an engine's arena_bytes() and executor_bytes() include these bytes.
  virtual long long bytes() const = 0;
  /// Whether the weights have been set, by writing or by training.
  virtual bool written() const = 0;

  /// The normalisation of the data that the weights were trained on, or null if it is not known.
  /// engine::set_normalization() sets it.
  std::shared_ptr<dsl::normalization const> normalization{};
};

}  // namespace dsl::TYPENET_MODE
