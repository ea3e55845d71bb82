R"cuda(
// SPDX-License-Identifier: MIT
// Normalisation of groups of numbers, each with its own mean and variance: group_norm and layer_norm. A group is `each`
// neighbouring channels of `area` consecutive pixels: for group_norm of one sample, for layer_norm of one pixel. A team
// of threads computes the moments of a group.

namespace dsl_kernels {

struct group_norm_shape {
  int all;     // number of groups in the batch
  int groups;  // number of groups beside each other in a pixel
  int each, area;
  int lanes, team;
  float epsilon;
  int centred;  // 0: moments are about 0 instead of the mean
  slice x, y;  // dy is at the place of y
};

// The moments of a group, and what its gradient needs. A value v is normalised as ((v - origin) - distance) * inverse,
// where `origin` is the group's first value: the first difference is exact if the mean is large. `sum` is the mean of g
// and `product` the mean of g times the normalised value, with g = dy * gamma.
struct group_moments {
  float origin, distance, inverse;
};
struct group_means {
  group_moments moments;
  float sum, product;
};
DEVICE float normal(group_moments const& m, float v) { return ((v - m.origin) - m.distance) * m.inverse; }

struct group_place {
  team_place own;
  int pixel, channel;  // the first ones
};
DEVICE group_place group_place_of(group_norm_shape const& s) {
  team_place const own = team_place_of(s.team, s.all);
  return {own, own.team / s.groups * s.area, own.team % s.groups * s.each};
}

// Calls f(pixel, channel) for the values of a group that this thread processes, L channels at a time.
template <int L, class F>
DEVICE void for_each_of_group(group_norm_shape const& s, group_place const& p, F f) {
  int const columns = s.each / L;
  int const units = p.own.works ? s.area * columns : 0;
  UNROLL(2)
  for (int unit = p.own.member; unit < units; unit += s.team)
    f(p.pixel + unit / columns, p.channel + unit % columns * L);
}
DEVICE float numbers_of(group_norm_shape const& s) { return static_cast<float>(s.each) * static_cast<float>(s.area); }

template <class T>
DEVICE float origin_of_group(group_norm_shape const& s, group_place const& p, T const* x) {
  return p.own.works && s.centred ? widened(*at(x, s.x, p.pixel, p.channel)) : 0.0f;
}
// Returns the mean's distance from the origin.
template <int L, class T>
DEVICE float distance_of_group(group_norm_shape const& s, group_place const& p, T const* x, float origin) {
  if (!s.centred) return 0;
  float sum = 0;
  for_each_of_group<L>(s, p, [&](int pixel, int channel) {
    floats<L> const v = load<L>(at(x, s.x, pixel, channel));
    for (int i = 0; i < L; ++i) sum += v.v[i] - origin;
  });
  return team_sum(sum, s.team) / numbers_of(s);
}
DEVICE float inverse_of_group(group_norm_shape const& s, float squares) {
  return 1.0f / MATH(sqrtf)(squares / numbers_of(s) + s.epsilon);
}

// ---- y = gamma (x - mean) / sqrt(variance + epsilon) + beta; y may be x --------------------------------------------
template <int L, class T>
DEVICE void group_norm_forward_lanes(group_norm_shape const& s, T const* x, float const* gamma, float const* beta,
                                     T* y) {
  group_place const p = group_place_of(s);
  float const origin = origin_of_group(s, p, x);
  float const distance = distance_of_group<L>(s, p, x, origin);
  float squares = 0;
  for_each_of_group<L>(s, p, [&](int pixel, int channel) {
    floats<L> const v = load<L>(at(x, s.x, pixel, channel));
    for (int i = 0; i < L; ++i) {
      float const d = (v.v[i] - origin) - distance;
      squares += d * d;
    }
  });
  group_moments const m{origin, distance, inverse_of_group(s, team_sum(squares, s.team))};
  for_each_of_group<L>(s, p, [&](int pixel, int channel) {
    floats<L> v = load<L>(at(x, s.x, pixel, channel));
    floats<L> const scale = load<L>(gamma + channel);
    floats<L> const shift = beta ? load<L>(beta + channel) : floats<L>{};
    for (int i = 0; i < L; ++i) v.v[i] = normal(m, v.v[i]) * scale.v[i] + shift.v[i];
    store<L>(at(y, s.y, pixel, channel), v);
  });
}

template <class T, int L = 0>
KERNEL void group_norm_forward(group_norm_shape s, T const* x, float const* gamma, float const* beta, T* y) {
  if constexpr (L > 0)
    group_norm_forward_lanes<L>(s, x, gamma, beta, y);
  else if (s.lanes == 1)
    group_norm_forward_lanes<1>(s, x, gamma, beta, y);
  else
    group_norm_forward_lanes<full_lanes<T>>(s, x, gamma, beta, y);
}

// ---- the means of all groups, for the backward pass -----------------------------------------------------------------
struct group_sums {
  float squares, sum, product;
};

template <int L, class T>
DEVICE void group_norm_means_lanes(group_norm_shape const& s, T const* x, T const* dy, float const* gamma,
                                   float* means) {
  group_place const p = group_place_of(s);
  float const origin = origin_of_group(s, p, x);
  float const distance = distance_of_group<L>(s, p, x, origin);
  group_sums mine{0, 0, 0};
  for_each_of_group<L>(s, p, [&](int pixel, int channel) {
    floats<L> const v = load<L>(at(x, s.x, pixel, channel));
    floats<L> const dv = load<L>(at(dy, s.y, pixel, channel));
    floats<L> const scale = load<L>(gamma + channel);
    for (int i = 0; i < L; ++i) {
      float const d = (v.v[i] - origin) - distance;
      float const g = dv.v[i] * scale.v[i];
      mine.squares += d * d;
      mine.sum += g;
      mine.product += g * d;
    }
  });
  group_sums const all = join_team(mine, s.team, [](group_sums const& a, group_sums const& b) {
    return group_sums{a.squares + b.squares, a.sum + b.sum, a.product + b.product};
  });
  if (!p.own.works || p.own.member != 0) return;
  float const inverse = inverse_of_group(s, all.squares);
  float* const to = means + 5LL * p.own.team;
  to[0] = origin;
  to[1] = distance;
  to[2] = inverse;
  to[3] = s.centred ? all.sum / numbers_of(s) : 0.0f;
  to[4] = all.product * inverse / numbers_of(s);
}

template <class T, int L = 0>
KERNEL void group_norm_means(group_norm_shape s, T const* x, T const* dy, float const* gamma, float* means) {
  if constexpr (L > 0)
    group_norm_means_lanes<L>(s, x, dy, gamma, means);
  else if (s.lanes == 1)
    group_norm_means_lanes<1>(s, x, dy, gamma, means);
  else
    group_norm_means_lanes<full_lanes<T>>(s, x, dy, gamma, means);
}

}  // namespace dsl_kernels
)cuda"
