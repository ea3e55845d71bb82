R"cuda(
// SPDX-License-Identifier: MIT
// Local response normalisation: y = x * (k + alpha / size * the sum of squares of `size` neighbouring channels of the
// same pixel)^-beta. Channels that do not exist count as 0. A thread computes L neighbouring channels, and each power
// that it needs itself.

namespace dsl_kernels {

struct local_response_shape {
  int pixels, channels, lanes;
  int reach;  // number of neighbours on either side
  float share, least, power;  // alpha / size, k and beta
  slice x, y, dx;             // dy is at the place of y
  int accumulate;
};

// Calls f(channel, value) for the channels from `first` to `last` that exist.
template <class T, class F>
DEVICE void for_each_channel(local_response_shape const& s, T const* x, slice where, int pixel, int first, int last,
                             F f) {
  int const begin = first < 0 ? 0 : first;
  int const end = last < s.channels ? last : s.channels - 1;
  for (int c = begin; c <= end; ++c) f(c, widened(*at(x, where, pixel, c)));
}

// ---- forward --------------------------------------------------------------------------------------------------------
template <int L, class T>
DEVICE void local_response_norm_forward_lanes(local_response_shape const& s, T const* x, T* y) {
  int const unit = global_thread();
  if (unit >= s.pixels * (s.channels / L)) return;
  place const p = place_of<L>(unit, s.channels);
  floats<L> squares{};
  for_each_channel(s, x, s.x, p.pixel, p.channel - s.reach, p.channel + L - 1 + s.reach, [&](int c, float v) {
    int const i = c - p.channel;
    for (int k = 0; k < L; ++k)
      if (i - k <= s.reach && k - i <= s.reach) squares.v[k] += v * v;
  });
  floats<L> v = load<L>(at(x, s.x, p.pixel, p.channel));
  for (int k = 0; k < L; ++k) v.v[k] *= MATH(powf)(s.least + s.share * squares.v[k], -s.power);
  store<L>(at(y, s.y, p.pixel, p.channel), v);
}

template <class T, int L = 0>
KERNEL void local_response_norm_forward(local_response_shape s, T const* x, T* y) {
  if constexpr (L > 0)
    local_response_norm_forward_lanes<L>(s, x, y);
  else if (s.lanes == 1)
    local_response_norm_forward_lanes<1>(s, x, y);
  else
    local_response_norm_forward_lanes<full_lanes<T>>(s, x, y);
}

// ---- dx = dy base^-beta - 2 beta alpha / size x sum(dy x base^(-beta - 1)), the sum being over the neighbours -----------
template <int L, class T>
DEVICE void local_response_norm_backward_lanes(local_response_shape const& s, T const* x, T const* dy, T* dx) {
  int const unit = global_thread();
  if (unit >= s.pixels * (s.channels / L)) return;
  place const p = place_of<L>(unit, s.channels);
  floats<L> own{}, others{};
  for_each_channel(s, dy, s.y, p.pixel, p.channel - s.reach, p.channel + L - 1 + s.reach, [&](int c, float d) {
    float squares = 0;
    for_each_channel(s, x, s.x, p.pixel, c - s.reach, c + s.reach, [&](int, float v) { squares += v * v; });
    float const base = s.least + s.share * squares;
    float const factor = MATH(powf)(base, -s.power);
    float const slope = d * widened(*at(x, s.x, p.pixel, c)) * factor / base;
    int const i = c - p.channel;
    for (int k = 0; k < L; ++k) {
      own.v[k] = i == k ? d * factor : own.v[k];
      if (i - k <= s.reach && k - i <= s.reach) others.v[k] += slope;
    }
  });
  floats<L> const v = load<L>(at(x, s.x, p.pixel, p.channel));
  float const times = -2 * s.share * s.power;
  for (int k = 0; k < L; ++k) own.v[k] += times * v.v[k] * others.v[k];
  put<L>(at(dx, s.dx, p.pixel, p.channel), own, s.accumulate);
}

template <class T, int L = 0>
KERNEL void local_response_norm_backward(local_response_shape s, T const* x, T const* dy, T* dx) {
  if constexpr (L > 0)
    local_response_norm_backward_lanes<L>(s, x, dy, dx);
  else if (s.lanes == 1)
    local_response_norm_backward_lanes<1>(s, x, dy, dx);
  else
    local_response_norm_backward_lanes<full_lanes<T>>(s, x, dy, dx);
}

}  // namespace dsl_kernels
)cuda"
