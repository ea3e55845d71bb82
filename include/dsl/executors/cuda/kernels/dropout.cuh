R"cuda(
// SPDX-License-Identifier: MIT
// Dropout and stochastic_depth, forward (x -> y) and backward (dy -> dx). The random bits are those of dsl/executors/dropout.hpp.

namespace dsl_kernels {

struct dropout_shape {
  int batch, area, channels, lanes;
  int node;
  float rate;
  slice x, y;
  int accumulate;
};

DEVICE philox_block dropout_draws(dropout_shape const& s, step_state const* state, unsigned sample, unsigned quad) {
  unsigned long long const step = state->step;
  unsigned const high = static_cast<unsigned>(state->seed >> 32) ^ static_cast<unsigned>(step >> 32);
  unsigned const purpose = 3u | static_cast<unsigned>(s.node) << 16;
  return philox(static_cast<unsigned>(state->seed), high, quad, purpose, state->first_sample + sample,
                static_cast<unsigned>(step));
}

template <int L, class T>
DEVICE void dropout_lanes(dropout_shape const& s, T const* x, T* y, step_state const* state) {
  int const unit = global_thread();
  if (unit >= s.batch * s.area * (s.channels / L)) return;
  place const p = place_of<L>(unit, s.channels);
  unsigned const sample = static_cast<unsigned>(p.pixel / s.area);
  unsigned const pixel = static_cast<unsigned>(p.pixel % s.area);
  float const scale = 1.0f / (1.0f - s.rate);
  floats<L> v = load<L>(at(x, s.x, p.pixel, p.channel));
  auto const keep = [&](int i, unsigned draw) { v.v[i] = unit_float(draw) >= s.rate ? v.v[i] * scale : 0.0f; };
  if (s.area == 1 && L % 4 == 0) {  // four neighbours share one draw
    for (int i = 0; i < L; i += 4) {
      philox_block const four = dropout_draws(s, state, sample, static_cast<unsigned>(p.channel + i) / 4);
      for (int k = 0; k < 4 && i + k < L; ++k) keep(i + k, four.x[k]);
    }
  } else {
    for (int i = 0; i < L; ++i) {
      unsigned const element = static_cast<unsigned>(p.channel + i) * static_cast<unsigned>(s.area) + pixel;
      philox_block const four = dropout_draws(s, state, sample, element / 4);
      unsigned const low = element % 2 == 0 ? four.x[0] : four.x[1];  // four.x[element % 4] would go through memory
      unsigned const high = element % 2 == 0 ? four.x[2] : four.x[3];
      keep(i, element % 4 < 2 ? low : high);
    }
  }
  put<L>(at(y, s.y, p.pixel, p.channel), v, s.accumulate);
}

// y may be x.
template <class T, int L = 0>
KERNEL void dropout(dropout_shape s, T const* x, T* y, step_state const* state) {
  if constexpr (L > 0)
    dropout_lanes<L>(s, x, y, state);
  else if (s.lanes == 1)
    dropout_lanes<1>(s, x, y, state);
  else
    dropout_lanes<full_lanes<T>>(s, x, y, state);
}

// ---- whole samples are dropped ------------------------------------------------------------------------------------------
template <int L, class T>
DEVICE void stochastic_depth_lanes(dropout_shape const& s, T const* x, T* y, step_state const* state) {
  int const unit = global_thread();
  if (unit >= s.batch * s.area * (s.channels / L)) return;
  place const p = place_of<L>(unit, s.channels);
  unsigned const draw = dropout_draws(s, state, static_cast<unsigned>(p.pixel / s.area), 0).x[0];
  float const scale = 1.0f / (1.0f - s.rate);
  floats<L> v = load<L>(at(x, s.x, p.pixel, p.channel));
  for (int i = 0; i < L; ++i) v.v[i] = unit_float(draw) >= s.rate ? v.v[i] * scale : 0.0f;
  put<L>(at(y, s.y, p.pixel, p.channel), v, s.accumulate);
}

// y may be x.
template <class T, int L = 0>
KERNEL void stochastic_depth(dropout_shape s, T const* x, T* y, step_state const* state) {
  if constexpr (L > 0)
    stochastic_depth_lanes<L>(s, x, y, state);
  else if (s.lanes == 1)
    stochastic_depth_lanes<1>(s, x, y, state);
  else
    stochastic_depth_lanes<full_lanes<T>>(s, x, y, state);
}

}  // namespace dsl_kernels
)cuda"
