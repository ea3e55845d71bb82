// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/detail/name.hpp>

#include <span>

namespace dsl::TYPENET_MODE {

/// A loss defined outside the library, in the form in which executors call it. A call is for one sample, whose outputs
/// y and target values t are in the order channel, row, column. Several threads may call it at the same time. compile()
/// makes a custom_loss if its option `loss` is a type that you have defined.
class custom_loss {
 public:
  virtual ~custom_loss() = default;
  /// Returns the loss of a sample; training minimises the mean over the samples.
  virtual double value(std::span<double const> y, std::span<double const> t) const = 0;
  /// Adds the derivative of value() with respect to each output to the elements of `to`, which are 0 before the call.
  virtual void derivative(std::span<double const> y, std::span<double const> t, std::span<double> to) const = 0;
  /// Returns the name of the loss's type.
  virtual detail::name name() const = 0;

  custom_loss(custom_loss const&) = delete;
  custom_loss& operator=(custom_loss const&) = delete;

 protected:
  custom_loss() = default;
};

}  // namespace dsl::TYPENET_MODE
