// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/custom_loss.hpp>
#include <dsl/view.hpp>

#include <cstddef>
#include <span>
#include <vector>

namespace dsl::host::TYPENET_MODE {

/// Computes the same as compute_value_loss for a loss that is defined outside the library. `numbers` is memory for one
/// sample, which this function resizes.
template <class T>
void compute_custom_loss(custom_loss const& own, view<T const> y, float const* wanted, double* metrics,
                         view<T> gradient, std::vector<double>& numbers, int whole = 0, bool adds = false,
                         float const* weights = nullptr, double factor = 1, bool accumulates = false) {
  auto const outputs = static_cast<std::size_t>(y.shape.size());
  numbers.resize(3 * outputs);
  std::span<double> const sample(numbers.data(), outputs), target(sample.data() + outputs, outputs),
      slopes(target.data() + outputs, outputs);
  double const equal = factor / (whole > 0 ? whole : y.batch);
  if (!adds) metrics[0] = metrics[1] = 0;
  for (int n = 0; n < y.batch; ++n) {
    double const weight = weights ? static_cast<double>(weights[n]) : 1;
    std::size_t k = 0;
    for (int c = 0; c < y.shape.channels; ++c)
      for (long long i = 0; i < y.shape.area(); ++i, ++k) {
        sample[k] = static_cast<double>(y(n, c, i));
        target[k] = static_cast<double>(*wanted++);
        slopes[k] = 0;
      }
    metrics[0] += weight * own.value(sample, target);
    if (!gradient.data) continue;
    own.derivative(sample, target, slopes);
    k = 0;
    for (int c = 0; c < y.shape.channels; ++c)
      for (long long i = 0; i < y.shape.area(); ++i, ++k) {
        auto const slope = static_cast<T>(slopes[k] * weight * equal);
        T& to = gradient(n, c, i);
        to = accumulates ? to + slope : slope;
      }
  }
}

}  // namespace dsl::host::TYPENET_MODE
