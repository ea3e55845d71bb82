R"cuda(
// SPDX-License-Identifier: MIT
// Divides the queries and keys of attention's input by their lengths, and multiplies the queries of each head by a
// factor. A team of threads works on one head's queries, keys or values at one pixel.

namespace dsl_kernels {

struct head_norm_shape {
  int pixels, heads, width;  // a pixel has heads * width queries, then as many keys, then as many values
  int lanes, team;
  slice x, y, dx;  // dy is at the place of y
  int accumulate;
};

// A vector of `width` channels.
struct head_place {
  team_place own;
  int pixel, head, channel;
  bool queries, normalised;  // neither for values
};
DEVICE head_place head_place_of(head_norm_shape const& s) {
  team_place const own = team_place_of(s.team, s.pixels * s.heads * 3);
  int const pixel = own.team / (s.heads * 3);
  int const vector = own.team - pixel * s.heads * 3;
  return {own, pixel, vector % s.heads, vector * s.width, vector < s.heads, vector < 2 * s.heads};
}
template <int L, class F>
DEVICE void for_each_of_head(head_norm_shape const& s, head_place const& p, F f) {
  if (!p.own.works) return;
  for (int i = p.own.member * L; i < s.width; i += s.team * L) f(p.channel + i);
}

// The factor of a head's queries is e^gamma, at most 100, as in Swin Transformers (Liu et al. 2022). NaN stays NaN.
DEVICE bool is_limited(float gamma) { return static_cast<double>(gamma) >= 4.605170185988091; }
DEVICE float factor_of_queries(float gamma) { return is_limited(gamma) ? 100.0f : MATH(expf)(gamma); }
// A vector's length, at least 1e-12, from its sum of squares. NaN stays NaN.
DEVICE float length_from(float squares) {
  float const length = MATH(sqrtf)(squares);
  return length < 1e-12f ? 1e-12f : length;
}

// ---- y = x / length, times the factor of the queries; values are copied --------------------------------------------
template <int L, class T>
DEVICE void head_norm_forward_lanes(head_norm_shape const& s, T const* x, float const* gamma, T* y) {
  head_place const p = head_place_of(s);
  float squares = 0;
  for_each_of_head<L>(s, p, [&](int channel) {
    floats<L> const v = load<L>(at(x, s.x, p.pixel, channel));
    for (int i = 0; i < L; ++i) squares += v.v[i] * v.v[i];
  });
  float const length = length_from(team_sum(squares, s.team));
  float const factor = p.queries ? factor_of_queries(gamma[p.head]) : 1.0f;
  float const times = p.normalised ? factor / length : 1.0f;
  for_each_of_head<L>(s, p, [&](int channel) {
    floats<L> v = load<L>(at(x, s.x, p.pixel, channel));
    for (int i = 0; i < L; ++i) v.v[i] *= times;
    store<L>(at(y, s.y, p.pixel, channel), v);
  });
}

template <class T, int L = 0>
KERNEL void head_norm_forward(head_norm_shape s, T const* x, float const* gamma, T* y) {
  if constexpr (L > 0)
    head_norm_forward_lanes<L>(s, x, gamma, y);
  else if (s.lanes == 1)
    head_norm_forward_lanes<1>(s, x, gamma, y);
  else
    head_norm_forward_lanes<full_lanes<T>>(s, x, gamma, y);
}

// ---- dx = factor (dy - u (u dy)) / length, with u = x / length ------------------------------------------------------
// products: for each pixel and head, the factor times u dy of the queries, or 0 where the factor is limited: the share
// of the gradient of gamma. Null if that gradient is not needed. dx may be null, too.
template <int L, class T>
DEVICE void head_norm_backward_lanes(head_norm_shape const& s, T const* x, T const* dy, float const* gamma, T* dx,
                                     float* products) {
  head_place const p = head_place_of(s);
  pair mine{0, 0};
  for_each_of_head<L>(s, p, [&](int channel) {
    floats<L> const v = load<L>(at(x, s.x, p.pixel, channel));
    floats<L> const d = load<L>(at(dy, s.y, p.pixel, channel));
    for (int i = 0; i < L; ++i) {
      mine.first += v.v[i] * v.v[i];
      mine.second += v.v[i] * d.v[i];
    }
  });
  pair const all = join_team(mine, s.team, [](pair const& a, pair const& b) {
    return pair{a.first + b.first, a.second + b.second};
  });
  if (!p.own.works) return;
  float const length = length_from(all.first);
  float const factor = p.queries ? factor_of_queries(gamma[p.head]) : 1.0f;
  float const product = all.second / length;
  if (products && p.queries && p.own.member == 0)
    products[p.pixel * s.heads + p.head] = is_limited(gamma[p.head]) ? 0.0f : factor * product;
  if (!dx) return;
  for_each_of_head<L>(s, p, [&](int channel) {
    floats<L> const v = load<L>(at(x, s.x, p.pixel, channel));
    floats<L> d = load<L>(at(dy, s.y, p.pixel, channel));
    if (p.normalised)
      for (int i = 0; i < L; ++i) d.v[i] = (d.v[i] - v.v[i] / length * product) * (factor / length);
    put<L>(at(dx, s.dx, p.pixel, channel), d, s.accumulate);
  });
}

template <class T, int L = 0>
KERNEL void head_norm_backward(head_norm_shape s, T const* x, T const* dy, float const* gamma, T* dx,
                               float* products) {
  if constexpr (L > 0)
    head_norm_backward_lanes<L>(s, x, dy, gamma, dx, products);
  else if (s.lanes == 1)
    head_norm_backward_lanes<1>(s, x, dy, gamma, dx, products);
  else
    head_norm_backward_lanes<full_lanes<T>>(s, x, dy, gamma, dx, products);
}

}  // namespace dsl_kernels
)cuda"
