// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/math.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/detail/zeros.hpp>
#include <dsl/executors/host/operation.hpp>
#include <dsl/operations/recurrent/facts.hpp>

#include <cstddef>

namespace dsl::plain::TYPENET_MODE {

/// A step of an lstm or a gru: its sizes, and the numbers that it saves for the backward step.
template <class T>
struct recurrent_step {
  explicit recurrent_step(host::bound_step<T> const& bound)
      : b(bound),
        y(bound.step->what == action::forward ? bound.to.shape : bound.dy.shape),
        is_gru(bound.node->kind == op::gru),
        gates(recurrent_gates(bound.node->kind)),
        units(y.channels),
        inputs(bound.x.shape.channels),
        length(bound.x.shape.area()),
        is_whole(y.area() == length) {}

  /// Returns saved number k of a unit.
  T& saved(int n, long long t, int k, int u) const {
    return b.states[((n * length + t) * operations::saved_numbers + k) * units + u];
  }
  /// Returns the unit's output at position t, which is 0 before the first position.
  double output(int n, long long t, int u) const {
    if (t < 0) return 0;
    if (is_gru) return static_cast<double>(saved(n, t, 4, u));
    return static_cast<double>(saved(n, t, 3, u)) * detail::tanh(static_cast<double>(saved(n, t, 4, u)));
  }
  double output_gradient(int n, long long t, int u) const {
    if (is_whole) return static_cast<double>(b.dy(n, u, t));
    return t == length - 1 ? static_cast<double>(b.dy(n, u, 0)) : 0;
  }

  host::bound_step<T> const& b;
  shape y;
  bool is_gru;
  int gates, units, inputs;
  long long length;
  bool is_whole;  // whether the output is that of all positions
};

inline double logistic(double x) { return 1 / (1 + detail::exp(-x)); }

/// Computes for each position, with x its input, h the output and c the cell before it (Hochreiter & Schmidhuber 1997,
/// with the forget gate of Gers et al. 2000): i, f, o = logistic(W x + R h + b), g = tanh(W x + R h + b), c = f c + i
/// g, h = o tanh(c). A gru (Cho et al. 2014; in cuDNN's and PyTorch's form): r, z = logistic(W x + R h + b), n = tanh(W
/// x + b + r (R h + b')), h = (1 - z) n + z h.
template <class T>
void recurrent_forward(host::bound_step<T> const& b, step_context const&) {
  recurrent_step<T> const s(b);
  detail::zeros<double> memory;
  memory.allocate(3 * static_cast<std::size_t>(s.units));
  double *before = memory.data(), *now = before + s.units, *const cell = now + s.units;
  for (int n = 0; n < b.x.batch; ++n) {
    for (int u = 0; u < s.units; ++u) before[u] = cell[u] = 0;
    for (long long t = 0; t < s.length; ++t) {
      for (int u = 0; u < s.units; ++u) {
        double of_input[4] = {}, of_output[4] = {};
        for (int k = 0; k < s.gates; ++k) {
          long long const row = 1LL * k * s.units + u;
          of_input[k] = static_cast<double>(b.parameter(role::bias)[row]);
          of_output[k] = static_cast<double>(b.parameter(role::recurrent_bias)[row]);
          for (int c = 0; c < s.inputs; ++c)
            of_input[k] += static_cast<double>(b.parameter(role::kernel)[row * s.inputs + c]) * b.x(n, c, t);
          for (int v = 0; v < s.units; ++v)
            of_output[k] += static_cast<double>(b.parameter(role::recurrent_kernel)[row * s.units + v]) * before[v];
        }
        double numbers[operations::saved_numbers] = {};
        double const first = logistic(of_input[0] + of_output[0]), second = logistic(of_input[1] + of_output[1]);
        if (s.is_gru) {
          numbers[0] = detail::tanh(of_input[2] + first * of_output[2]);
          numbers[1] = first, numbers[2] = second, numbers[3] = of_output[2];
          now[u] = numbers[4] = (1 - second) * numbers[0] + second * before[u];
        } else {
          numbers[0] = first, numbers[1] = second;
          numbers[2] = detail::tanh(of_input[2] + of_output[2]);
          numbers[3] = logistic(of_input[3] + of_output[3]);
          cell[u] = numbers[4] = second * cell[u] + first * numbers[2];
          now[u] = numbers[3] * detail::tanh(cell[u]);
        }
        for (int k = 0; b.states && k < operations::saved_numbers; ++k)
          s.saved(n, t, k, u) = static_cast<T>(numbers[k]);
        if (s.is_whole || t == s.length - 1) b.to(n, u, s.is_whole ? t : 0) = static_cast<T>(now[u]);
      }
      double* const other = before;
      before = now, now = other;
    }
  }
}

/// The gradients of a unit's gates at one position, before their functions: by what the input and by what the output
/// before it add to them, in the order of the kernels' rows.
struct gate_gradients {
  double of_input[4] = {}, of_output[4] = {};
};

/// Computes the gates' gradients from `dh`, that of the unit's output. `carried` is an lstm's gradient of the cell, and
/// becomes that of the cell before; for a gru it becomes the part of the gradient of the output before that does not
/// pass through its gates.
template <class T>
gate_gradients gradients_of_gates(recurrent_step<T> const& s, int n, long long t, int u, double dh, double& carried) {
  double k[operations::saved_numbers];
  for (int i = 0; i < operations::saved_numbers; ++i) k[i] = static_cast<double>(s.saved(n, t, i, u));
  gate_gradients d;
  if (s.is_gru) {
    double const hidden = s.output(n, t - 1, u), r = k[1], z = k[2];
    double const dn = dh * (1 - z) * (1 - k[0] * k[0]);
    d.of_input[0] = d.of_output[0] = dn * k[3] * r * (1 - r);
    d.of_input[1] = d.of_output[1] = dh * (hidden - k[0]) * z * (1 - z);
    d.of_input[2] = dn, d.of_output[2] = dn * r;
    carried = dh * z;
    return d;
  }
  double const i = k[0], f = k[1], g = k[2], o = k[3], height = detail::tanh(k[4]);
  double const before = t > 0 ? static_cast<double>(s.saved(n, t - 1, 4, u)) : 0;
  double const dc = carried + dh * o * (1 - height * height);
  d.of_input[0] = dc * g * i * (1 - i);
  d.of_input[1] = dc * before * f * (1 - f);
  d.of_input[2] = dc * i * (1 - g * g);
  d.of_input[3] = dh * height * o * (1 - o);
  for (int gate = 0; gate < 4; ++gate) d.of_output[gate] = d.of_input[gate];
  carried = dc * f;
  return d;
}

/// Computes the gradients from the last position to the first (backpropagation through time).
template <class T>
void recurrent_backward(host::bound_step<T> const& b, step_context const&) {
  recurrent_step<T> const s(b);
  long long const rows = 1LL * s.gates * s.units;
  auto const clear = [](T* at, long long count) {
    for (long long i = 0; at && i < count; ++i) at[i] = 0;
  };
  T *const dw = b.gradient(role::kernel), *const dr = b.gradient(role::recurrent_kernel);
  T *const db = b.gradient(role::bias), *const dbr = b.gradient(role::recurrent_bias);
  clear(dw, rows * s.inputs), clear(dr, rows * s.units), clear(db, rows), clear(dbr, rows);
  detail::zeros<double> memory;
  memory.allocate(3 * static_cast<std::size_t>(s.units) + static_cast<std::size_t>(s.inputs));
  double *const carried = memory.data(), *before = carried + s.units,
                *now = before + s.units, *const dx = now + s.units;
  for (int n = 0; n < b.x.batch; ++n) {
    for (int u = 0; u < s.units; ++u) carried[u] = now[u] = 0;
    for (long long t = s.length - 1; t >= 0; --t) {
      for (int u = 0; u < s.units; ++u) before[u] = 0;
      for (int c = 0; c < s.inputs; ++c) dx[c] = 0;
      for (int u = 0; u < s.units; ++u) {
        gate_gradients const d = gradients_of_gates(s, n, t, u, now[u] + s.output_gradient(n, t, u), carried[u]);
        if (s.is_gru) before[u] += carried[u];
        for (int k = 0; k < s.gates; ++k) {
          long long const row = 1LL * k * s.units + u;
          for (int c = 0; c < s.inputs; ++c) {
            if (dw) dw[row * s.inputs + c] += static_cast<T>(d.of_input[k] * static_cast<double>(b.x(n, c, t)));
            dx[c] += d.of_input[k] * static_cast<double>(b.parameter(role::kernel)[row * s.inputs + c]);
          }
          for (int v = 0; v < s.units; ++v) {
            if (dr) dr[row * s.units + v] += static_cast<T>(d.of_output[k] * s.output(n, t - 1, v));
            before[v] += d.of_output[k] * static_cast<double>(b.parameter(role::recurrent_kernel)[row * s.units + v]);
          }
          if (db) db[row] += static_cast<T>(d.of_input[k]);
          if (dbr) dbr[row] += static_cast<T>(d.of_output[k]);
        }
      }
      for (int c = 0; b.to.data && c < s.inputs; ++c) {
        T& to = b.to(n, c, t);
        to = static_cast<T>((b.accumulate ? static_cast<double>(to) : 0) + dx[c]);
      }
      double* const other = before;
      before = now, now = other;
    }
  }
}

template <class T>
inline constexpr loops<T> recurrent_loops{.forward = recurrent_forward<T>, .backward = recurrent_backward<T>};

template <class T>
inline constexpr loops<T> loops_for<T, op::lstm> = recurrent_loops<T>;
template <class T>
inline constexpr loops<T> loops_for<T, op::gru> = recurrent_loops<T>;

}  // namespace dsl::plain::TYPENET_MODE
