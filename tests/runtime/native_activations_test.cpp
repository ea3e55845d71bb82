// SPDX-License-Identifier: MIT
// The activations' vector kernels against the C library in double, with every instruction set of this processor.
#include "support/catch.hpp"

#include <dsl/executors/host/memory_kernels.hpp>

#include <cmath>
#include <limits>
#include <vector>

using namespace dsl;

namespace {

constexpr float alpha = 0.3F;

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
    default: return x > 0 ? x : 0;
  }
}
/// By what the activation's output was, and silu's and hard_swish's input.
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

constexpr function all[] = {function::relu,    function::leaky_relu,   function::elu,
                            function::sigmoid, function::tanh,         function::silu,
                            function::relu6,   function::hard_sigmoid, function::hard_swish};

}  // namespace

// The longest way from x to a result, silu's: ln 2 in two parts, a series of two roundings that count, a power of 2, a
// sum, a quotient, a product: 8 roundings. Beyond -88 silu is at most 1e-36 in place of less.
TEST_CASE("activations are right to 8 roundings, and keep a NaN", "[native]") {
  std::vector<float> const x = numbers();
  for (auto set : {host::instructions::baseline, host::instructions::avx2, host::instructions::avx512}) {
    if (!host::has(set)) continue;
    host::memory_kernels const& k = host::memory_kernels_of(set);
    long long const count = static_cast<long long>(x.size()) / k.lanes;
    for (function f : all) {
      INFO(host::name_of(set) << ", function " << static_cast<int>(f));
      std::vector<float> y(x.size());
      k.activation({f, alpha, x.data(), nullptr, y.data(), count});
      double worst = 0;
      for (std::size_t i = 0; i < x.size(); ++i) {
        double const exact = wanted(f, static_cast<double>(x[i]));
        worst = std::fmax(worst, std::fabs(static_cast<double>(y[i]) - exact) / (std::fabs(exact) + 1e-29));
      }
      CHECK(worst < 8 * 0x1p-24);
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
    host::memory_kernels const& k = host::memory_kernels_of(set);
    long long const count = static_cast<long long>(x.size()) / k.lanes;
    for (function f : all)
      for (bool accumulate : {false, true}) {
        INFO(host::name_of(set) << ", function " << static_cast<int>(f));
        std::vector<float> dy(x.size()), dx(x.size(), 3.0F);
        for (std::size_t i = 0; i < x.size(); ++i) dy[i] = static_cast<float>(std::cos(static_cast<double>(i)));
        k.activation({f, alpha, x.data(), dy.data(), dx.data(), count, accumulate});
        double worst = 0;
        for (std::size_t i = 0; i < x.size(); ++i) {
          double const v = static_cast<double>(x[i]), d = static_cast<double>(dy[i]);
          if (std::fabs(v) > 1000 && f != function::silu) continue;  // the others' slopes follow from outputs
          // each term of a slope is rounded, also where they cancel
          double const size = std::fabs(d) * (1 + std::fabs(v) + v * v) + 3 * accumulate + 1e-30;
          double const exact = d * slope(f, v) + 3 * accumulate;
          worst = std::fmax(worst, std::fabs(static_cast<double>(dx[i]) - exact) / size);
        }
        CHECK(worst < 8 * 0x1p-24);
      }
  }
}
