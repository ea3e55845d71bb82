R"cuda(
// SPDX-License-Identifier: MIT
// Softmax over the channels, with one block per pixel; a flat sample has one pixel.

namespace dsl_kernels {

struct softmax_shape {
  int channels, threads;
  slice x, y, dy, dx;
  int accumulate;
};

// The numbers that all threads of a pixel's block need: value = exp(x - largest) / sum.
struct softmax_terms {
  float largest, sum;
};

template <class T>
DEVICE softmax_terms softmax_terms_of(T const* x, slice where, int pixel, int channels, int count) {
  float largest = widened(*at(x, where, pixel, 0));
  for (int c = thread(); c < channels; c += count) {
    float const v = widened(*at(x, where, pixel, c));
    largest = v > largest ? v : largest;
  }
  largest = join_block(largest, count, [](float a, float b) { return b > a ? b : a; });
  float sum = 0;
  for (int c = thread(); c < channels; c += count) sum += MATH(expf)(widened(*at(x, where, pixel, c)) - largest);
  return {largest, join_block(sum, count, [](float a, float b) { return a + b; })};
}

template <class T>
KERNEL void softmax_forward(softmax_shape s, T const* x, T* y) {
  softmax_terms const terms = softmax_terms_of(x, s.x, block_x(), s.channels, s.threads);
  for (int c = thread(); c < s.channels; c += s.threads)
    assign(*at(y, s.y, block_x(), c), MATH(expf)(widened(*at(x, s.x, block_x(), c)) - terms.largest) / terms.sum);
}

template <class T>
KERNEL void softmax_backward(softmax_shape s, T const* y, T const* dy, T* dx) {
  float product = 0;
  for (int c = thread(); c < s.channels; c += s.threads)
    product += widened(*at(y, s.y, block_x(), c)) * widened(*at(dy, s.dy, block_x(), c));
  product = join_block(product, s.threads, [](float a, float b) { return a + b; });
  for (int c = thread(); c < s.channels; c += s.threads) {
    float const d = widened(*at(dy, s.dy, block_x(), c)) - product;
    put<1>(at(dx, s.dx, block_x(), c), {{widened(*at(y, s.y, block_x(), c)) * d}}, s.accumulate);
  }
}

}  // namespace dsl_kernels
)cuda"
