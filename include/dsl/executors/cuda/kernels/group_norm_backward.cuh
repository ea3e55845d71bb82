R"cuda(
// SPDX-License-Identifier: MIT
// The gradients of group_norm.cuh, from the means that group_norm_means has written. One launch reads x and dy once: it
// writes dx, and sums the gradients of gamma and beta over all pixels of the batch.

namespace dsl_kernels {

struct group_norm_backward_shape {
  int pixels, channels, lanes;
  int groups, each, area;  // as in group_norm_shape
  tiling tiles;
  slice x, y, dx;  // dy is at the place of y
  int accumulate;
};

DEVICE group_means load_means(float const* means, int group) {
  float const* const from = means + 5LL * group;
  return {{from[0], from[1], from[2]}, from[3], from[4]};
}

// dx = (g - mean(g) - normal mean(g normal)) / sqrt(variance + epsilon), with g = dy gamma. dx may be x or dy, or null
// if it is not needed; dbeta, or dgamma and dbeta, may be null.
template <int L, class T>
DEVICE void group_norm_backward_lanes(group_norm_backward_shape const& s, T const* x, T const* dy, float const* gamma,
                                      float const* means, T* dx, float* dgamma, float* dbeta, float* partial,
                                      unsigned* counters) {
  span const p = span_of<L>(s.tiles, s.pixels, s.channels, block_y());
  floats<L> sum{}, product{};
  if (p.works) {
    bool const one = s.each % L == 0;  // the L channels are in the same group
    floats<L> const scale = load<L>(gamma + p.channel);
    group_means of[L]{};
    int last = -1;
    for (int pixel = p.begin; pixel < p.end; pixel += p.step) {
      if (int const now = pixel / s.area; now != last) {
        last = now;
        for (int i = 0; i < L; ++i)
          if (i == 0 || !one) of[i] = load_means(means, now * s.groups + (p.channel + i) / s.each);
      }
      floats<L> const v = load<L>(at(x, s.x, pixel, p.channel));
      floats<L> d = load<L>(at(dy, s.y, pixel, p.channel));
      for (int i = 0; i < L; ++i) {
        group_means const& m = of[one ? 0 : i];
        float const h = normal(m.moments, v.v[i]);
        sum.v[i] += d.v[i];
        product.v[i] += d.v[i] * h;
        d.v[i] = m.moments.inverse * (d.v[i] * scale.v[i] - m.sum - h * m.product);
      }
      if (dx) put<L>(at(dx, s.dx, pixel, p.channel), d, s.accumulate);
    }
  }
  if (!dgamma) return;
  pair result{};
  int c = 0;
  if (!reduce_channels(sums{}, s.tiles, s.pixels, block_y(), sum, product,
                       {partial, counters, s.tiles.columns * L * s.tiles.tiles, 0}, result, c) ||
      c >= s.channels)
    return;
  if (dbeta) dbeta[c] = result.first;
  dgamma[c] = result.second;
}

template <class T, int L = 0>
KERNEL void group_norm_backward(group_norm_backward_shape s, T const* x, T const* dy, float const* gamma,
                                float const* means, T* dx, float* dgamma, float* dbeta, float* partial,
                                unsigned* counters) {
  if constexpr (L > 0)
    group_norm_backward_lanes<L>(s, x, dy, gamma, means, dx, dgamma, dbeta, partial, counters);
  else if (s.lanes == 1)
    group_norm_backward_lanes<1>(s, x, dy, gamma, means, dx, dgamma, dbeta, partial, counters);
  else
    group_norm_backward_lanes<full_lanes<T>>(s, x, dy, gamma, means, dx, dgamma, dbeta, partial, counters);
}

}  // namespace dsl_kernels
)cuda"
