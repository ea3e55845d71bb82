// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/math.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/plan/plan.hpp>
#include <dsl/view.hpp>

namespace dsl::host::TYPENET_MODE {

/// The loss and its derivative at one output.
struct value_loss {
  double cost = 0;
  double slope = 0;
};

/// Returns the loss of an output y with the target `wanted`, as dsl::loss defines it for each kind. binary_crossentropy
/// clamps outputs to 1e-7 ... 1 - 1e-7, as Keras does, so that loss and derivative stay finite. If from_logits is true,
/// y is the result of a sigmoid, and the slope is the derivative with respect to the sigmoid's input, which is exact
/// for every y; the cost of an output that a float cannot distinguish from 1 is -log(2^-25).
inline value_loss value_loss_at(loss kind, bool from_logits, double y, double wanted) {
  double const d = y - wanted;
  double const distance = d < 0 ? -d : d;
  double const sign = d > 0 ? 1 : d < 0 ? -1 : d;  // NaN stays NaN
  switch (kind) {
    case loss::mean_absolute_error: return {distance, sign};
    case loss::huber: return distance <= 1 ? value_loss{d * d / 2, d} : value_loss{distance - 0.5, sign};
    case loss::binary_crossentropy: {
      double const least = from_logits ? 0x1p-25 : 1e-7;
      double const p = y < least ? least : y > 1 - least ? 1 - least : y;
      double const cost = -(wanted * detail::log(p) + (1 - wanted) * detail::log(1 - p));
      return {cost, from_logits ? d : (p - wanted) / (p * (1 - p))};
    }
    default: return {d * d, 2 * d};
  }
}

/// Sums the samples' losses, each the mean over its outputs, in metrics[0], in double and in order, and the number that
/// batch_metrics calls `correct` in metrics[1]. `wanted` is (samples, outputs) in NCHW. `gradient`, if it has memory,
/// receives d(mean loss)/dy or d(mean loss)/d(logits); for the other arguments see compute_loss.
template <class T>
void compute_value_loss(loss kind, bool from_logits, view<T const> y, float const* wanted, double* metrics,
                        view<T> gradient, int whole = 0, bool adds = false, float const* weights = nullptr,
                        double factor = 1, bool accumulates = false) {
  bool const binary = kind == loss::binary_crossentropy;
  auto const outputs = static_cast<double>(y.shape.size());
  double const equal = factor / (outputs * (whole > 0 ? whole : y.batch));
  if (!adds) metrics[0] = metrics[1] = 0;
  for (int n = 0; n < y.batch; ++n) {
    double cost = 0;
    long long right = 0;
    double const weight = weights ? static_cast<double>(weights[n]) : 1;
    double const share = weight * equal;
    for (int c = 0; c < y.shape.channels; ++c)
      for (long long i = 0; i < y.shape.area(); ++i) {
        double const target = static_cast<double>(*wanted++);
        auto const output = static_cast<double>(y(n, c, i));
        value_loss const at = value_loss_at(kind, from_logits, output, target);
        cost += at.cost;
        right += binary && (output > 0.5) == (target > 0.5) ? 1 : 0;
        if (!gradient.data) continue;
        auto const slope = static_cast<T>(at.slope * share);
        T& to = gradient(n, c, i);
        to = accumulates ? to + slope : slope;
      }
    metrics[0] += weight * cost / outputs;
    metrics[1] += static_cast<double>(right) / outputs;
  }
}

}  // namespace dsl::host::TYPENET_MODE
