// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/math.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/view.hpp>

#include <cstdint>

namespace dsl::host::TYPENET_MODE {

/// A loss that is the mean of the pixels' cross-entropies. compute_pixel_loss explains the members.
template <class T>
struct pixel_loss {
  bool from_logits;
  view<T const> y;
  std::int32_t const* labels;
  view<T> gradient;
  double smoothing;
  float const* weights;
  bool accumulates;
  T equal;  // the gradient's factor for a pixel of weight 1

  pixel_loss(bool logits, view<T const> const& in, std::int32_t const* classes, view<T> const& to, long long labelled,
             double smooth, float const* pixel_weights, double factor, bool adds)
      : from_logits(logits),
        y(in),
        labels(classes),
        gradient(to),
        smoothing(smooth),
        weights(pixel_weights),
        accumulates(adds),
        equal(labelled > 0 ? static_cast<T>(factor) / static_cast<T>(labelled) : T(0)) {}

  /// Adds the losses and the correct predictions of pixels [first, last) of sample n to two sums.
  void add(int n, long long first, long long last, double* metrics) const {
    int const classes = y.shape.channels;
    double const targets[2] = {smoothing / classes, 1 - smoothing + smoothing / classes};  // other classes, the label
    double const least = from_logits ? 1e-37 : 1e-7;
    for (long long i = first; i < last; ++i) {
      long long const at = n * y.shape.area() + i;
      int const label = labels[at];
      double const weight = weights ? static_cast<double>(weights[at]) : 1;
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
};

/// Sums the pixels' cross-entropies in metrics[0] and their correct predictions in metrics[1], in double and in the
/// order of the pixels. The channels of y are classes; labels are (samples, height, width), and a pixel with label -1
/// does not count and gets no gradient. The mean is over all pixels of the whole batch that have a class, whose number
/// is `labelled`, as with PyTorch's ignore_index and Keras's ignore_class. `weights` has one number per pixel. For the
/// other arguments see compute_loss.
template <class T>
void compute_pixel_loss(bool from_logits, view<T const> y, std::int32_t const* labels, double* metrics,
                        view<T> gradient, long long labelled, bool adds, double smoothing,
                        float const* weights = nullptr, double factor = 1, bool accumulates = false) {
  pixel_loss<T> const loss(from_logits, y, labels, gradient, labelled, smoothing, weights, factor, accumulates);
  if (!adds) metrics[0] = metrics[1] = 0;
  for (int n = 0; n < y.batch; ++n) loss.add(n, 0, y.shape.area(), metrics);
}

}  // namespace dsl::host::TYPENET_MODE
