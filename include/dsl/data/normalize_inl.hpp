// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/data/dataset.hpp>
#include <dsl/data/normalize.hpp>
#include <dsl/detail/math.hpp>
#include <dsl/detail/mode.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace dsl::detail::TYPENET_MODE {

TYPENET_INLINE void find_moments(dataset& data, bool by_channel) {
  auto const numbers = static_cast<std::size_t>(data.sample.size());
  auto const area = static_cast<std::size_t>(data.sample.area());
  auto const group = [&](std::size_t p) { return by_channel ? p / area : p; };
  std::size_t const groups = by_channel ? static_cast<std::size_t>(data.sample.channels) : numbers;
  double const count = static_cast<double>(data.size) * static_cast<double>(numbers) / static_cast<double>(groups);
  std::vector<double> sums(groups), squares(groups);
  auto const each = [&](auto f) {
    for (std::int64_t i = 0; i < data.size; ++i)
      for (std::size_t p = 0; p < numbers; ++p)
        f(group(p), data.has_bytes() ? static_cast<double>(data.pixels(i)[p]) : static_cast<double>(data.reals(i)[p]));
  };
  each([&](std::size_t g, double x) { sums[g] += x; });
  for (double& sum : sums) sum /= count > 0 ? count : 1;
  each([&](std::size_t g, double x) { squares[g] += (x - sums[g]) * (x - sums[g]); });
  auto mean = std::make_shared<std::vector<float>>(numbers);
  auto deviation = std::make_shared<std::vector<float>>(numbers);
  for (std::size_t p = 0; p < numbers; ++p) {
    (*mean)[p] = static_cast<float>(sums[group(p)]);
    auto const d = static_cast<float>(squares[group(p)] > 0 ? detail::sqrt(squares[group(p)] / count) : 1.0);
    (*deviation)[p] = d > 0 ? d : 1;
  }
  data.mean = mean, data.deviation = deviation;
}

}  // namespace dsl::detail::TYPENET_MODE
