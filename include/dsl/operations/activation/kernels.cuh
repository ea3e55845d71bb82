R"cuda(
// SPDX-License-Identifier: MIT
// Activations and their gradients. A thread computes L channels of a pixel. `function` is the number of a dsl::function.

namespace dsl_kernels {

struct activation_shape {
  int pixels, channels, lanes;
  int function;
  float alpha;
  slice x, y;
};

constexpr int relu = 0, leaky_relu = 1, elu = 2, sigmoid = 3, tanh = 4, silu = 5, relu6 = 6, hard_sigmoid = 7,
              hard_swish = 8, gelu = 9, gelu_tanh = 10, mish = 11, softplus = 12, hard_tanh = 13;

// Formulas of operations/activation/host.hpp; NaN stays NaN.
DEVICE float up_to_6(float x) { return x < 0 ? 0.0f : x > 6 ? 6.0f : x; }
DEVICE float logistic(float x) { return 1 / (1 + MATH(expf)(-x)); }
DEVICE float soft_ramp(float x) { return (x > 0 ? x : 0.0f) + MATH(log1pf)(MATH(expf)(x > 0 ? -x : x)); }
DEVICE float normal_share(float x) { return 0.5f * MATH(erfcf)(x * -0.70710678118654752440f); }
DEVICE float gelu_argument(float x) { return 1.5957691216057307118f * (x + 0.044715f * x * x * x); }

DEVICE float activation(int function, float x, float alpha) {
  switch (function) {
    case relu: return x < 0 ? 0.0f : x;
    case leaky_relu: return x > 0 ? x : alpha * x;
    case elu: return x > 0 ? x : alpha * MATH(expm1f)(x);
    case sigmoid: return logistic(x);
    case tanh: return MATH(tanhf)(x);
    case silu: return x / (1 + MATH(expf)(-x));
    case relu6: return up_to_6(x);
    case hard_sigmoid: return up_to_6(x + 3) / 6;
    case hard_swish: return x < -3 ? 0.0f : x * (up_to_6(x + 3) / 6);
    case gelu: return x * normal_share(x);
    case gelu_tanh: return x * logistic(gelu_argument(x));
    case mish: return x * MATH(tanhf)(soft_ramp(x));
    case hard_tanh: return x < -1 ? -1.0f : x > 1 ? 1.0f : x;
    case softplus: break;
  }
  return soft_ramp(x);
}

// `from` is the activation's output for relu, leaky_relu, elu, sigmoid, tanh, relu6, hard_sigmoid and hard_tanh,
// and its input for the others.
DEVICE float activation_slope(int function, float from, float alpha) {
  switch (function) {
    case relu: return from > 0 ? 1.0f : 0.0f;
    case leaky_relu: return from > 0 ? 1.0f : alpha;
    case elu: return from > 0 ? 1.0f : from + alpha;
    case sigmoid: return from * (1 - from);
    case tanh: return 1 - from * from;
    case silu: {
      float const s = logistic(from);
      return s * (1 + from * (1 - s));
    }
    case relu6: return from > 0 && from < 6 ? 1.0f : 0.0f;
    case hard_sigmoid: return from > 0 && from < 1 ? 1.0f / 6 : 0.0f;
    case hard_swish: return from < -3 ? 0.0f : from > 3 ? 1.0f : from / 3 + 0.5f;
    case gelu: return normal_share(from) + from * 0.39894228040143267794f * MATH(expf)(from * from * -0.5f);
    case gelu_tanh: {
      float const s = logistic(gelu_argument(from));
      if (s == 0 || s == 1) return s;  // otherwise 0 times an x^2 that has overflowed
      return s + from * s * (1 - s) * 1.5957691216057307118f * (1 + 0.134145f * from * from);
    }
    case mish: {
      float const t = MATH(tanhf)(soft_ramp(from));
      return t + from * (1 - t * t) * logistic(from);
    }
    case hard_tanh: return from > -1 && from < 1 ? 1.0f : 0.0f;
    case softplus: break;
  }
  return logistic(from);
}

template <int L, class T>
DEVICE void activation_forward_lanes(activation_shape const& s, T const* x, T* y) {
  int const unit = global_thread();
  if (unit >= s.pixels * (s.channels / L)) return;
  place const p = place_of<L>(unit, s.channels);
  floats<L> v = load<L>(at(x, s.x, p.pixel, p.channel));
  for (int i = 0; i < L; ++i) v.v[i] = activation(s.function, v.v[i], s.alpha);
  store<L>(at(y, s.y, p.pixel, p.channel), v);
}

// y may be x.
template <class T, int L = 0>
KERNEL void activation_forward(activation_shape s, T const* x, T* y) {
  if constexpr (L > 0)
    activation_forward_lanes<L>(s, x, y);
  else if (s.lanes == 1)
    activation_forward_lanes<1>(s, x, y);
  else
    activation_forward_lanes<full_lanes<T>>(s, x, y);
}

struct activation_backward_shape {
  int pixels, channels, lanes;
  int function;
  float alpha;
  slice from, dy, dx;
  int accumulate;
};

template <int L, class T>
DEVICE void activation_backward_lanes(activation_backward_shape const& s, T const* from, T const* dy, T* dx) {
  int const unit = global_thread();
  if (unit >= s.pixels * (s.channels / L)) return;
  place const p = place_of<L>(unit, s.channels);
  floats<L> const f = load<L>(at(from, s.from, p.pixel, p.channel));
  floats<L> d = load<L>(at(dy, s.dy, p.pixel, p.channel));
  for (int i = 0; i < L; ++i) d.v[i] *= activation_slope(s.function, f.v[i], s.alpha);
  put<L>(at(dx, s.dx, p.pixel, p.channel), d, s.accumulate);
}

// dx may be dy.
template <class T, int L = 0>
KERNEL void activation_backward(activation_backward_shape s, T const* from, T const* dy, T* dx) {
  if constexpr (L > 0)
    activation_backward_lanes<L>(s, from, dy, dx);
  else if (s.lanes == 1)
    activation_backward_lanes<1>(s, from, dy, dx);
  else
    activation_backward_lanes<full_lanes<T>>(s, from, dy, dx);
}

}  // namespace dsl_kernels
)cuda"
