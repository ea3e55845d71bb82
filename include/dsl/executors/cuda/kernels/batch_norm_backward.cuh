R"cuda(
// SPDX-License-Identifier: MIT
// The gradients of batch_norm.cuh. If a relu follows, its mask is computed again from x.

namespace dsl_kernels {

// dx may be x, or null if it is not needed. sums: a second place for dgamma and dbeta, or null.
template <class T>
struct batch_norm_gradient {
  T const *x, *dy;
  T* dx;
  float const *gamma, *beta, *statistics;
  float *dgamma, *dbeta, *sums;
};
template <class T>
struct batch_norm_gradients_of {
  batch_norm_gradient<T> layer[4];
};

// ---- dgamma and dbeta -----------------------------------------------------------------------------------------------
template <int L, class T>
DEVICE void batch_norm_gradients_lanes(batch_norm_shape const& s, batch_norm_gradients_of<T> const& all_layers,
                                       float* partial, unsigned* counters) {
  batch_norm_choice<batch_norm_gradient<T>> const mine = chosen_layer<L>(s, all_layers.layer);
  batch_norm_layer const& b = mine.layer;
  batch_norm_gradient<T> const& a = mine.pointers;
  span const p = span_of<L>(b.tiles, s.pixels, b.channels, mine.tile);
  floats<L> sum{}, product{};
  if (p.works) {
    floats<L> const mean = load<L>(a.statistics + p.channel);
    floats<L> scale{}, beta{};
    if (b.relu) {
      floats<L> const inverse = load<L>(a.statistics + b.channels + p.channel);
      scale = load<L>(a.gamma + p.channel);
      beta = load<L>(a.beta + p.channel);
      for (int i = 0; i < L; ++i) scale.v[i] *= inverse.v[i];
    }
    UNROLL(2)
    for (int pixel = p.begin; pixel < p.end; pixel += p.step) {
      floats<L> const x = load<L>(at(a.x, b.x, pixel, p.channel));
      floats<L> d = load<L>(at(a.dy, b.y, pixel, p.channel));
      for (int i = 0; i < L; ++i) {
        if (b.relu && normalised(x.v[i], mean.v[i], scale.v[i], beta.v[i]) <= 0) d.v[i] = 0;
        sum.v[i] += d.v[i];
        product.v[i] += d.v[i] * (x.v[i] - mean.v[i]);
      }
    }
  }
  pair all{};
  int c = 0;
  if (!reduce_channels(sums{}, b.tiles, s.pixels, mine.tile, sum, product,
                       {partial, counters, mine.entries, mine.first}, all, c) ||
      c >= b.channels)
    return;
  float const slope = all.second * a.statistics[b.channels + c];
  a.dbeta[c] = all.first;
  a.dgamma[c] = slope;
  if (a.sums) a.sums[c] = slope, a.sums[b.channels + c] = all.first;
}

template <class T, int L = 0>
KERNEL void batch_norm_gradients(batch_norm_shape s, batch_norm_gradients_of<T> a, float* partial, unsigned* counters) {
  if constexpr (L > 0)
    batch_norm_gradients_lanes<L>(s, a, partial, counters);
  else if (s.lanes == 1)
    batch_norm_gradients_lanes<1>(s, a, partial, counters);
  else
    batch_norm_gradients_lanes<full_lanes<T>>(s, a, partial, counters);
}

// ---- dx = gamma / sigma * (d - mean(d) - normal * mean(d * normal)), d being dy after the relu ---------------------
template <int L, class T>
DEVICE void batch_norm_backward_lanes(batch_norm_shape const& s, batch_norm_gradients_of<T> const& all_layers) {
  batch_norm_choice<batch_norm_gradient<T>> const mine = chosen_layer<L>(s, all_layers.layer);
  batch_norm_layer const& b = mine.layer;
  batch_norm_gradient<T> const& a = mine.pointers;
  span const p = span_of<L>(b.tiles, s.pixels, b.channels, mine.tile);
  if (!p.works || !a.dx) return;
  float const share = 1.0f / s.values;
  floats<L> const mean = load<L>(a.statistics + p.channel);
  floats<L> const inverse = load<L>(a.statistics + b.channels + p.channel);
  floats<L> scale = load<L>(a.gamma + p.channel);
  floats<L> beta{};
  if (b.relu) beta = load<L>(a.beta + p.channel);
  floats<L> constant = load<L>(a.dbeta + p.channel);
  floats<L> slope = load<L>(a.dgamma + p.channel);
  for (int i = 0; i < L; ++i) {
    scale.v[i] *= inverse.v[i];
    constant.v[i] *= share;
    slope.v[i] *= share * inverse.v[i];
  }
  for (int pixel = p.begin; pixel < p.end; pixel += p.step) {
    floats<L> const x = load<L>(at(a.x, b.x, pixel, p.channel));
    floats<L> d = load<L>(at(a.dy, b.y, pixel, p.channel));
    for (int i = 0; i < L; ++i) {
      if (b.relu && normalised(x.v[i], mean.v[i], scale.v[i], beta.v[i]) <= 0) d.v[i] = 0;
      d.v[i] = scale.v[i] * (d.v[i] - constant.v[i] - (x.v[i] - mean.v[i]) * slope.v[i]);
    }
    put<L>(at(a.dx, b.dx, pixel, p.channel), d, b.accumulate);
  }
}

template <class T, int L = 0>
KERNEL void batch_norm_backward(batch_norm_shape s, batch_norm_gradients_of<T> a) {
  if constexpr (L > 0)
    batch_norm_backward_lanes<L>(s, a);
  else if (s.lanes == 1)
    batch_norm_backward_lanes<1>(s, a);
  else
    batch_norm_backward_lanes<full_lanes<T>>(s, a);
}

}  // namespace dsl_kernels
)cuda"
