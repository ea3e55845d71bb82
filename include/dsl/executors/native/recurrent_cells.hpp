// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/mode.hpp>
#include <dsl/executors/host/activation.hpp>
#include <dsl/executors/native/vector.hpp>

#ifdef __CUDACC__  // whose front end knows `#pragma unroll` alone, which GCC does not
#pragma nv_diagnostic push
#pragma nv_diag_suppress 1675
#endif

namespace dsl::native_cpu::TYPENET_MODE {

/// The units of some samples at one position of a sequence. A row has four gates, each of `vectors` vectors: i, f, g
/// and o of an lstm; n, r, z and the recurrent part of n of a gru. Gates are sums at first and become what is saved.
struct cell_call {
  float* gates;  // row r, gate k: gates + r * 4 * width + k * width, with a width of vectors * L
  float* cell;   // row r: cell + r * width; of an lstm
  float* hidden;
  int rows;
  int vectors;
};

/// The gradients of the same units. `saved` has five numbers for each unit, which operations/recurrent/facts.hpp names.
struct cell_gradient_call {
  float const* saved;    // row r, number k: saved + r * 5 * width + k * width
  float const* before;   // an lstm's cell or a gru's output at the previous position: row r: before + r * width
  float const* dhidden;  // the output's whole gradient
  float* carried;        // an lstm's gradient of the cell, or what a gru passes by its gates; see operations/recurrent
  float* gradients;      // of the gates, as above
  float* hidden;         // the output, which an lstm computes again
  int rows;
  int vectors;
};

/// Computes s = x (1 - x), the derivative of the logistic function by its value.
template <int L>
[[gnu::always_inline]] inline void logistic_slope(typename vector<L>::type& s, typename vector<L>::type const& x) {
  typename vector<L>::type const minus = -x;
  s = x;
  multiply_add<L>(s, minus, x);
}
/// Computes s = 1 - x^2, the derivative of tanh by its value.
template <int L>
[[gnu::always_inline]] inline void tanh_slope(typename vector<L>::type& s, typename vector<L>::type const& x) {
  typename vector<L>::type const none{}, minus = -x;
  s = 1.0F - none;
  multiply_add<L>(s, minus, x);
}

template <int L>
struct lstm_cell {
  using call = cell_call;
  [[gnu::always_inline]] static inline void run(call const& c) {
    using floats = typename vector<L>::type;
    long long const width = 1LL * c.vectors * L;
    for (int r = 0; r < c.rows; ++r)
      for (long long v = 0; v < width; v += L) {
        float* const at = c.gates + r * 4 * width + v;
        floats x, i, f, g, o, before, now, height, y;
        load<L>(x, at), host::logistic<L>(i, x);
        load<L>(x, at + width), host::logistic<L>(f, x);
        load<L>(x, at + 2 * width), host::hyperbolic_tangent<L>(g, x);
        load<L>(x, at + 3 * width), host::logistic<L>(o, x);
        load<L>(before, c.cell + r * width + v);
        multiply<L>(now, f, before);
        multiply_add<L>(now, i, g);
        host::hyperbolic_tangent<L>(height, now);
        multiply<L>(y, o, height);
        store<L>(at, i), store<L>(at + width, f), store<L>(at + 2 * width, g), store<L>(at + 3 * width, o);
        store<L>(c.cell + r * width + v, now), store<L>(c.hidden + r * width + v, y);
      }
  }
};

template <int L>
struct gru_cell {
  using call = cell_call;
  [[gnu::always_inline]] static inline void run(call const& c) {
    using floats = typename vector<L>::type;
    long long const width = 1LL * c.vectors * L;
    for (int r = 0; r < c.rows; ++r)
      for (long long v = 0; v < width; v += L) {
        float* const at = c.gates + r * 4 * width + v;
        floats x, n, reset, z, part, before, y;
        load<L>(x, at + width), host::logistic<L>(reset, x);
        load<L>(x, at + 2 * width), host::logistic<L>(z, x);
        load<L>(part, at + 3 * width);
        load<L>(x, at);
        multiply_add<L>(x, reset, part);
        host::hyperbolic_tangent<L>(n, x);
        load<L>(before, c.hidden + r * width + v);
        floats const change = before - n;
        y = n;
        multiply_add<L>(y, z, change);
        store<L>(at, n), store<L>(at + width, reset), store<L>(at + 2 * width, z);
        store<L>(c.hidden + r * width + v, y);
      }
  }
};

template <int L>
struct lstm_gradient {
  using call = cell_gradient_call;
  [[gnu::always_inline]] static inline void run(call const& c) {
    using floats = typename vector<L>::type;
    long long const width = 1LL * c.vectors * L;
    for (int r = 0; r < c.rows; ++r)
      for (long long v = 0; v < width; v += L) {
        float const* const from = c.saved + r * 5 * width + v;
        float* const to = c.gradients + r * 4 * width + v;
        floats i, f, g, o, cell, before, dh, dc, height, slope, part, y;
        load<L>(i, from), load<L>(f, from + width), load<L>(g, from + 2 * width), load<L>(o, from + 3 * width);
        load<L>(cell, from + 4 * width), load<L>(before, c.before + r * width + v);
        load<L>(dh, c.dhidden + r * width + v), load<L>(dc, c.carried + r * width + v);
        host::hyperbolic_tangent<L>(height, cell);
        multiply<L>(y, o, height);
        store<L>(c.hidden + r * width + v, y);
        tanh_slope<L>(slope, height), multiply<L>(part, dh, o), multiply_add<L>(dc, part, slope);
        logistic_slope<L>(slope, i), multiply<L>(part, dc, g), multiply<L>(y, part, slope), store<L>(to, y);
        logistic_slope<L>(slope, f), multiply<L>(part, dc, before), multiply<L>(y, part, slope);
        store<L>(to + width, y);
        tanh_slope<L>(slope, g), multiply<L>(part, dc, i), multiply<L>(y, part, slope), store<L>(to + 2 * width, y);
        logistic_slope<L>(slope, o), multiply<L>(part, dh, height), multiply<L>(y, part, slope);
        store<L>(to + 3 * width, y);
        multiply<L>(y, dc, f);
        store<L>(c.carried + r * width + v, y);
      }
  }
};

template <int L>
struct gru_gradient {
  using call = cell_gradient_call;
  [[gnu::always_inline]] static inline void run(call const& c) {
    using floats = typename vector<L>::type;
    long long const width = 1LL * c.vectors * L;
    floats const none{}, one = 1.0F - none;
    for (int r = 0; r < c.rows; ++r)
      for (long long v = 0; v < width; v += L) {
        float const* const from = c.saved + r * 5 * width + v;
        float* const to = c.gradients + r * 4 * width + v;
        floats n, reset, z, m, before, dh, slope, part, y;
        load<L>(n, from), load<L>(reset, from + width), load<L>(z, from + 2 * width), load<L>(m, from + 3 * width);
        load<L>(before, c.before + r * width + v), load<L>(dh, c.dhidden + r * width + v);
        floats const rest = one - z, change = before - n;
        floats dn;
        tanh_slope<L>(slope, n), multiply<L>(part, dh, rest), multiply<L>(dn, part, slope), store<L>(to, dn);
        logistic_slope<L>(slope, reset), multiply<L>(part, dn, m), multiply<L>(y, part, slope);
        store<L>(to + width, y);
        logistic_slope<L>(slope, z), multiply<L>(part, dh, change), multiply<L>(y, part, slope);
        store<L>(to + 2 * width, y);
        multiply<L>(y, dn, reset), store<L>(to + 3 * width, y);
        multiply<L>(y, dh, z), store<L>(c.carried + r * width + v, y);
      }
  }
};

}  // namespace dsl::native_cpu::TYPENET_MODE

#ifdef __CUDACC__
#pragma nv_diagnostic pop
#endif
