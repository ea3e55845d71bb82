R"cuda(
// SPDX-License-Identifier: MIT
// The loss of executors/host/loss.hpp, with one block per sample. The block that finishes last adds up the metrics of
// the batch.

namespace dsl_kernels {

struct loss_shape {
  int batch, outputs, area, threads;  // outputs = channels * area
  int whole;                          // number of samples over which the loss is the mean
  int squared;                        // 1: mean_squared_error, 0: categorical_crossentropy
  int from_logits;                    // the gradient is with respect to the logits of y
  int wants_gradient;
  float on, off;    // the targets of the label's output and of the other outputs
  float smoothing;  // smoothing of the labels; if 0, on is 1 and off is 0
  slice x, y, gradient;
};

// The label of a sample that only fills the batch. It counts neither for the loss nor as correct.
constexpr int no_sample = -2147483647 - 1;

struct choice {
  float value;
  int index;
};

// value(i) is output i of this block's sample, in the order (channel, row, column).
template <class T, class F>
DEVICE void loss_of_sample(loss_shape const& s, F value, int const* labels, double* metrics, T* gradient,
                           double* partial, unsigned* counter) {
  SHARED float of_label;
  int const n = block_x();
  int const label = labels[n];
  // NaN is the result if the label is neither the number of an output nor no_sample, from whomever that one comes.
  if (thread() == 0) of_label = float_of(0x7fc00000u);
  barrier();
  float const share = 1.0f / static_cast<float>(s.whole);
  choice best{float_of(0xff800000u), s.outputs};  // -infinity, for threads without an output
  double squares = 0;  // sum of squares; with smoothed labels, sum of -log of all outputs
  double const least = s.from_logits ? 1e-37 : 1e-7;
  auto const cost = [least](float p) {
    double const d = static_cast<double>(p);
    return -MATH(log)(d < least ? least : d);
  };
  for (int i = thread(); i < s.outputs; i += s.threads) {
    float const v = value(i);
    float const wanted = i == label ? s.on : s.off;
    if (i == thread() || v > best.value) best = {v, i};
    if (i == label) of_label = v;
    double const d = static_cast<double>(v - wanted);
    if (s.squared)
      squares += d * d;
    else if (s.smoothing > 0)
      squares += cost(v);
    if (!s.wants_gradient) continue;
    float g = 0;
    if (s.squared)
      g = 2 * (v - wanted) * share / static_cast<float>(s.outputs);
    else if (s.from_logits)
      g = (v - wanted) * share;
    else if (wanted > 0)
      g = -wanted * share / (v < 1e-7f ? 1e-7f : v);
    assign(*at(gradient, s.gradient, n * s.area + i % s.area, i / s.area), g);
  }
  best = join_block(best, s.threads, [](choice a, choice b) {
    return b.value > a.value || (b.value == a.value && b.index < a.index) ? b : a;
  });
  if (s.squared || s.smoothing > 0) squares = join_block(squares, s.threads, [](double a, double b) { return a + b; });
  if (thread() == 0) {
    double const smoothing = static_cast<double>(s.smoothing);
    double own = cost(of_label);
    if (s.smoothing > 0) own = (1 - smoothing) * own + smoothing / s.outputs * squares;
    partial[2 * n] = label == no_sample ? 0 : s.squared ? squares / s.outputs : own;
    partial[2 * n + 1] = best.index == label ? 1 : 0;
  }
  if (!is_last_block(counter, s.batch)) return;
  double loss = 0;
  double right = 0;
  for (int k = thread(); k < s.batch; k += s.threads) {
    loss += fresh(partial + 2 * k);
    right += fresh(partial + 2 * k + 1);
  }
  loss = join_block(loss, s.threads, [](double a, double b) { return a + b; });
  right = join_block(right, s.threads, [](double a, double b) { return a + b; });
  if (thread() == 0) metrics[0] = loss, metrics[1] = right;
}

// partial has 2 * batch doubles.
template <class T>
KERNEL void loss(loss_shape s, T const* y, int const* labels, double* metrics, T* gradient, double* partial,
                 unsigned* counters) {
  auto const value = [&](int i) { return widened(*at(y, s.y, block_x() * s.area + i % s.area, i / s.area)); };
  loss_of_sample(s, value, labels, metrics, gradient, partial, counters);
}

// Computes the softmax and the loss: x are the logits, y receives the probabilities. The loss and the gradient are
// computed from the probabilities before these are rounded to T.
template <class T>
KERNEL void softmax_loss(loss_shape s, T const* x, T* y, int const* labels, double* metrics, T* gradient,
                         double* partial, unsigned* counters) {
  softmax_terms const terms = softmax_terms_of(x, s.x, block_x(), s.outputs, s.threads);
  auto const value = [&](int i) {
    float const p = MATH(expf)(widened(*at(x, s.x, block_x(), i)) - terms.largest) / terms.sum;
    assign(*at(y, s.y, block_x(), i), p);
    return p;
  };
  loss_of_sample(s, value, labels, metrics, gradient, partial, counters);
}

}  // namespace dsl_kernels
)cuda"
