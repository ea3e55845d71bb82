// SPDX-License-Identifier: MIT
// Compares the activations' vector kernels with the C library in double, with every instruction set of this processor.
#include "support/all_functions.hpp"
#include "support/catch.hpp"
#include "support/larger.hpp"

#include <dsl/executors/host/vector_kernels.hpp>
#include <dsl/graph/facts.hpp>

#include <cmath>
#include <limits>
#include <vector>

using namespace dsl;

namespace {

constexpr float alpha = 0.3F;

double share(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }
double ramp(double x) { return std::fmax(x, 0) + std::log1p(std::exp(-std::fabs(x))); }
double gelu_argument(double x) { return 2 * std::sqrt(2 / std::acos(-1.0)) * (x + 0.044715 * x * x * x); }

double wanted(function f, double x) {
  switch (f) {
    case function::leaky_relu: return x > 0 ? x : static_cast<double>(alpha) * x;
    case function::elu: return x > 0 ? x : static_cast<double>(alpha) * std::expm1(x);
    case function::sigmoid: return 1 / (1 + std::exp(-x));
    case function::tanh: return std::tanh(x);
    case function::silu: return x / (1 + std::exp(-x));
    case function::relu6: return std::fmin(std::fmax(x, 0), 6);
    case function::hard_sigmoid: return std::fmin(std::fmax(x + 3, 0), 6) / 6;
    case function::hard_swish: return x * std::fmin(std::fmax(x + 3, 0), 6) / 6;
    case function::gelu: return x * share(x);
    case function::gelu_tanh: return x / (1 + std::exp(-gelu_argument(x)));
    case function::mish: return x * std::tanh(ramp(x));
    case function::softplus: return ramp(x);
    case function::hard_tanh: return std::fmin(std::fmax(x, -1), 1);
    default: return x > 0 ? x : 0;
  }
}
/// Returns the slope from what the function's row reads: the activation's output or its input.
double slope(function f, double v) {
  switch (f) {
    case function::leaky_relu: return v > 0 ? 1 : static_cast<double>(alpha);
    case function::elu: return v > 0 ? 1 : v + static_cast<double>(alpha);
    case function::sigmoid: return v * (1 - v);
    case function::tanh: return 1 - v * v;
    case function::silu: {
      double const s = 1 / (1 + std::exp(-v));
      return s * (1 + v * (1 - s));
    }
    case function::relu6: return v > 0 && v < 6 ? 1 : 0;
    case function::hard_sigmoid: return v > 0 && v < 1 ? 1.0 / 6 : 0;
    case function::hard_swish: return v < -3 ? 0 : v > 3 ? 1 : v / 3 + 0.5;
    case function::gelu: return share(v) + v * std::exp(-v * v / 2) / std::sqrt(2 * std::acos(-1.0));
    case function::gelu_tanh: {
      if (std::fabs(v) > 50) return v > 0 ? 1 : 0;
      double const s = 1 / (1 + std::exp(-gelu_argument(v)));
      return s + v * s * (1 - s) * 2 * std::sqrt(2 / std::acos(-1.0)) * (1 + 3 * 0.044715 * v * v);
    }
    case function::mish: {
      double const t = std::tanh(ramp(v));
      return t + v * (1 - t * t) / (1 + std::exp(-v));
    }
    case function::softplus: return 1 / (1 + std::exp(-v));
    case function::hard_tanh: return v > -1 && v < 1 ? 1 : 0;
    default: return v > 0 ? 1 : 0;
  }
}

std::vector<float> numbers() {
  std::vector<float> x;
  for (int i = -16000; i <= 16000; ++i) x.push_back(static_cast<float>(i) / 128);
  for (double v = 1e-30; v < 100; v *= 1.3)
    for (double sign : {-1.0, 1.0}) x.push_back(static_cast<float>(sign * v));
  for (float far : {-200.0F, -1e10F, -1e30F, -3e38F, 1e30F, 3e38F}) x.push_back(far);
  while (x.size() % 16 != 0) x.push_back(0);
  return x;
}

/// Returns how many roundings of an exponential's argument show in the result: as many as its exponent is large.
double exponent(function f, double x) {
  if (f == function::gelu) return x < 0 ? x * x : 0;
  if (f == function::gelu_tanh) return x < 0 ? 3 * -gelu_argument(x) : 0;
  return 0;
}

}  // namespace

// The longest computation of a result is silu's: ln 2 in two parts, a series with two roundings that count, a power of
// 2, a sum, a quotient, a product: 8 roundings. Below -88, silu is at most 1e-36 instead of less. gelu takes the
// exponential of -x^2 / 2, and gelu_tanh that of a cubic polynomial; both lose as many roundings where the result is
// near 0.
TEST_CASE("activations are right to 8 roundings and those of exponents, and keep a NaN", "[native]") {
  std::vector<float> const x = numbers();
  for (auto set : {host::instructions::baseline, host::instructions::avx2, host::instructions::avx512}) {
    if (!host::has(set)) continue;
    host::vector_kernels const& k = host::vector_kernels_of(set);
    long long const count = static_cast<long long>(x.size()) / k.lanes;
    for (function f : test::all_functions()) {
      INFO(host::name_of(set) << ", function " << static_cast<int>(f));
      std::vector<float> y(x.size());
      k.activation({f, alpha, x.data(), nullptr, y.data(), count});
      double worst = 0;
      for (std::size_t i = 0; i < x.size(); ++i) {
        double const exact = wanted(f, static_cast<double>(x[i]));
        worst = test::larger(worst, std::fabs(static_cast<double>(y[i]) - exact) / (std::fabs(exact) + 1e-29) /
                                        (8 + exponent(f, static_cast<double>(x[i]))));
      }
      CHECK(worst < 0x1p-24);
      std::vector<float> const nan(16, std::numeric_limits<float>::quiet_NaN());
      k.activation({f, alpha, nan.data(), nullptr, y.data(), 16 / k.lanes});
      for (int i = 0; i < 16; ++i) CHECK(std::isnan(y[static_cast<std::size_t>(i)]));
    }
  }
}

TEST_CASE("gradients of activations are products with the slope, added where asked", "[native]") {
  std::vector<float> const x = numbers();
  for (auto set : {host::instructions::baseline, host::instructions::avx2, host::instructions::avx512}) {
    if (!host::has(set)) continue;
    host::vector_kernels const& k = host::vector_kernels_of(set);
    long long const count = static_cast<long long>(x.size()) / k.lanes;
    for (function f : test::all_functions())
      for (bool accumulate : {false, true}) {
        INFO(host::name_of(set) << ", function " << static_cast<int>(f));
        std::vector<float> dy(x.size()), dx(x.size(), 3.0F);
        for (std::size_t i = 0; i < x.size(); ++i) dy[i] = static_cast<float>(std::cos(static_cast<double>(i)));
        k.activation({f, alpha, x.data(), dy.data(), dx.data(), count, accumulate});
        double worst = 0;
        for (std::size_t i = 0; i < x.size(); ++i) {
          double const v = static_cast<double>(x[i]), d = static_cast<double>(dy[i]);
          if (std::fabs(v) > 1000 &&
              facts_of({.kind = op::activation, .function = f}).reads[0] == operations::values::output)
            continue;
          // each term of a slope is rounded, also where they cancel
          double const size = std::fabs(d) * (1 + std::fabs(v) + v * v) + 3 * accumulate + 1e-30;
          double const exact = d * slope(f, v) + 3 * accumulate;
          worst = test::larger(worst, std::fabs(static_cast<double>(dx[i]) - exact) / size);
        }
        CHECK(worst < 8 * 0x1p-24);
      }
  }
}
