// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/detail/name.hpp>

#include <span>

namespace dsl::TYPENET_MODE {

/// A loss defined outside the library, as executors call it: for one sample at a time, whose outputs y and target
/// values t are in the order channel, row, column. Several threads may call it at the same time. compile() makes one
/// from the type that is its option `loss`.
class custom_loss {
 public:
  virtual ~custom_loss() = default;
  /// Returns the loss of a sample; training minimises the mean over the samples.
  virtual double value(std::span<double const> y, std::span<double const> t) const = 0;
  /// Adds the derivative of value() with respect to each output to `to`, which is 0 before the call.
  virtual void derivative(std::span<double const> y, std::span<double const> t, std::span<double> to) const = 0;
  /// Returns the name of the loss's type.
  virtual detail::name name() const = 0;

  custom_loss(custom_loss const&) = delete;
  custom_loss& operator=(custom_loss const&) = delete;

 protected:
  custom_loss() = default;
};

}  // namespace dsl::TYPENET_MODE
