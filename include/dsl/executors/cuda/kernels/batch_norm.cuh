R"cuda(
// SPDX-License-Identifier: MIT
// Batch normalisation of up to four tensors at once: the branches of one concat share a launch. Tiles of channels are
// counted over all of these tensors, so each block works on one tensor. Training launches batch_norm_statistics, then
// batch_norm_apply. The backward pass launches batch_norm_gradients, then batch_norm_backward.

namespace dsl_kernels {

struct batch_norm_layer {
  int channels;
  tiling tiles;
  slice x, y, dx;  // dy is at the place of y
  int relu, accumulate;
  float epsilon, momentum;
};
struct batch_norm_shape {
  int pixels, lanes, layers;
  int running;   // batch_norm_apply normalises with the running moments
  int unbiased;  // the running variance has the factor n / (n - 1)
  int part;      // batch_norm_statistics only stores means and sums of squares, for join_moments
  float values;  // number of values per channel over which batch_norm_backward's sums are taken
  batch_norm_layer layer[4];
};

// statistics: the means of the channels, then 1 / sqrt(variance + epsilon). bias: the bias of a convolution before the
// batch_norm that does not add it, or null; the running mean includes it.
template <class T>
struct batch_norm_forward {
  T const* x;
  T* y;
  float const *gamma, *beta;
  float *moving_mean, *moving_variance;
  float const* bias;
  float* statistics;
};
template <class T>
struct batch_norm_forwards {
  batch_norm_forward<T> layer[4];
};

// The layer of this block. Its numbers are selected at run time, while those of other kernels are constants: separate
// code for each layer would take longer to compile, and a thread needs the numbers only once for many pixels.
template <class Pointers>
struct batch_norm_choice {
  batch_norm_layer layer;
  Pointers pointers;
  int tile;   // index of the tile in this layer
  int first;  // first entry of the layer's first tile, for reduce_channels
  int entries;
};

template <int L, class Pointers>
DEVICE batch_norm_choice<Pointers> chosen_layer(batch_norm_shape const& s, Pointers const (&pointers)[4]) {
  batch_norm_choice<Pointers> c{s.layer[0], pointers[0], block_y(), 0, 0};
  int tiles = 0;
  UNROLL(4)
  for (int k = 0; k < 4; ++k) {
    if (k >= s.layers) continue;
    if (k > 0 && block_y() >= tiles) {
      c.layer = s.layer[k];
      c.pointers = pointers[k];
      c.tile = block_y() - tiles;
      c.first = c.entries;
    }
    tiles += s.layer[k].tiles.tiles;
    c.entries += s.layer[k].tiles.tiles * s.layer[k].tiles.columns * L;
  }
  return c;
}

// Returns a running moment after another batch. With momentum 0, nothing of the old value is kept, not even a NaN.
DEVICE float moved(float running, float momentum, float now) {
  return momentum > 0 ? momentum * running + (1 - momentum) * now : now;
}

// Returns the value before the relu. The forward and the backward pass both call this function, so that the relu's mask
// is the same.
DEVICE float normalised(float x, float mean, float scale, float beta) {
  return MATH(fmaf)(x - mean, scale, beta);
}

// A thread subtracts the first value that it reads. The difference sum(d^2) - sum(d)^2 / n of n values then loses at
// most a factor of n in precision, however large the mean is.
template <int L, class T>
DEVICE void batch_norm_statistics_lanes(batch_norm_shape const& s, batch_norm_forwards<T> const& all_layers,
                                        float* partial, unsigned* counters) {
  batch_norm_choice<batch_norm_forward<T>> const mine = chosen_layer<L>(s, all_layers.layer);
  batch_norm_layer const& b = mine.layer;
  batch_norm_forward<T> const& a = mine.pointers;
  span const p = span_of<L>(b.tiles, s.pixels, b.channels, mine.tile);
  floats<L> mean{}, squares{};
  if (p.works) {
    floats<L> const origin = load<L>(at(a.x, b.x, p.begin, p.channel));
    int n = 1;
    UNROLL(4)
    for (int pixel = p.begin + p.step; pixel < p.end; pixel += p.step) {
      floats<L> const v = load<L>(at(a.x, b.x, pixel, p.channel));
      for (int i = 0; i < L; ++i) {
        float const d = v.v[i] - origin.v[i];
        mean.v[i] += d;
        squares.v[i] += d * d;
      }
      ++n;
    }
    float const share = 1.0f / static_cast<float>(n);
    for (int i = 0; i < L; ++i) {
      float const left = squares.v[i] - mean.v[i] * mean.v[i] * share;
      squares.v[i] = left < 0 ? 0.0f : left;  // NaN stays NaN
      mean.v[i] = origin.v[i] + mean.v[i] * share;
    }
  }
  pair all{};
  int c = 0;
  if (!reduce_channels(moments{}, b.tiles, s.pixels, mine.tile, mean, squares,
                       {partial, counters, mine.entries, mine.first}, all, c) ||
      c >= b.channels)
    return;
  a.statistics[c] = all.first;
  if (s.part) {
    a.statistics[b.channels + c] = all.second;
    return;
  }
  float const count = static_cast<float>(s.pixels);
  float const variance = all.second / count;
  float const batch_mean = all.first + (a.bias ? a.bias[c] : 0.0f);
  float const batch_variance = s.unbiased && s.pixels > 1 ? all.second / (count - 1) : variance;
  a.statistics[b.channels + c] = 1.0f / MATH(sqrtf)(variance + b.epsilon);
  a.moving_mean[c] = moved(a.moving_mean[c], b.momentum, batch_mean);
  a.moving_variance[c] = moved(a.moving_variance[c], b.momentum, batch_variance);
}

template <class T, int L = 0>
KERNEL void batch_norm_statistics(batch_norm_shape s, batch_norm_forwards<T> a, float* partial, unsigned* counters) {
  if constexpr (L > 0)
    batch_norm_statistics_lanes<L>(s, a, partial, counters);
  else if (s.lanes == 1)
    batch_norm_statistics_lanes<1>(s, a, partial, counters);
  else
    batch_norm_statistics_lanes<full_lanes<T>>(s, a, partial, counters);
}

// ---- y = gamma (x - mean) / sqrt(variance + epsilon) + beta, then relu if requested --------------------------------
template <int L, class T>
DEVICE void batch_norm_apply_lanes(batch_norm_shape const& s, batch_norm_forwards<T> const& all_layers) {
  batch_norm_choice<batch_norm_forward<T>> const mine = chosen_layer<L>(s, all_layers.layer);
  batch_norm_layer const& b = mine.layer;
  batch_norm_forward<T> const& a = mine.pointers;
  span const p = span_of<L>(b.tiles, s.pixels, b.channels, mine.tile);
  if (!p.works) return;
  floats<L> const mean = load<L>((s.running ? a.moving_mean : a.statistics) + p.channel);
  floats<L> scale = load<L>(a.gamma + p.channel);
  floats<L> const beta = load<L>(a.beta + p.channel);
  if (s.running) {
    floats<L> const variance = load<L>(a.moving_variance + p.channel);
    for (int i = 0; i < L; ++i) scale.v[i] /= MATH(sqrtf)(variance.v[i] + b.epsilon);
  } else {
    floats<L> const inverse = load<L>(a.statistics + b.channels + p.channel);
    for (int i = 0; i < L; ++i) scale.v[i] *= inverse.v[i];
  }
  for (int pixel = p.begin; pixel < p.end; pixel += p.step) {
    floats<L> v = load<L>(at(a.x, b.x, pixel, p.channel));
    for (int i = 0; i < L; ++i) {
      v.v[i] = normalised(v.v[i], mean.v[i], scale.v[i], beta.v[i]);
      if (b.relu) v.v[i] = v.v[i] < 0 ? 0.0f : v.v[i];
    }
    store<L>(at(a.y, b.y, pixel, p.channel), v);
  }
}

template <class T, int L = 0>
KERNEL void batch_norm_apply(batch_norm_shape s, batch_norm_forwards<T> a) {
  if constexpr (L > 0)
    batch_norm_apply_lanes<L>(s, a);
  else if (s.lanes == 1)
    batch_norm_apply_lanes<1>(s, a);
  else
    batch_norm_apply_lanes<full_lanes<T>>(s, a);
}

}  // namespace dsl_kernels
)cuda"
