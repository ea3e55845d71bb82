R"cuda(
// SPDX-License-Identifier: MIT
// Multiplies each channel by a parameter.

namespace dsl_kernels {

struct channel_scale_shape {
  int pixels, channels, lanes;
  slice x, y;
  int accumulate;
};

template <int L, class T>
DEVICE void channel_scale_lanes(channel_scale_shape const& s, T const* x, float const* gamma, T* y) {
  int const unit = global_thread();
  if (unit >= s.pixels * (s.channels / L)) return;
  place const p = place_of<L>(unit, s.channels);
  floats<L> v = load<L>(at(x, s.x, p.pixel, p.channel));
  floats<L> const scale = load<L>(gamma + p.channel);
  for (int i = 0; i < L; ++i) v.v[i] *= scale.v[i];
  put<L>(at(y, s.y, p.pixel, p.channel), v, s.accumulate);
}

// y may be x.
template <class T, int L = 0>
KERNEL void channel_scale(channel_scale_shape s, T const* x, float const* gamma, T* y) {
  if constexpr (L > 0)
    channel_scale_lanes<L>(s, x, gamma, y);
  else if (s.lanes == 1)
    channel_scale_lanes<1>(s, x, gamma, y);
  else
    channel_scale_lanes<full_lanes<T>>(s, x, gamma, y);
}

struct channel_scale_backward_shape {
  int pixels, channels, lanes;
  tiling tiles;
  slice x, dy, dx;
  int accumulate;
};

// Computes dx = dy gamma and dgamma, the sum of dy x over all pixels of the batch. dx may be x or dy, or null if it is
// not needed; dgamma may be null.
template <int L, class T>
DEVICE void channel_scale_backward_lanes(channel_scale_backward_shape const& s, T const* x, T const* dy,
                                         float const* gamma, T* dx, float* dgamma, float* partial,
                                         unsigned* counters) {
  span const p = span_of<L>(s.tiles, s.pixels, s.channels, block_y());
  floats<L> sum{}, nothing{};
  if (p.works) {
    floats<L> const scale = load<L>(gamma + p.channel);
    for (int pixel = p.begin; pixel < p.end; pixel += p.step) {
      floats<L> const v = load<L>(at(x, s.x, pixel, p.channel));
      floats<L> d = load<L>(at(dy, s.dy, pixel, p.channel));
      for (int i = 0; i < L; ++i) {
        sum.v[i] += d.v[i] * v.v[i];
        d.v[i] *= scale.v[i];
      }
      if (dx) put<L>(at(dx, s.dx, pixel, p.channel), d, s.accumulate);
    }
  }
  if (!dgamma) return;
  pair result{};
  int channel = 0;
  if (reduce_channels(sums{}, s.tiles, s.pixels, block_y(), sum, nothing,
                      {partial, counters, s.tiles.columns * L * s.tiles.tiles, 0}, result, channel) &&
      channel < s.channels)
    dgamma[channel] = result.first;
}

template <class T, int L = 0>
KERNEL void channel_scale_backward(channel_scale_backward_shape s, T const* x, T const* dy, float const* gamma, T* dx,
                                   float* dgamma, float* partial, unsigned* counters) {
  if constexpr (L > 0)
    channel_scale_backward_lanes<L>(s, x, dy, gamma, dx, dgamma, partial, counters);
  else if (s.lanes == 1)
    channel_scale_backward_lanes<1>(s, x, dy, gamma, dx, dgamma, partial, counters);
  else
    channel_scale_backward_lanes<full_lanes<T>>(s, x, dy, gamma, dx, dgamma, partial, counters);
}

}  // namespace dsl_kernels
)cuda"
