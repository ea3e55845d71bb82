// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/math.hpp>
#include <dsl/detail/philox.hpp>
#include <dsl/executors/engine.hpp>

#include <vector>

namespace dsl {

/// Fresh parameters, from the seed and each parameter's number alone: kernels uniform in +-sqrt(6 / (fan_in + fan_out))
/// (Glorot & Bengio 2010), gammas and running variances 1, the rest 0.
[[gnu::cold]] inline void initialize(engine& e, std::uint64_t seed) {
  std::vector<float> values;
  for (int k = 0; k < e.graph().size.parameters; ++k) {
    parameter const& p = e.graph().parameters[k];
    bool const one = p.role == role::gamma || p.role == role::moving_variance;
    values.assign(static_cast<std::size_t>(p.count()), one ? 1.0F : 0.0F);
    if (p.role == role::kernel) {
      auto const limit = static_cast<float>(detail::sqrt(6.0 / (1.0 * p.fan_in + p.fan_out)));
      detail::random_stream random(seed, detail::purpose::initial_weights, static_cast<std::uint64_t>(k));
      for (float& v : values) v = random.uniform(-limit, limit);
    }
    e.write_parameter(k, values.data());
    values.assign(values.size(), 0.0F);
    if (p.trainable())
      for (int s = 0; s < e.options().update.slots(); ++s) e.write_slot(s, k, values.data());
  }
}

}  // namespace dsl
