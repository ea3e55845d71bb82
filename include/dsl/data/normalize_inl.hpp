// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/data/dataset.hpp>
#include <dsl/data/normalize.hpp>
#include <dsl/data/sample_source.hpp>
#include <dsl/data/sample_stream.hpp>
#include <dsl/detail/math.hpp>
#include <dsl/detail/message.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/error.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

namespace dsl::detail::TYPENET_MODE {

using moments_of_numbers =
    std::pair<std::shared_ptr<std::vector<float> const>, std::shared_ptr<std::vector<float> const>>;

/// Computes the mean and the deviation of numbers; at(i, p) returns number p of sample i.
template <class At>
moments_of_numbers moments_of(std::int64_t samples, dsl::shape const& sample, bool by_channel, At at) {
  auto const numbers = static_cast<std::size_t>(sample.size());
  auto const area = static_cast<std::size_t>(sample.area());
  auto const group = [&](std::size_t p) { return by_channel ? p / area : p; };
  std::size_t const groups = by_channel ? static_cast<std::size_t>(sample.channels) : numbers;
  double const count = static_cast<double>(samples) * static_cast<double>(numbers) / static_cast<double>(groups);
  std::vector<double> sums(groups), squares(groups);
  auto const each = [&](auto f) {
    for (std::int64_t i = 0; i < samples; ++i)
      for (std::size_t p = 0; p < numbers; ++p) f(group(p), at(i, p));
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
  return {mean, deviation};
}

TYPENET_INLINE void find_moments(dataset& data, bool by_channel) {
  require_no_stream(data, "normalize");
  std::vector<float> room;
  std::int64_t at = -1;
  float const* numbers = nullptr;
  std::tie(data.mean, data.deviation) =
      moments_of(data.size, data.sample, by_channel, [&](std::int64_t i, std::size_t p) {
        if (data.has_bytes()) return static_cast<double>(data.pixels(i)[p]);
        if (i != at) numbers = floats_of(data, at = i, room);  // a source may decode it
        return static_cast<double>(numbers[p]);
      });
  if (!data.further) return;
  std::vector<further_input> all = *data.further;
  for (std::size_t k = 0; k < all.size(); ++k)
    std::tie(all[k].mean, all[k].deviation) =
        moments_of(data.size, all[k].sample, by_channel, [&](std::int64_t i, std::size_t p) {
          return static_cast<double>(data.further_numbers(static_cast<int>(k), i)[p]);
        });
  data.further = std::make_shared<std::vector<further_input> const>(std::move(all));
}

TYPENET_INLINE void take_moments(dataset& data, dataset const& from) {
  std::vector<further_input> all;
  if (data.further && from.further) all = *data.further;
  for (further_input& to : all)
    for (further_input const& f : *from.further) {
      if (f.name != to.name) continue;
      if (f.sample != to.sample)
        throw_error<data_error>({"normalize: input ", to.name, " must have the training set's shape, ",
                                 f.sample.channels, "x", f.sample.height, "x", f.sample.width, "; found ",
                                 to.sample.channels, "x", to.sample.height, "x", to.sample.width,
                                 "; correct one of the data sets"});
      to.mean = f.mean, to.deviation = f.deviation;
    }
  data.mean = from.mean, data.deviation = from.deviation;
  if (!all.empty()) data.further = std::make_shared<std::vector<further_input> const>(std::move(all));
}

}  // namespace dsl::detail::TYPENET_MODE
