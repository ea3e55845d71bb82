// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/dsl.hpp>
#include <dsl/executors/cuda.hpp>
#include <dsl/executors/cuda/engine.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "support/drawn.hpp"
#include "support/gpu/ledger.hpp"

// What the checks of the CUDA executor share, on a real device or a simulated one.

namespace dsl::test {

/// Where engines are made.
struct gpu {
  cu::api const& calls;
  int device = 0;
  std::string cache{};                      // "": nothing is kept
  long long workspace_limit = 64LL << 20;   // bytes that one convolution may use
  std::string fixtures = "tests/fixtures";  // the saved trajectories

  bool deterministic = false;  // plans are not timed, which takes most of the time there is
  int queues = 2;              // 1: no step goes on beside another

  gpu untimed() const {
    gpu g = *this;
    g.deterministic = true;
    return g;
  }
  gpu with(cu::api const& other) const {
    return {other, device, cache, workspace_limit, fixtures, deterministic, queues};
  }
  std::unique_ptr<cu::engine> make(graph_view const& g, engine_options const& o, precision p) const {
    return std::make_unique<cu::engine>(calls, g, o,
                                        cu::engine_settings{.precision = p,
                                                            .deterministic = deterministic,
                                                            .device = device,
                                                            .cache = cache,
                                                            .queues = queues,
                                                            .workspace_limit = workspace_limit});
  }
};

inline constexpr precision all_precisions[] = {precision::fp32_strict, precision::tf32, precision::bf16};
inline std::string name_of(precision p) {
  return p == precision::bf16 ? "bf16" : p == precision::tf32 ? "tf32" : "fp32_strict";
}

/// Returns all parameters, one after the other.
inline std::vector<float> parameters_of(engine& e) {
  std::vector<float> all;
  for (int k = 0; k < e.graph().size.parameters; ++k) {
    std::vector<float> const values = parameter_of(e, k);
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}
/// Returns the root mean square of the difference relative to that of b; far apart if a is not finite.
template <class T>
comparison difference(std::vector<T> const& a, std::vector<T> const& b) {
  auto const values = static_cast<long long>(a.size());
  if (a.size() != b.size()) return {1e30, values};
  double apart = 0, size = 1e-24;
  for (std::size_t i = 0; i < a.size(); ++i) {
    double const x = static_cast<double>(a[i]), y = static_cast<double>(b[i]);
    if (!std::isfinite(x) || !std::isfinite(y)) return {1e30, values};
    apart += (x - y) * (x - y);
    size += y * y;
  }
  return {std::sqrt(apart / size), values};
}
/// Compares one number, relative to the larger of 1 and b.
inline comparison difference(double a, double b) {
  return {std::isfinite(a) && std::isfinite(b) ? std::abs(a - b) / std::max(1.0, std::abs(b)) : 1e30, 1};
}
/// Counts the numbers whose bits differ.
inline comparison different_bits(std::vector<float> const& a, std::vector<float> const& b) {
  auto const values = static_cast<long long>(a.size());
  if (a.size() != b.size()) return {1e30, values};
  double count = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    count += std::bit_cast<std::uint32_t>(a[i]) != std::bit_cast<std::uint32_t>(b[i]) ? 1 : 0;
  return {count, values};
}

}  // namespace dsl::test
