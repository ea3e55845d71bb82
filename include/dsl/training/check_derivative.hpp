// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/training/any_loss.hpp>

#include <span>

namespace dsl::TYPENET_MODE {

/// Compares the derivative of your own loss with finite differences of its value, at samples of `outputs` numbers
/// each:
///   dsl::check_derivative(log_cosh{}, std::vector{0.5, -2.0, 1.0, 0.25}, std::vector{0.0, 1.0, 3.0, 0.5}, 2);
/// A derivative passes if it differs by at most `tolerance` times the largest of 1, the loss and the derivative. With
/// the default tolerance, the third derivative of the loss must be below about 10^4. Leave out points where the loss is
/// not differentiable, such as y = t of |y - t|. Throws an option_error that names the sample, the output and both
/// numbers; likewise if a value or a derivative is not finite, if the loss is one of the library's, or if the counts do
/// not fit each other.
void check_derivative(any_loss const& own, std::span<double const> y, std::span<double const> t, int outputs = 1,
                      double tolerance = 1e-6);

}  // namespace dsl::TYPENET_MODE

#ifdef TYPENET_DEFINITIONS
#include <dsl/training/check_derivative_inl.hpp>
#endif
