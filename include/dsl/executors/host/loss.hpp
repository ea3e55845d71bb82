// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/math.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/plan/plan.hpp>
#include <dsl/view.hpp>

#include <cstdint>

namespace dsl::host::TYPENET_MODE {

/// Sums the samples' losses in metrics[0] and their correct predictions in metrics[1], in double and in the order of
/// the samples. If `gradient` is given, it receives d(mean loss)/d(logits) if from_logits is true, otherwise d(mean
/// loss)/dy. y is (B, outputs); the mean is over `whole` samples, or B if that is 0. With `adds`, the sums are added to
/// those of earlier micro-batches. Without a softmax before it, cross-entropy clamps probabilities to at least 1e-7, as
/// Keras does, so that loss and gradient stay finite; Keras also divides by their sum. `smoothing`: the target of
/// cross-entropy is (1 - smoothing) onehot + smoothing / outputs, as with Keras's and PyTorch's label_smoothing
/// (Szegedy et al. 2016). `weights` multiply the samples' losses, as Keras's class_weight and sample_weight do; the
/// mean divides by the number of samples, whatever their weights. For one of several outputs, `factor` multiplies the
/// gradient, but not the sums. With `accumulates`, the gradient is added to the gradient that the loss of another
/// output has written.
template <class T>
void compute_loss(loss kind, bool from_logits, view<T const> y, std::int32_t const* labels, double* metrics,
                  view<T> gradient, int whole = 0, bool adds = false, double smoothing = 0,
                  float const* weights = nullptr, double factor = 1, bool accumulates = false) {
  int const outputs = static_cast<int>(y.shape.size());
  long long const area = y.shape.area();
  T const equal = static_cast<T>(factor) / static_cast<T>(whole > 0 ? whole : y.batch);
  double const targets[2] = {smoothing / outputs, 1 - smoothing + smoothing / outputs};  // other classes, the label
  double const least = from_logits ? 1e-37 : 1e-7;
  bool const squared = kind == loss::mean_squared_error;
  if (!adds) metrics[0] = metrics[1] = 0;
  for (int n = 0; n < y.batch; ++n) {
    int best = 0;
    double cost = 0;
    double const weight = weights ? static_cast<double>(weights[n]) : 1;
    T const share = weights ? equal * static_cast<T>(weight) : equal;
    auto const value = [&](int i) -> T { return y(n, static_cast<int>(i / area), i % area); };
    for (int i = 0; i < outputs; ++i) {
      if (value(i) > value(best)) best = i;
      double const target = targets[i == labels[n]];
      T const wanted = static_cast<T>(target);
      if (squared) {
        double const d = static_cast<double>(value(i) - wanted);
        cost += d * d;
      } else if (target > 0) {
        double const p = static_cast<double>(value(i));
        cost -= target * detail::log(p < least ? least : p);  // NaN stays NaN
      }
      if (!gradient.data) continue;
      T slope = 0;
      if (squared)
        slope = T(2) * (value(i) - wanted) * share / static_cast<T>(outputs);
      else if (from_logits)
        slope = (value(i) - wanted) * share;
      else if (target > 0)
        slope = -wanted * share / (value(i) < T(1e-7) ? T(1e-7) : value(i));
      T& to = gradient(n, static_cast<int>(i / area), i % area);
      to = accumulates ? to + slope : slope;
    }
    metrics[0] += weight * (squared ? cost / outputs : cost);
    metrics[1] += best == labels[n] ? 1 : 0;
  }
}

}  // namespace dsl::host::TYPENET_MODE
