// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/math.hpp>
#include <dsl/detail/message.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/error.hpp>
#include <dsl/training/any_loss.hpp>
#include <dsl/training/check_derivative.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace dsl::TYPENET_MODE {

TYPENET_INLINE void check_derivative(any_loss const& own, std::span<double const> y, std::span<double const> t,
                                     int outputs, double tolerance) {
  if (!own.own())
    detail::throw_error<option_error>(
        {"check_derivative: it takes a loss of your own; found one of dsl::loss, whose derivatives typenet's own "
         "tests check"});
  if (outputs < 1 || y.empty() || y.size() != t.size() || y.size() % static_cast<std::size_t>(outputs) != 0)
    detail::throw_error<option_error>({"check_derivative: there must be a target for each output, and ", outputs,
                                       " outputs per sample; found ", static_cast<long long>(y.size()), " outputs and ",
                                       static_cast<long long>(t.size()), " targets"});
  custom_loss const& loss = *own.own();
  auto const size = [](double x) { return x < 0 ? -x : x; };
  auto const each = static_cast<std::size_t>(outputs);
  std::vector<double> at(each), slopes(each);
  for (std::size_t first = 0; first < y.size(); first += each) {
    std::span<double const> const target = t.subspan(first, each);
    at.assign(y.begin() + static_cast<std::ptrdiff_t>(first), y.begin() + static_cast<std::ptrdiff_t>(first + each));
    slopes.assign(each, 0);
    double const value = loss.value(at, target);
    loss.derivative(at, target, slopes);
    for (std::size_t i = 0; i < each; ++i) {
      // the error is h^2 / 6 of the third derivative and, by rounding, 2^-52 of the value / h
      double const before = at[i], h = 6e-6 * (size(before) > 1 ? size(before) : 1);
      at[i] = before + h;
      double const above = loss.value(at, target);
      double const right = at[i];
      at[i] = before - h;
      double const below = loss.value(at, target);
      double const difference = (above - below) / (right - at[i]);
      at[i] = before;
      double scale = 1;
      for (double const x : {size(value), size(slopes[i])}) scale = x > scale ? x : scale;
      if (detail::isfinite(value) && size(slopes[i] - difference) <= tolerance * scale) continue;
      detail::throw_error<option_error>(
          {"check_derivative: ", std::string(loss.name().data, static_cast<std::size_t>(loss.name().size)),
           ": derivative() must return the derivative of value(); found ", slopes[i], " instead of ", difference,
           " for output ", static_cast<long long>(i), " of sample ", static_cast<long long>(first / each),
           ", where y is ", before, ", its target ", target[i], " and the loss of the sample ", value,
           "; correct derivative() or value()"});
    }
  }
}

}  // namespace dsl::TYPENET_MODE
