// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/math.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/view.hpp>

#include <cstdint>

namespace dsl::host::TYPENET_MODE {

/// Sums the pixels' cross-entropies in metrics[0] and their correct predictions in metrics[1], in double and in the
/// order of the pixels. The channels of y are classes; labels are (samples, height, width), and a pixel with label -1
/// does not count and gets no gradient. The mean is over all pixels of the whole batch that have a class, whose number
/// is `labelled`, as with PyTorch's ignore_index and Keras's ignore_class. `weights` has one number per pixel. For the
/// other arguments see compute_loss.
template <class T>
[[gnu::cold]] void compute_pixel_loss(bool from_logits, view<T const> y, std::int32_t const* labels, double* metrics,
                                      view<T> gradient, long long labelled, bool adds, double smoothing,
                                      float const* weights = nullptr, double factor = 1, bool accumulates = false) {
  int const classes = y.shape.channels;
  double const targets[2] = {smoothing / classes, 1 - smoothing + smoothing / classes};  // other classes, the label
  double const least = from_logits ? 1e-37 : 1e-7;
  T const equal = labelled > 0 ? static_cast<T>(factor) / static_cast<T>(labelled) : T(0);
  if (!adds) metrics[0] = metrics[1] = 0;
  for (int n = 0; n < y.batch; ++n)
    for (long long i = 0; i < y.shape.area(); ++i) {
      int const label = *labels++;
      double const weight = weights ? static_cast<double>(*weights++) : 1;
      T const share = weights ? equal * static_cast<T>(weight) : equal;
      int best = 0;
      for (int c = 0; c < classes; ++c) {
        T const p = y(n, c, i);
        if (p > y(n, best, i)) best = c;
        double const target = label < 0 ? 0 : targets[c == label];
        if (target > 0) {
          auto const known = static_cast<double>(p);
          metrics[0] -= weight * target * detail::log(known < least ? least : known);  // NaN stays NaN
        }
        if (!gradient.data) continue;
        T const wanted = static_cast<T>(target);
        T slope = 0;
        if (label >= 0 && from_logits)
          slope = (p - wanted) * share;
        else if (label >= 0 && target > 0)
          slope = -wanted * share / (p < T(1e-7) ? T(1e-7) : p);
        T& to = gradient(n, c, i);
        to = accumulates ? to + slope : slope;
      }
      metrics[1] += label >= 0 && best == label ? 1 : 0;
    }
}

}  // namespace dsl::host::TYPENET_MODE
