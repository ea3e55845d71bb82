// SPDX-License-Identifier: MIT
#pragma once

#include <dsl/detail/math.hpp>
#include <dsl/detail/mode.hpp>
#include <dsl/detail/philox.hpp>
#include <dsl/detail/zeros.hpp>
#include <dsl/executors/engine.hpp>
#include <dsl/training/initialize.hpp>

#include <cstddef>
#include <cstdint>

namespace dsl::TYPENET_MODE {

TYPENET_INLINE void initialize(engine& e, std::uint64_t seed) {
  detail::zeros<float> values;
  for (int k = 0; k < e.graph().size.parameters; ++k) {
    parameter const& p = e.graph().parameters[k];
    bool const one = p.role == role::gamma || p.role == role::moving_variance;
    values.allocate(static_cast<std::size_t>(p.count()));
    for (std::size_t i = 0; one && i < values.size(); ++i) values[i] = 1;
    if (p.role == role::kernel) {
      auto const limit = static_cast<float>(detail::sqrt(6.0 / (1.0 * p.fan_in + p.fan_out)));
      detail::random_stream random(seed, detail::purpose::initial_weights, static_cast<std::uint64_t>(k));
      for (std::size_t i = 0; i < values.size(); ++i) values[i] = random.uniform(-limit, limit);
    }
    e.write_parameter(k, values.data());
    values.allocate(values.size());
    if (p.trainable())
      for (int s = 0; s < e.options().update.slots(); ++s) e.write_slot(s, k, values.data());
  }
}

}  // namespace dsl::TYPENET_MODE
