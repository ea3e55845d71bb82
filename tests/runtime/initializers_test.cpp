// SPDX-License-Identifier: MIT
#include "support/catch.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include <dsl/dsl.hpp>
#include <dsl/training/fingerprint.hpp>

// Tests the initial values of kernels, by the layers' initializers.

namespace {

using namespace dsl;

std::vector<float> kernel_of(trainer& t, int number) {
  for (int k = 0; k < t.graph().size.parameters; ++k) {
    parameter const& p = t.graph().parameters[k];
    if (p.role != role::kernel || number-- > 0) continue;
    std::vector<float> all(static_cast<std::size_t>(p.count()));
    t.engine().read_parameter(k, all.data());
    return all;
  }
  return {};
}

struct moments {
  double mean = 0, deviation = 0, largest = 0;
};
moments moments_of(std::vector<float> const& all) {
  moments m;
  for (float v : all) m.mean += static_cast<double>(v) / static_cast<double>(all.size());
  for (float v : all) {
    double const d = static_cast<double>(v) - m.mean;
    m.deviation += d * d / static_cast<double>(all.size());
    m.largest = std::max(m.largest, std::abs(static_cast<double>(v)));
  }
  m.deviation = std::sqrt(m.deviation);
  return m;
}

/// Returns the index of each parameter's layer in the network, with which its name in a file begins.
template <class... Layers>
constexpr int places() {
  graph_view const g = network<image<2, 6, 6>, Layers...>::view();
  int all = 0;
  for (int k = 0; k < g.size.parameters; ++k) all = 10 * all + g.scopes[g.nodes[g.parameters[k].node].scope].index;
  return all;
}
using he = init::he_normal;
static_assert(places<initialized<he, conv2d<3, 1>, relu, conv2d<3, 1>>, conv2d<2, 1>>() ==
              places<conv2d<3, 1>, relu, conv2d<3, 1>, conv2d<2, 1>>());
static_assert(places<initialized<he, repeat<2, conv2d<3, 1>, relu>>, conv2d<2, 1>>() ==
              places<repeat<2, conv2d<3, 1>, relu>, conv2d<2, 1>>());

}  // namespace

TEST_CASE("initializers: each has its deviation and its bounds") {
  // For 200 x 300 numbers, a mean is within 5 / sqrt(60,000) deviations of its value, and a deviation within 2 %.
  auto const check = []<class How>(How, double deviation, double bound) {
    trainer t = compile<network<features<300>, initialized<How, dense<200>>, softmax>>(reference{}, sgd{});
    std::vector<float> const all = kernel_of(t, 0);
    REQUIRE(all.size() == 60'000);
    moments const m = moments_of(all);
    CHECK(std::abs(m.mean) < 0.0205 * deviation);
    CHECK(m.deviation == approx(deviation).epsilon(0.02));
    CHECK(m.largest <= bound * (1 + 1e-6));
    CHECK(m.largest > 0.98 * bound);
  };
  double const glorot = std::sqrt(2.0 / 500), he = std::sqrt(2.0 / 300), cut = 0.8796256610342398;
  check(init::glorot_uniform{}, glorot, std::sqrt(3.0) * glorot);
  check(init::he_uniform{}, he, std::sqrt(3.0) * he);
  check(init::glorot_normal{}, glorot, 2 * glorot / cut);
  check(init::he_normal{}, he, 2 * he / cut);
  check(init::truncated_normal<0.25>{}, 0.25 * cut, 0.5);
}

TEST_CASE("initializers: the innermost one counts, kernels alone follow it, and others keep their bits") {
  using plain = network<image<2, 6, 6>, conv2d<4, 3>, batch_norm<>, relu, conv2d<3, 3>, flatten, dense<5>, softmax>;
  using chosen =
      network<image<2, 6, 6>, conv2d<4, 3>,
              initialized<init::constant<0.5>, batch_norm<>, relu, initialized<init::he_normal, conv2d<3, 3>>>, flatten,
              initialized<init::zeros, dense<5>>, softmax>;
  trainer a = compile<plain>(reference{}, sgd{}), b = compile<chosen>(reference{}, sgd{});
  CHECK(kernel_of(a, 0) == kernel_of(b, 0));
  CHECK(kernel_of(a, 1) != kernel_of(b, 1));
  CHECK(kernel_of(b, 2) == std::vector<float>(kernel_of(b, 2).size()));
  for (int k = 0; k < b.graph().size.parameters; ++k) {
    parameter const& p = b.graph().parameters[k];
    std::vector<float> v(static_cast<std::size_t>(p.count()));
    b.engine().read_parameter(k, v.data());
    if (p.role == role::gamma || p.role == role::moving_variance) CHECK(v == std::vector<float>(v.size(), 1.0F));
    if (p.role == role::bias || p.role == role::beta) CHECK(v == std::vector<float>(v.size()));
  }
  trainer again = compile<chosen>(reference{}, sgd{}), other = compile<chosen>(reference{}, sgd{}, {.seed = 1});
  CHECK(kernel_of(again, 1) == kernel_of(b, 1));
  CHECK(kernel_of(other, 1) != kernel_of(b, 1));
  // states can be exchanged between them
  CHECK(detail::fingerprint_of(plain::view()) == detail::fingerprint_of(chosen::view()));
}
