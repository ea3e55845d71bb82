// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/dsl.hpp>
#include <dsl/executors/cuda.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "support/gpu/ledger.hpp"

// What the checks of the CUDA executor share, on a real device or a simulated one.

namespace dsl::test {

/// Where engines are made.
struct gpu {
  cu::api const& calls;
  int device = 0;
  std::string cache{};                      // "": nothing is kept
  long long workspace_limit = 64LL << 20;   // bytes of one convolution
  std::string fixtures = "tests/fixtures";  // the saved trajectories

  bool deterministic = false;  // plans are not timed, which takes most of the time there is

  gpu untimed() const {
    gpu g = *this;
    g.deterministic = true;
    return g;
  }
  std::unique_ptr<cu::engine> make(graph_view const& g, engine_options const& o, precision p) const {
    return std::make_unique<cu::engine>(calls, g, o,
                                        cu::engine_settings{.precision = p,
                                                            .deterministic = deterministic,
                                                            .device = device,
                                                            .cache = cache,
                                                            .workspace_limit = workspace_limit});
  }
};

inline constexpr precision all_precisions[] = {precision::fp32_strict, precision::tf32, precision::bf16};
inline std::string name_of(precision p) {
  return p == precision::bf16 ? "bf16" : p == precision::tf32 ? "tf32" : "fp32_strict";
}

/// Pictures and labels of a batch, drawn from a seed.
struct drawn_batch {
  std::vector<float> images;
  std::vector<std::int32_t> labels;
  int size;

  drawn_batch(graph_view const& g, int n, std::uint64_t seed) : size(n) {
    dsl::detail::random_stream random(seed, dsl::detail::purpose::user, 0);
    images.resize(static_cast<std::size_t>(n * g.shape_of(g.nodes[0].output).size()));
    for (float& x : images) x = random.uniform(-1, 1);
    auto const classes = static_cast<std::uint32_t>(g.shape_of(g.result()).size());
    for (int i = 0; i < n; ++i) labels.push_back(static_cast<std::int32_t>(random.below(classes)));
  }
  batch_view view(std::uint64_t step, double rate) const { return {images.data(), labels.data(), size, step, rate}; }
};

/// A data set of `count` drawn pictures whose brightness tells the class.
inline dataset drawn_data(shape const& picture, int classes, int count) {
  dsl::detail::random_stream random(4, dsl::detail::purpose::user, 0);
  std::vector<std::uint8_t> pixels;
  std::vector<std::int32_t> labels;
  for (int n = 0; n < count; ++n) {
    labels.push_back(static_cast<std::int32_t>(random.below(static_cast<std::uint32_t>(classes))));
    std::uint32_t const base = 200U * static_cast<std::uint32_t>(labels.back()) / static_cast<std::uint32_t>(classes);
    for (long long i = 0; i < picture.size(); ++i) pixels.push_back(static_cast<std::uint8_t>(base + random.below(56)));
  }
  dataset all = in_memory_dataset(picture, classes, std::move(pixels), std::move(labels));
  all.mean = mean_picture(all);
  return all;
}

inline std::vector<float> parameter_of(engine& e, int k) {
  std::vector<float> values(static_cast<std::size_t>(e.graph().parameters[k].count()));
  e.read_parameter(k, values.data());
  return values;
}
/// All of them, one behind the other.
inline std::vector<float> parameters_of(engine& e) {
  std::vector<float> all;
  for (int k = 0; k < e.graph().size.parameters; ++k) {
    std::vector<float> const values = parameter_of(e, k);
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}
inline std::vector<float> result_of(engine& e, int program, int batch) {
  std::vector<float> y(static_cast<std::size_t>(batch * e.graph().shape_of(e.graph().result()).size()));
  e.read_result(program, y.data());
  return y;
}

/// The root of the mean square of what differs, as a part of the same of b; far apart where a is no number.
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
/// Of one number, relative to the larger of 1 and b.
inline comparison difference(double a, double b) {
  return {std::isfinite(a) && std::isfinite(b) ? std::abs(a - b) / std::max(1.0, std::abs(b)) : 1e30, 1};
}
/// How many of the numbers are not the same bits.
inline comparison different_bits(std::vector<float> const& a, std::vector<float> const& b) {
  auto const values = static_cast<long long>(a.size());
  if (a.size() != b.size()) return {1e30, values};
  double count = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    count += std::bit_cast<std::uint32_t>(a[i]) != std::bit_cast<std::uint32_t>(b[i]) ? 1 : 0;
  return {count, values};
}

}  // namespace dsl::test
